// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/chunks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tessera/base/checked.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/feasible.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/reshard.h"
#include "tessera/target/machine.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/relayout/held.h"

namespace tessera::reshard {
namespace {

using test::Dice;

Placement tensor(const std::string& text) {
  const Result<Tensor> read = parse_tensor(text);
  EXPECT_TRUE(read.ok()) << text << ": " << read.error().message;
  return read->placement;
}

Reshard reshard_of(const Placement& from, const Placement& to) {
  Result<Reshard> reshard = Reshard::make(from, to, *PhysicalMesh::around(from, to));
  EXPECT_TRUE(reshard.ok()) << reshard.error().message;
  return *std::move(reshard);
}

/// The wants of the elements in a slice.
std::vector<test::Want> wants_in(const std::vector<test::Want>& wants, const ChunkSlice& slice) {
  std::vector<test::Want> in;
  for (const test::Want& want : wants) {
    bool inside = true;
    for (std::size_t dim = 0; dim < want.index.size(); ++dim) {
      const std::int64_t ahead = want.index[dim] - slice.start[dim];
      inside = inside && ahead >= 0 && ahead % slice.step[dim] == 0 &&
               ahead / slice.step[dim] < slice.count[dim];
    }
    if (inside) in.push_back(want);
  }
  return in;
}

/// The fewest parts of any one dim with which no place receives more than `budget` elements; 0 if
/// none.
std::int64_t fewest_rounds(const std::vector<test::Want>& wants, const Shape& shape,
                           std::int64_t budget) {
  for (std::int64_t parts = 1; parts <= 64; ++parts) {
    for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
      if (parts > shape[dim]) continue;
      for (const bool dealt : {false, true}) {
        Chunks chunks;
        chunks.cuts = {{static_cast<int>(dim), parts, dealt}};
        chunks.rounds = parts;
        if (!dealt && ceil_div(shape[dim], ceil_div(shape[dim], parts)) != parts) continue;
        bool fits = true;
        for (std::int64_t round = 0; round < parts && fits; ++round) {
          const ChunkSlice slice = slice_of(chunks, shape, round);
          fits = test::most_crossing(wants_in(wants, slice)) <= budget;
        }
        if (fits) return parts;
      }
    }
  }
  return 0;
}

TEST(Chunks, RoundsFitCoverAndAreFew) {
  std::int64_t tried = 0;
  std::int64_t cut_twice = 0;
  for (std::uint64_t seed = 0; seed < 260; ++seed) {
    Dice dice(seed);
    const Shape shape = *Shape::make({dice.between(1, 9), dice.between(1, 9)});
    const notation::PyflameLayout words[2] = {test::random_pyflame(dice, 9),
                                              test::random_pyflame(dice, 9)};
    const Result<Layout> a = notation::lower(words[0], shape, DType::kF16);
    const Result<Layout> b = notation::lower(words[1], shape, DType::kF16);
    if (!a || !b) continue;
    SCOPED_TRACE(notation::write(words[0]) + " to " + notation::write(words[1]) + " of " +
                 shape.to_string());
    const Reshard reshard = reshard_of(*a, *b);
    const std::vector<test::Want> wants = test::wants_of(*a, *b, reshard.physical());
    const std::int64_t whole = test::most_crossing(wants);
    const MostReceived most = *most_received(reshard);
    EXPECT_EQ(most.bytes, 2 * whole);
    EXPECT_EQ(most.place < 0, whole == 0);
    // Shares that are combined arrive together.
    const std::int64_t shares =
        reshard.parts().front().shares.reduces() ? reshard.parts().front().shares.from : 1;
    const std::int64_t budget = dice.between(shares, std::max(shares, whole));
    const Result<Chunks> chunks = chunk(reshard, 2 * budget);
    ASSERT_TRUE(chunks.ok()) << chunks.error().message;
    ++tried;
    EXPECT_EQ(chunks->whole_bytes, 2 * whole);
    EXPECT_EQ(chunks->rounds == 1, whole <= budget);
    std::int64_t elements = 0;
    std::int64_t crossing = 0;
    std::int64_t staging = 0;
    std::int64_t bytes = 0;
    std::set<Index> seen;
    for (std::int64_t round = 0; round < chunks->rounds; ++round) {
      const ChunkSlice slice = slice_of(*chunks, shape, round);
      elements += slice.elements();
      const std::vector<test::Want> in = wants_in(wants, slice);
      for (const test::Want& want : in) seen.insert(want.index);
      staging = std::max(staging, test::most_crossing(in));
      // The round is a separate reshard, which must agree.
      const Result<Reshard> part = restricted(reshard, slice);
      ASSERT_TRUE(part.ok()) << part.error().message;
      const auto part_wants = test::wants_of(part->from(), part->to(), part->physical());
      EXPECT_EQ(test::crossing(part_wants), test::crossing(in));
      EXPECT_EQ(test::most_crossing(part_wants), test::most_crossing(in));
      crossing += test::crossing(part_wants);
      bytes += cost_of(*part)->bytes;
    }
    EXPECT_EQ(bytes, cost_of(reshard)->bytes);
    EXPECT_EQ(elements, shape.elements());
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), shape.elements());
    EXPECT_EQ(crossing, test::crossing(wants));
    EXPECT_LE(staging, budget);
    EXPECT_EQ(chunks->staging_bytes, 2 * staging);
    if (chunks->cuts.size() <= 1) {
      EXPECT_EQ(chunks->rounds, fewest_rounds(wants, shape, budget));
    } else {
      EXPECT_EQ(fewest_rounds(wants, shape, budget), 0);
      ++cut_twice;
    }
  }
  EXPECT_GT(tried, 150);
  EXPECT_GT(cut_twice, 3);
}

