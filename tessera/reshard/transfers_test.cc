// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/transfers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/transfer_parts.h"
#include "tessera/testing/build.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/naive.h"
#include "tessera/testing/reshard/naive_reshard.h"

namespace tessera::reshard {
namespace {

using test::describe;
using test::Dice;
using test::fold;
using test::form;
using test::Home;
using test::home_of;
using test::layout;
using test::Limits;
using test::mem;
using test::on;
using test::random_layout;
using test::random_layout_of;
using test::x;

Placement placed(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << text << ": " << (tensor.ok() ? "" : tensor.error().message);
  return tensor->placement;
}

Reshard reshard_of(const Placement& a, const Placement& b) {
  const Result<PhysicalMesh> physical = PhysicalMesh::around(a, b);
  EXPECT_TRUE(physical.ok());
  Result<Reshard> made = Reshard::make(a, b, *physical);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *std::move(made);
}
Reshard reshard_of(const std::string& a, const std::string& b) {
  return reshard_of(placed(a), placed(b));
}
std::string grid(const std::string& shape, const std::string& layout) {
  return "tensor<" + shape + ", pyflame." + layout + ">";
}

/// A transfer as a line, for golden lists: "0>1 s4 d0 [2:8/1] =2".
std::string line(const Transfer& t) {
  std::string text =
      cat(t.source, ">", t.destination, " s", t.source_slot, " d", t.destination_slot);
  for (const BoxLoop& loop : t.loops) {
    text += cat(" [", loop.extent, ":", loop.source_stride, "/", loop.destination_stride, "]");
  }
  return cat(text, " =", t.elements, t.combines ? " +" : "", t.share > 0 ? cat(" #", t.share) : "");
}

std::vector<std::string> lines(const Reshard& reshard, const TransferChoice& choice = {}) {
  std::vector<std::string> all;
  const Status status = for_each_transfer(reshard, choice, [&](const Transfer& t) {
    all.push_back(line(t));
    return ok_status();
  });
  EXPECT_TRUE(status.ok());
  std::sort(all.begin(), all.end());
  return all;
}

/// The law of for_each_transfer on every element: where each value comes from, and nothing else.
void check_law(const Reshard& reshard, const std::string& what) {
  SCOPED_TRACE(what);
  const Shape& physical = reshard.physical().mesh;
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // place, slot, share of A
  using From =
      std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // physical, place's slot, combines
  std::map<Key, From> wanted;
  Index index(reshard.from().shape().rank(), 0);
  const auto part_of = [&](const Index& at) -> const ReshardPart& {
    for (const ReshardPart& part : reshard.parts()) {
      if (part.box.contains(at)) return part;
    }
    ADD_FAILURE() << "no part";
    return reshard.parts().front();
  };
  if (!reshard.from().shape().empty()) {
    do {
      const ReshardPart& part = part_of(index);
      const Home from = home_of(reshard.from(), index);
      const Home to = home_of(reshard.to(), index);
      for (std::size_t share = 0; share < from.shares.size(); ++share) {
        for (const std::int64_t q : to.shares[part.shares.alike ? share : 0]) {
          const std::int64_t at = part.map_b.physical(q);
          const Place at_place = physical.delinear(at);
          std::pair<std::int64_t, std::int64_t> best{-1, -1};
          for (const std::int64_t p : from.shares[share]) {
            const std::int64_t number = part.map_a.physical(p);
            const Place place = physical.delinear(number);
            std::int64_t distance = 0;
            for (std::size_t k = 0; k < place.size(); ++k)
              distance += std::abs(place[k] - at_place[k]);
            if (best.first < 0 || std::pair(distance, number) < best) best = {distance, number};
          }
          const bool fresh =
              wanted
                  .emplace(Key{q, to.slot, static_cast<std::int64_t>(share)},
                           From{best.second, from.slot, part.shares.reduces() ? 1 : 0})
                  .second;
          ASSERT_TRUE(fresh);
        }
      }
    } while (reshard.from().shape().next(index));
  }
  std::set<std::pair<std::int64_t, std::int64_t>> pairs;
  std::pair<std::int64_t, std::int64_t> current{-1, -1};
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> crossing;
  std::map<Key, From> found;
  const Status status = for_each_transfer(reshard, {}, [&](const Transfer& t) -> Status {
    const std::pair pair(t.source, t.destination);
    EXPECT_EQ(t.begins_pair, pair != current);
    if (pair != current) {
      EXPECT_TRUE(pairs.insert(pair).second) << "a pair in two places";
    }
    current = pair;
    if (!t.is_local()) crossing[pair] += t.elements;
    std::int64_t elements = 1;
    for (const BoxLoop& loop : t.loops) {
      EXPECT_GT(loop.extent, 1);
      elements *= loop.extent;
    }
    EXPECT_EQ(elements, t.elements);
    std::vector<std::int64_t> at(t.loops.size(), 0);
    for (std::int64_t i = 0; i < elements; ++i) {
      std::int64_t rest = i;
      std::int64_t from = t.source_slot;
      std::int64_t to = t.destination_slot;
      for (std::size_t k = t.loops.size(); k-- > 0;) {
        from += rest % t.loops[k].extent * t.loops[k].source_stride;
        to += rest % t.loops[k].extent * t.loops[k].destination_stride;
        rest /= t.loops[k].extent;
      }
      const bool fresh = found
                             .emplace(Key{t.destination_virtual, to, t.share},
                                      From{t.source, from, t.combines ? 1 : 0})
                             .second;
      EXPECT_TRUE(fresh) << "written twice";
    }
    return ok_status();
  });
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(found, wanted);
  const Result<std::vector<PairBytes>> listed = pairs_of(reshard, 1 << 20);
  ASSERT_TRUE(listed.ok());
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> by_list;
  for (const PairBytes& pair : *listed) {
    by_list[{pair.source, pair.destination}] = pair.elements;
    EXPECT_EQ(pair.bytes, reshard.bytes(pair.elements));
  }
  EXPECT_EQ(by_list.size(), listed->size());
  EXPECT_EQ(by_list, crossing);
  // The transfers of one place are the same as those selected from the full list.
  const auto all = lines(reshard);
  for (std::int64_t place = 0; place < std::min<std::int64_t>(physical.elements(), 6); ++place) {
    std::vector<std::string> sent, got;
    EXPECT_TRUE(for_each_transfer(reshard, {}, [&](const Transfer& t) {
                  if (t.source == place) sent.push_back(line(t));
                  if (t.destination == place) got.push_back(line(t));
                  return ok_status();
                }).ok());
    std::sort(sent.begin(), sent.end());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(lines(reshard, {.source = place}), sent);
    EXPECT_EQ(lines(reshard, {.destination = place}), got);
  }
}

TEST(Transfers, RowsToColumnsByHand) {
  // [4, 4]: place p has rows 2p and 2p+1, slots 4·(row mod 2) + column; then columns 2q and 2q+1,
  // slots 2·row + (column mod 2). Place 0 keeps rows 0, 1 of columns 0, 1 and sends the other two
  // columns: source slots 2, 3 and 6, 7; they arrive at rows 0, 1 of place 1: slots 0, 1 and 2, 3,
  // one run there but not at the source.
  // Places are (row p, column 0) and (row 0, column q) on a 2x2 physical mesh: 0, 2 and 0, 1.
  const Reshard r =
      reshard_of(grid("4x4xf32", "RowPartition(2)"), grid("4x4xf32", "ColPartition(2)"));
  EXPECT_EQ(lines(r), (std::vector<std::string>{
                          "0>0 s0 d0 [2:4/2] [2:1/1] =4", "0>1 s2 d0 [2:4/2] [2:1/1] =4",
                          "2>0 s0 d4 [2:4/2] [2:1/1] =4", "2>1 s2 d4 [2:4/2] [2:1/1] =4"}));
  EXPECT_EQ(lines(r, {.messages = false}),
            (std::vector<std::string>{"0>0 s0 d0 [2:4/2] [2:1/1] =4"}));
}

TEST(Transfers, UnevenTilesAreWhatTheyAre) {
  // 5 rows on 4 places: 2, 2, 1, 0. Gathered on place 0 they are rows 0 .. 4 there: the
  // tiles are not equal and each has its own offset. Whole rows are one run.
  const Reshard r = reshard_of(grid("5x3xf32", "RowPartition(4)"), grid("5x3xf32", "SinglePE()"));
  EXPECT_EQ(lines(r), (std::vector<std::string>{"0>0 s0 d0 [6:1/1] =6", "1>0 s0 d6 [6:1/1] =6",
                                                "2>0 s0 d12 [3:1/1] =3"}));
}

TEST(Transfers, AGridTileIsStridedInTheWhole) {
  // A 2x2 tile of a row-major 4x4 tensor is two runs of 2 at distance 4: tile (1, 1)
  // begins at 2·4 + 2 and is packed on its own place.
  const Reshard r = reshard_of(grid("4x4xf32", "SinglePE()"), grid("4x4xf32", "Grid(2, 2)"));
  EXPECT_EQ(lines(r, {.destination = 3}),
            (std::vector<std::string>{"0>3 s10 d0 [2:4/2] [2:1/1] =4"}));
}

TEST(Transfers, EachCopyComesFromTheNearest) {
  // The example of the essay, and back: every place has all four, so nothing crosses.
  const std::string rows = grid("4xf32", "RowPartition(2)");
  const std::string all = grid("4xf32", "Grid(2, 2, replicate=[0, 1])");
  const Reshard spread = reshard_of(rows, all);
  const Result<std::vector<PairBytes>> pairs = pairs_of(spread, 100);
  ASSERT_TRUE(pairs.ok());
  EXPECT_EQ(
      *pairs,
      (std::vector<PairBytes>{
          {0, 1, 2, 8}, {0, 2, 2, 8}, {0, 3, 2, 8}, {2, 0, 2, 8}, {2, 1, 2, 8}, {2, 3, 2, 8}}));
  EXPECT_EQ(lines(spread, {.messages = false}).size(), 2u);
  EXPECT_TRUE(pairs_of(reshard_of(all, rows), 0)->empty());
  const Result<std::vector<PairBytes>> few = pairs_of(spread, 5);
  ASSERT_FALSE(few.ok());
  EXPECT_EQ(few.error().code, ErrorCode::kTooLarge);
}

TEST(Transfers, SharesAreCombinedOrKept) {
  // Two shares on rows 0 and 1 (places 0 and 1 of a 2x1 mesh): reduced to place 0, both go there.
  const std::string shares = grid("2xf32", "Grid(2, 1, partial=[0:sum])");
  EXPECT_EQ(lines(reshard_of(shares, grid("2xf32", "SinglePE()"))),
            (std::vector<std::string>{"0>0 s0 d0 [2:1/1] =2 +", "1>0 s0 d0 [2:1/1] =2 + #1"}));
  EXPECT_EQ(lines(reshard_of(shares, shares)),
            (std::vector<std::string>{"0>0 s0 d0 [2:1/1] =2", "1>1 s0 d0 [2:1/1] =2 #1"}));
}

TEST(Transfers, ScalarsAndNothing) {
  EXPECT_EQ(lines(reshard_of("tensor<f32, strided<[]>>", "tensor<f32, strided<[], offset: 3>>")),
            (std::vector<std::string>{"0>0 s0 d3 =1"}));
  EXPECT_TRUE(
      lines(reshard_of(grid("0x4xf32", "Grid(2, 2)"), grid("0x4xf32", "SinglePE()"))).empty());
}

TEST(Transfers, AVisitorThatRefusesStopsThem) {
  const Reshard r = reshard_of(grid("4x4xf32", "Grid(2, 2)"), grid("4x4xf32", "SinglePE()"));
  int seen = 0;
  const Status status = for_each_transfer(r, {}, [&](const Transfer&) -> Status {
    if (++seen < 2) return ok_status();
    return Error{ErrorCode::kIo, "enough"};
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "enough");
  EXPECT_EQ(seen, 2);
}

TEST(Transfers, LawOnEveryNotationThatHasPlaces) {
  const std::vector<std::string> texts = {
      grid("9x10xf32", "SinglePE()"),
      grid("9x10xf32", "RowPartition(4)"),
      grid("9x10xf32", "ColPartition(3)"),
      grid("9x10xf32", "Grid(3, 4)"),
      grid("9x10xf32", "Grid(4, 2, dim_to_pe=[1, 0])"),
      grid("9x10xf32", "Grid(2, 3, origin=(1, 2))"),
      grid("9x10xf32", "BlockCyclic(2, 3, 2, 1)"),
      grid("9x10xf32", "BlockCyclic(3, 2, 1, 4, origin=(1, 0))"),
      grid("9x10xf32", "Grid(3, 2, replicate=[0], dim_to_pe=[-1, 1])"),
      grid("9x10xf32", "Grid(2, 3, replicate=[1], dim_to_pe=[0, -1])"),
      grid("9x10xf32", "Grid(3, 3, replicate=[0, 1], dim_to_pe=[-1, -1], origin=(1, 1))"),
      grid("9x10xf32", "Grid(3, 2, partial=[0:sum], dim_to_pe=[-1, 1])"),
      grid("9x10xf32", "Grid(3, 4, partial=[1:sum], dim_to_pe=[0, -1])"),
      grid("9x10xf32", "Custom(2, 2, [(3, 1), (0, 0), (1, 3), (2, 2)])"),
  };
  for (const std::string& a : texts) {
    for (const std::string& b : texts) check_law(reshard_of(a, b), cat(a, " -> ", b));
  }
}

TEST(Transfers, LawOfDeviceNumbersAndMeshesOfSeveralAxes) {
  const std::vector<std::string> texts = {
      "tensor<6x8xf32, gspmd{devices=[4,2]<=[8]}>",
      "tensor<6x8xf32, gspmd{devices=[2,4]<=[4,2]T(1,0)}>",
      "tensor<6x8xf32, gspmd{devices=[1,1,8]<=[8] last_tile_dim_replicate}>",
      "tensor<6x8xf32, gspmd{devices=[2,1,4]<=[8] last_tile_dim_replicate}>",
      "tensor<6x8xf32, gspmd{devices=[2,2]3,1,0,2}>",
  };
  for (const std::string& a : texts) {
    for (const std::string& b : texts) {
      check_law(reshard_of(a, b), cat(a, " -> ", b));
    }
  }
  const std::vector<std::string> meshes = {
      "tensor<7x5xf32, dtensor<mesh=[2,3], [Shard(0), Shard(1)]>>",
      "tensor<7x5xf32, dtensor<mesh=[2,3], [Shard(0), Shard(0)]>>",
      "tensor<7x5xf32, dtensor<mesh=[2,3], [Replicate(), Shard(1)]>>",
      "tensor<7x5xf32, dtensor<mesh=[2,3], [Partial(), Shard(0)]>>",
      "tensor<7x5xf32, dtensor<mesh=[2,3], [Shard(1), Replicate()]>>",
  };
  for (const std::string& a : meshes) {
    for (const std::string& b : meshes) check_law(reshard_of(a, b), cat(a, " -> ", b));
  }
}

TEST(Transfers, LawOfViewsAndFlattenedLines) {
  // Broadcast rows as a source: eight rows of the view are one in memory.
  const Placement grid_rows = placed(grid("8x6xf32", "Grid(2, 3)"));
  const Placement one = placed("tensor<6xf32, pyflame.Grid(1, 3, dim_to_pe=[1])>");
  const Result<View> repeated = View::of(*one.layout()).broadcast(0, 8);
  ASSERT_TRUE(repeated.ok());
  check_law(reshard_of(Placement(*repeated), grid_rows), "broadcast");
  const Result<View> turned = View::of(*grid_rows.layout()).transpose({1, 0});
  ASSERT_TRUE(turned.ok());
  check_law(reshard_of(Placement(*turned), placed(grid("6x8xf32", "RowPartition(5)"))), "turned");
  // One line over both dims, cut where rows are not: the dims depend on each other.
  const Layout flat = layout(form(
      {6, 10}, {7, 1}, {fold({x(0, 10), x(1)}, {on(0, 9, 7), mem(1, 9, 1)})}, {Fill::fixed(1, 0)}));
  const Placement blocks = placed(grid("6x10xf32", "Grid(2, 2)"));
  check_law(reshard_of(Placement(flat), blocks), "flat to grid");
  check_law(reshard_of(blocks, Placement(flat)), "grid to flat");
  // A line that is dealt out over both axes as one number, on places whose axes are exchanged: 3·x0
  // + x1 is place (p div 2, p mod 2) of 3x2, and coordinates carry.
  const std::string flat_deal =
      "tensor<2x3xf32, native<mesh=[3, 2], {3*d0 + d1} / (2 -> m0, 1 -> m1)";
  const std::string exchanged = ", device=folded([2, 3], {d0} / (1 -> m1), {d1} / (1 -> m0))";
  for (const std::string& device : {std::string(), exchanged}) {
    const Placement dealt = placed(flat_deal + device + ">>");
    const Placement whole = placed("tensor<2x3xf32, strided<[3, 1]>>");
    check_law(reshard_of(whole, dealt), "whole to dealt");
    check_law(reshard_of(dealt, whole), "dealt to whole");
  }
  // One dim over both axes of the mesh.
  const Layout both =
      layout(form({60}, {3, 4}, {fold(x(0), {on(0, 20, 3), on(1, 5, 4), mem(1, 5, 1)})}));
  const Layout other =
      layout(form({60}, {4, 3}, {fold(x(0), {on(1, 24, 3), on(0, 6, 4), mem(1, 6, 1)})}));
  check_law(reshard_of(Placement(both), Placement(other)), "both axes");
}

/// Transfers in the order in which they are listed.
using Listed = std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                      std::int64_t, std::int64_t, bool>>;

/// What the parts of a list have together, in their order.
Listed in_parts(const Reshard& reshard, std::int64_t parts) {
  Listed listed;
  for (std::int64_t number = 0; number < parts; ++number) {
    const Status status =
        for_each_transfer_of(reshard, {number, parts}, [&](const Transfer& t) -> Status {
          listed.emplace_back(t.source_virtual, t.destination_virtual, t.source_slot,
                              t.destination_slot, t.elements, t.share, t.begins_pair);
          return ok_status();
        });
    EXPECT_TRUE(status.ok());
  }
  return listed;
}

TEST(Transfers, LawOfRandomPairs) {
  const Limits limits{3, 8, 60, 2, 12, 600};
  int tried = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    Dice dice(seed);
    const std::optional<Layout> a = random_layout(dice, limits);
    if (!a) continue;
    const std::optional<Layout> b = random_layout_of(dice, a->shape(), a->dtype(), limits);
    if (!b) continue;
    const Result<PhysicalMesh> physical = PhysicalMesh::around(Placement(*a), Placement(*b));
    if (!physical.ok()) continue;
    const Result<Reshard> made = Reshard::make(Placement(*a), Placement(*b), *physical);
    if (!made.ok()) continue;
    ++tried;
    check_law(*made, cat("seed ", seed, ": ", describe(a->form()), " -> ", describe(b->form())));
    const Listed whole = in_parts(*made, 1);
    EXPECT_EQ(in_parts(*made, 2), whole) << "seed " << seed;
    EXPECT_EQ(in_parts(*made, 2 + dice.below(6)), whole) << "seed " << seed;
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(tried, 600);
}

}  // namespace
}  // namespace tessera::reshard