TEST(Chunks, MostReceivedOfAnyLayout) {
  std::int64_t tried = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Dice dice(seed);
    const test::Limits limits{
        .max_extent = 8, .max_elements = 100, .max_mesh_rank = 3, .max_places = 12};
    const std::optional<Reshard> reshard = test::random_core_reshard(dice, limits);
    if (!reshard) continue;
    const Layout& a = *reshard->from().layout();
    const Layout& b = *reshard->to().layout();
    SCOPED_TRACE(print_native(a) + " to " + print_native(b));
    const Result<MostReceived> most = most_received(*reshard);
    ASSERT_TRUE(most.ok());
    EXPECT_EQ(most->bytes,
              reshard->bytes(test::most_crossing(test::wants_of(a, b, reshard->physical()))));
    ++tried;
  }
  EXPECT_GT(tried, 200);
}

TEST(Chunks, ByHand) {
  // 64x64 f32 over 8x8 tiles of 8x8 to place (0, 0), which has one of them: 63/64 arrive.
  const Reshard gather = reshard_of(tensor("tensor<64x64xf32, pyflame.Grid(8, 8)>"),
                                    tensor("tensor<64x64xf32, pyflame.SinglePE()>"));
  EXPECT_EQ(most_received(gather)->bytes, 16384 - 256);
  EXPECT_EQ(most_received(gather)->place, 0);
  const Chunks chunks = *chunk(gather, 4096);
  EXPECT_EQ(chunks.rounds, 4);
  EXPECT_EQ(chunks.cuts, (std::vector<ChunkCut>{{0, 4, false}}));
  EXPECT_EQ(chunks.staging_bytes, 4096);
  EXPECT_EQ(slice_of(chunks, *Shape::make({64, 64}), 3), (ChunkSlice{{48, 0}, {1, 1}, {16, 64}}));
  // 8 neighbouring rows on each of 8 places: dealt, every place takes 2 of them, 512 bytes, in each
  // round; blocks would take all rows of a place at once.
  const Reshard turn = reshard_of(tensor("tensor<64x64xf32, pyflame.ColPartition(8)>"),
                                  tensor("tensor<64x64xf32, pyflame.RowPartition(8)>"));
  EXPECT_EQ(chunk(turn, 512)->rounds, 4);
  EXPECT_EQ(chunk(turn, 512)->cuts, (std::vector<ChunkCut>{{0, 4, true}}));
  // A row of 64 does not fit: single rows, each cut in two.
  EXPECT_EQ(chunk(gather, 128)->rounds, 64 * 2);
  EXPECT_EQ(chunk(gather, 3).error().code, ErrorCode::kDoesNotFit);
  EXPECT_EQ(chunk(gather, 0).error().code, ErrorCode::kDoesNotFit);
  EXPECT_EQ(chunk(gather, -5).error().code, ErrorCode::kDoesNotFit);
  EXPECT_EQ(chunk(reshard_of(tensor("tensor<1000x1000xf32, pyflame.Grid(8, 8)>"),
                             tensor("tensor<1000x1000xf32, pyflame.SinglePE()>")),
                  8)
                .error()
                .code,
            ErrorCode::kTooLarge);
}

TEST(Chunks, AWafer) {
  // 9x11 elements per PE; columns and rows exchanged, so hardly anything is local.
  const Reshard turn =
      reshard_of(tensor("tensor<8192x8192xf32, pyflame.Grid(994, 750)>"),
                 tensor("tensor<8192x8192xf32, pyflame.Grid(994, 750, dim_to_pe=[1, 0])>"));
  EXPECT_EQ(most_received(turn)->bytes, 9 * 11 * 4);
  // 25 elements fit: 4 parts of either dim have 3 x 9 or 3 x 11, 5 parts of dim 1 have 2 x 11.
  const Chunks chunks = *chunk(turn, 100);
  EXPECT_EQ(chunks.cuts, (std::vector<ChunkCut>{{1, 5, true}}));
  EXPECT_EQ(chunks.rounds, 5);
  EXPECT_EQ(chunks.staging_bytes, 88);
}

TEST(Chunks, Piecewise) {
  const Placement a = tensor("tensor<5x6xf32, dtensor<mesh=[2, 2], [Shard(0), Shard(0)]>>");
  ASSERT_NE(a.pieces(), nullptr);
  const Placement b = tensor("tensor<5x6xf32, dtensor<mesh=[2, 2], [Replicate(), Shard(1)]>>");
  const Reshard reshard = reshard_of(a, b);
  const std::vector<test::Want> wants = test::wants_of(a, b, reshard.physical());
  EXPECT_EQ(most_received(reshard)->bytes, 4 * test::most_crossing(wants));
  const Chunks chunks = *chunk(reshard, 24);
  EXPECT_GT(chunks.rounds, 1);
  std::int64_t crossing = 0;
  for (std::int64_t round = 0; round < chunks.rounds; ++round) {
    const ChunkSlice slice = slice_of(chunks, reshard.to().shape(), round);
    const Reshard part = *restricted(reshard, slice);
    const auto part_wants = test::wants_of(part.from(), part.to(), part.physical());
    EXPECT_LE(4 * test::most_crossing(part_wants), 24);
    crossing += test::crossing(part_wants);
  }
  EXPECT_EQ(crossing, test::crossing(wants));
}

Machine machine(const std::string& text) {
  const Result<Machine> read = parse_machine(text);
  EXPECT_TRUE(read.ok()) << read.error().message;
  return *read;
}

/// 40 x 40 places of 48 KB, of which 12 KB are not for data: like wse2, with fewer places.
Machine small_wafer() {
  return machine(R"({"name": "mine", "mesh": [40, 40], "memory": [{"name": "sram", "per": "place",)"
                 R"( "bytes": 49152, "reserved": [{"name": "code", "bytes": 12288}]}]})");
}

Result<Feasibility> fit_of(const std::string& a, const std::string& b, const Machine& on) {
  const Result<Reshard> reshard = Reshard::make(tensor(a), tensor(b), *PhysicalMesh::of(on));
  EXPECT_TRUE(reshard.ok()) << reshard.error().message;
  return feasible(*reshard, on);
}

TEST(Feasible, AGatherThatDoesNotFit) {
  const Result<Feasibility> gather =
      fit_of("tensor<1024x1024xf32, pyflame.Grid(32, 32)>",
             "tensor<1024x1024xf32, pyflame.SinglePE()>", small_wafer());
  ASSERT_FALSE(gather.ok());
  EXPECT_EQ(gather.error().code, ErrorCode::kDoesNotFit);
  EXPECT_EQ(test::figures(gather.error().message), "[0 0] 4100 KB 4 KB 4 MB 36 KB");
  // 32 KB are left beside A: 4 MB / 32 KB = 128.
  EXPECT_EQ(test::figures(gather.error().help), "4 MB 128 32 KB 128");
}

TEST(Feasible, RoundsForWhatIsLeft) {
  // 96x96 f32 is 36,864 bytes: B alone fits to the byte, on a place that A does not use; A's 4x4
  // grid has 24x24 tiles. Nothing is left to stage in.
  const std::string a = "tensor<96x96xf32, pyflame.Grid(4, 4)>";
  const Result<Feasibility> full =
      fit_of(a, "tensor<96x96xf32, pyflame.Grid(1, 1, origin=(9, 9))>", small_wafer());
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kDoesNotFit);
  // 90x90 is 32,400 bytes, of which all arrive, and 4464 are left: 8 rounds of at most 12 rows.
  const Feasibility tight =
      *fit_of("tensor<90x90xf32, pyflame.Grid(4, 4)>",
              "tensor<90x90xf32, pyflame.Grid(1, 1, origin=(9, 9))>", small_wafer());
  EXPECT_EQ(tight.place, (Place{9, 9}));
  EXPECT_EQ(tight.from_bytes, 0);
  EXPECT_EQ(tight.to_bytes, 32400);
  EXPECT_EQ(tight.received_bytes, 32400);
  EXPECT_EQ(tight.available_bytes, 36864);
  EXPECT_EQ(tight.rounds, 8);
  const Feasibility roomy = *fit_of("tensor<64x64xf32, pyflame.Grid(4, 4)>",
                                    "tensor<64x64xf32, pyflame.RowPartition(8)>", small_wafer());
  EXPECT_EQ(roomy.place, (Place{0, 0}));
  EXPECT_EQ(roomy.from_bytes, 16 * 16 * 4);
  EXPECT_EQ(roomy.to_bytes, 8 * 64 * 4);
  EXPECT_EQ(roomy.rounds, 1);
}

TEST(Feasible, WhoHoldsWhat) {
  // On separate places the larger of the two counts.
  const Feasibility apart =
      *fit_of("tensor<64x64xf32, pyflame.Grid(2, 1)>",
              "tensor<64x64xf32, pyflame.Grid(4, 4, origin=(9, 9))>", small_wafer());
  EXPECT_EQ(apart.place, (Place{0, 0}));
  EXPECT_EQ(apart.resident_bytes(), 32 * 64 * 4);
  // The same description is the same memory.
  const std::string same = "tensor<90x90xf32, pyflame.SinglePE()>";
  EXPECT_EQ(fit_of(same, same, small_wafer())->resident_bytes(), 32400);
  // A different one on the same place is not.
  EXPECT_FALSE(
      fit_of(same,
             "tensor<90x90xf32, native<mesh=[1, 1], {d0} / (1 -> mem), {d1} / (1 -> mem*90)>>",
             small_wafer())
          .ok());
  // A table of devices.
  const Feasibility listed =
      *fit_of("tensor<64xf32, pyflame.Custom(2, 1, [(5, 5), (7, 7)])>",
              "tensor<64xf32, pyflame.Custom(2, 1, [(7, 7), (6, 6)])>", small_wafer());
  EXPECT_EQ(listed.place, (Place{7, 7}));
  EXPECT_EQ(listed.resident_bytes(), 2 * 128);
  // A memory of unknown size takes anything.
  const Machine open =
      machine(R"({"name": "open", "mesh": [4, 4], "memory": [{"name": "m", "per": "place"}]})");
  const Feasibility any = *fit_of("tensor<9000x9000xf32, pyflame.Grid(2, 2)>",
                                  "tensor<9000x9000xf32, pyflame.SinglePE()>", open);
  EXPECT_FALSE(any.available_bytes.has_value());
  EXPECT_EQ(any.rounds, 1);
  // One memory for all places holds every shard of both.
  const Machine shared = machine(
      R"({"name": "all", "mesh": [4, 4], "memory": [{"name": "m", "per": "shared", "bytes": 40000}]})");
  const std::string grid = "tensor<64x64xf32, pyflame.Grid(2, 2)>";
  EXPECT_EQ(fit_of(grid, "tensor<64x64xf32, pyflame.RowPartition(4)>", shared)->resident_bytes(),
            2 * 16384);
  EXPECT_EQ(
      test::figures(fit_of(grid, "tensor<64x64xf32, pyflame.Grid(4, 2, replicate=[0])>", shared)
                        .error()
                        .message),
      "80 KB 16 KB 64 KB 40000");
}

}  // namespace
}  // namespace tessera::reshard
