// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/stored.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/moves/counted_move.h"
#include "tessera/moves/dealt_side.h"
#include "tessera/moves/traffic.h"
#include "tessera/notation/tensor.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"
#include "tessera/testing/generate.h"

namespace tessera::moves {
namespace {

using target::Spread;

/// Four places, a memory per place, three banks, a shared memory.
Machine small_machine() {
  const Result<Machine> machine = parse_machine(R"({
    "name": "small", "mesh": [2, 2],
    "memory": [{"name": "l1", "bytes": 65536}, {"name": "dram", "per": "bank", "banks": 3},
               {"name": "host", "per": "shared"}]})");
  EXPECT_TRUE(machine.ok()) << machine.error().message;
  return *machine;
}

/// Two devices of three places each, with two banks per device.
Machine two_devices() {
  const Result<Machine> machine = parse_machine(R"({
    "name": "pair", "mesh": [{"name": "chips", "extents": [2]}, {"name": "cores", "extents": [3]}],
    "memory": [{"name": "l1", "bytes": 65536}, {"name": "dram", "per": "bank", "banks": 2}]})");
  EXPECT_TRUE(machine.ok()) << machine.error().message;
  return *machine;
}

Placement placement(std::string_view text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << text << ": " << tensor.error().message;
  return tensor->placement;
}

/// The endpoints of one element, through the device map.
std::vector<std::int64_t> endpoints_of(const Placement& placed, const Index& index) {
  const Result<Location> location = placed.locate(index);
  EXPECT_TRUE(location.ok());
  std::vector<std::int64_t> ends;
  const Layout& layout = *placed.layout();
  for (const Place& place : location->places) {
    ends.push_back(layout.spec().device_map.map(layout.mesh(), place).place[0]);
  }
  return ends;
}

TEST(InPages, SlotBecomesPageAndSlot) {
  int pages_of_several = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    test::Dice dice(seed);
    const std::optional<Layout> layout = test::random_layout(dice, {});
    if (!layout || layout->shape().empty()) continue;
    const std::int64_t page = dice.between(1, 12);
    const Result<Layout> paged = in_pages(*layout, page);
    if (!paged) {
      if (page % layout->atom().elements() == 0) {
        EXPECT_EQ(paged.error().code, ErrorCode::kNotSupported) << paged.error().message;
      }
      continue;
    }
    if (layout->slots() > page) ++pages_of_several;
    Index index(layout->shape().rank(), 0);
    do {
      const Result<Location> before = layout->locate(index);
      const Result<Location> after = paged->locate(index);
      ASSERT_TRUE(before.ok() && after.ok());
      EXPECT_EQ(after->slot, before->slot % page);
      ASSERT_EQ(after->places.size(), before->places.size());
      for (std::size_t i = 0; i < before->places.size(); ++i) {
        Place expected = before->places[i];
        expected.push_back(before->slot / page);
        EXPECT_EQ(after->places[i], expected);
      }
    } while (layout->shape().next(index));
  }
  EXPECT_GT(pages_of_several, 10);
}

TEST(OnEndpoints, PlacesAreTheirNumbers) {
  const Machine machine = small_machine();
  const Result<Placement> placed =
      on_endpoints({placement("tensor<4x6xf32, pyflame.Grid(2, 2)>"), "", Spread::kWhole}, machine);
  ASSERT_TRUE(placed.ok()) << placed.error().message;
  EXPECT_EQ(endpoints_of(*placed, {0, 0}), std::vector<std::int64_t>{0});
  EXPECT_EQ(endpoints_of(*placed, {3, 2}), std::vector<std::int64_t>{2});
  EXPECT_EQ(endpoints_of(*placed, {3, 5}), std::vector<std::int64_t>{3});
}

TEST(OnEndpoints, APlainTensorInBanksIsInterleavedByRows) {
  const Machine machine = small_machine();
  const Result<Placement> placed = on_endpoints(
      {placement("tensor<8x6xf32, strided<[6, 1]>>"), "dram", Spread::kWhole}, machine);
  ASSERT_TRUE(placed.ok()) << placed.error().message;
  for (std::int64_t row = 0; row < 8; ++row) {
    for (std::int64_t col = 0; col < 6; ++col) {
      EXPECT_EQ(endpoints_of(*placed, {row, col}), std::vector<std::int64_t>{4 + row % 3});
    }
  }
}

TEST(OnEndpoints, TilesAreInterleavedOneByOne) {
  const Machine machine = small_machine();
  const std::string text =
      "tensor<64x96xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
      "memref<2x3x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>";
  const Result<Placement> placed =
      on_endpoints({placement(text), "", Spread::kInterleaved}, machine);
  ASSERT_TRUE(placed.ok()) << placed.error().message;
  for (std::int64_t row = 0; row < 64; ++row) {
    for (std::int64_t col = 0; col < 96; ++col) {
      const std::int64_t tile = row / 32 * 3 + col / 32;
      ASSERT_EQ(endpoints_of(*placed, {row, col}), std::vector<std::int64_t>{4 + tile % 3});
    }
  }
}

TEST(OnEndpoints, ShardsAreDealtToBanks) {
  const Machine machine = small_machine();
  const Result<Placement> placed = on_endpoints(
      {placement("tensor<5x4xf32, pyflame.RowPartition(5)>"), "dram", Spread::kWhole}, machine);
  ASSERT_TRUE(placed.ok()) << placed.error().message;
  for (std::int64_t row = 0; row < 5; ++row) {
    EXPECT_EQ(endpoints_of(*placed, {row, 1}), std::vector<std::int64_t>{4 + row % 3});
  }
}

TEST(OnEndpoints, ASharedMemoryIsOneEndpoint) {
  const Machine machine = small_machine();
  const Result<Placement> placed = on_endpoints(
      {placement("tensor<4x6xf32, pyflame.Grid(2, 2)>"), "host", Spread::kWhole}, machine);
  ASSERT_TRUE(placed.ok()) << placed.error().message;
  EXPECT_EQ(endpoints_of(*placed, {0, 0}), std::vector<std::int64_t>{7});
  EXPECT_EQ(endpoints_of(*placed, {3, 5}), std::vector<std::int64_t>{7});
}

TEST(OnEndpoints, InterleavedTensorsAreDealtToAllPlaces) {
  Machine machine = small_machine();
  const Stored stored{placement("tensor<5x4xf32, strided<[4, 1]>>"), "l1", Spread::kInterleaved};
  const Result<Placement> placed = on_endpoints(stored, machine);
  ASSERT_TRUE(placed.ok()) << placed.error().message;
  for (std::int64_t row = 0; row < 5; ++row) {
    EXPECT_EQ(endpoints_of(*placed, {row, 0}), std::vector<std::int64_t>{row % 4});
  }
  machine.dead.push_back({{0, 1}, {0, 1}});
  EXPECT_EQ(on_endpoints(stored, machine).error().code, ErrorCode::kNotSupported);
}

TEST(OnEndpoints, TensorsOnSeveralDevicesUseTheirBanks) {
  const Machine machine = two_devices();
  const Result<Placement> placed = on_endpoints(
      {placement("tensor<6x4xf32, dtensor<mesh=[2], [Shard(0)]>>"), "dram", Spread::kWhole},
      machine);
  ASSERT_TRUE(placed.ok()) << placed.error().message;
  // Endpoints 0 to 5 are cores; rows 0-2 are on device 0, a row is a page.
  for (std::int64_t row = 0; row < 6; ++row) {
    const std::int64_t expected = 6 + row / 3 * 2 + row % 3 % 2;
    EXPECT_EQ(endpoints_of(*placed, {row, 3}), std::vector<std::int64_t>{expected}) << row;
  }
}

TEST(OnEndpoints, UnknownMemoriesAreNamed) {
  const Machine machine = small_machine();
  const Result<Placement> placed =
      on_endpoints({placement("tensor<4xf32, strided<[1]>>"), "dran", Spread::kWhole}, machine);
  ASSERT_FALSE(placed.ok());
  EXPECT_EQ(placed.error().code, ErrorCode::kUnknownName);
  EXPECT_NE(placed.error().help.find("dram"), std::string::npos);
}

/// Counts elements by pair of endpoints, one by one.
std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counted(const Placement& a,
                                                                      const Placement& b) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> pairs;
  Index index(a.shape().rank(), 0);
  if (a.shape().empty()) return pairs;
  do {
    const std::vector<std::int64_t> from = endpoints_of(a, index);
    for (const std::int64_t to : endpoints_of(b, index)) {
      const bool stays = std::find(from.begin(), from.end(), to) != from.end();
      ++pairs[{stays ? to : from.front(), to}];
    }
  } while (a.shape().next(index));
  return pairs;
}

TEST(TrafficOf, CountsWhatCrosses) {
  const Machine machine = small_machine();
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"pyflame.Grid(2, 2)", "l1"},
      {"pyflame.RowPartition(2)", "l1"},
      {"strided<[9, 1]>", "dram"},
      {"strided<[9, 1]>", "host"},
      {"pyflame.RowPartition(7)", "dram"},
      {"pyflame.Grid(2, 2, replicate=[1], dim_to_pe=[0, -1])", "l1"},
      {"strided<[1, 7]>", "host"},
      {"pyflame.SinglePE()", "l1"}};
  for (const auto& [from, space_a] : texts) {
    for (const auto& [to, space_b] : texts) {
      if (space_a == "l1" && space_b == "l1") continue;  // reshard's own rule of copies
      const Stored a{placement(cat("tensor<7x9xf32, ", from, ">")), space_a, Spread::kWhole};
      const Stored b{placement(cat("tensor<7x9xf32, ", to, ">")), space_b, Spread::kWhole};
      const Result<Traffic> traffic = endpoint_traffic(machine, a, b, nullptr);
      ASSERT_TRUE(traffic.ok()) << from << " " << to << ": " << traffic.error().message;
      const Result<Placement> placed_a = on_endpoints(a, machine);
      const Result<Placement> placed_b = on_endpoints(b, machine);
      ASSERT_TRUE(placed_a.ok() && placed_b.ok());
      auto expected = counted(*placed_a, *placed_b);
      std::int64_t local = 0;
      std::erase_if(expected, [&](const auto& entry) {
        const bool stays = entry.first.first == entry.first.second;
        if (stays) local += entry.second;
        return stays;
      });
      ASSERT_EQ(traffic->messages.size(), expected.size()) << from << " to " << to;
      auto pair = expected.begin();
      for (const fabric::Message& message : traffic->messages) {
        EXPECT_EQ(message.source, pair->first.first);
        EXPECT_EQ(message.destination, pair->first.second);
        EXPECT_EQ(message.bytes, pair->second * 4);
        EXPECT_GE(message.transactions, 1);
        EXPECT_LE(message.transactions, pair->second);
        ++pair;
      }
      EXPECT_EQ(traffic->local_bytes, local * 4);
    }
  }
}

/// Random layouts in random memories: what is counted by residues is what is counted one by one.
TEST(TrafficOf, RandomMovesAreCountedExactly) {
  Machine machine = small_machine();
  test::Limits limits;
  limits.max_mesh_rank = 1;
  limits.max_places = 4;
  int moves = 0;
  int crossing = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    test::Dice dice(seed);
    const std::optional<Layout> first = test::random_layout(dice, limits);
    if (!first) continue;
    const std::optional<Layout> second =
        test::random_layout_of(dice, first->shape(), first->dtype(), limits);
    if (!second || first->atom().storage != second->atom().storage) continue;
    const std::vector<std::string> spaces = {"l1", "dram", "host"};
    const auto any_space = [&] { return spaces[static_cast<std::size_t>(dice.below(3))]; };
    const std::string space_a = any_space();
    const std::string space_b = any_space();
    const Stored a{Placement(*first), space_a, Spread::kWhole};
    const Stored b{Placement(*second), space_b, Spread::kWhole};
    const Result<Placement> placed_a = on_endpoints(a, machine);
    const Result<Placement> placed_b = on_endpoints(b, machine);
    if (!placed_a || !placed_b) continue;
    const bool partial = std::any_of(
        first->form().fills.begin(), first->form().fills.end(),
        [](const Fill& fill) { return fill.kind == Fill::Kind::kPartial && fill.count > 1; });
    if (partial) continue;  // shares are counted by reshard's own laws
    const bool shares = std::any_of(
        second->form().fills.begin(), second->form().fills.end(),
        [](const Fill& fill) { return fill.kind == Fill::Kind::kPartial && fill.count > 1; });
    if (shares) continue;
    const Result<DealtSide> side = dealt_side(a, machine);
    ASSERT_TRUE(side.ok()) << side.error().message;
    const Layout& on = *placed_a->layout();
    for (std::int64_t v = 0; v < on.places(); ++v) {
      ASSERT_EQ(side->endpoint(side->reduced(v)),
                on.spec().device_map.map(on.mesh(), on.mesh().delinear(v)).place[0]);
    }
    const Result<Traffic> traffic = endpoint_traffic(machine, a, b, nullptr);
    ASSERT_TRUE(traffic.ok()) << traffic.error().message;
    const auto expected = counted(*placed_a, *placed_b);
    std::int64_t elements = 0;
    std::int64_t local = 0;
    std::size_t pairs = 0;
    for (const auto& [pair, count] : expected) {
      (pair.first == pair.second ? local : elements) += count;
      if (pair.first != pair.second) ++pairs;
    }
    const auto rate = [&](std::int64_t n) { return *dtype_bytes(first->atom().storage, n); };
    ASSERT_EQ(traffic->messages.size(), pairs) << seed;
    for (const fabric::Message& message : traffic->messages) {
      const auto found = expected.find({message.source, message.destination});
      ASSERT_TRUE(found != expected.end())
          << message.source << " to " << message.destination << ": " << print_native(a.placement)
          << " in " << space_a << " to " << print_native(b.placement) << " in " << space_b;
      ASSERT_EQ(message.bytes, rate(found->second)) << seed;
    }
    ++moves;
    if (pairs > 1) ++crossing;
  }
  EXPECT_GT(moves, 300);
  EXPECT_GT(crossing, 100);
}

/// Law: what is counted is what reshard says of the tensors on their endpoints, where A keeps one
/// copy; only a TRANSPOSE is not told from a REDISTRIBUTE.
TEST(CountedMove, EqualsTheReshardOnEndpoints) {
  using reshard::ReshardKind;
  const Machine machine = small_machine();
  test::Limits limits;
  limits.max_mesh_rank = 2;
  limits.max_places = 4;
  std::map<ReshardKind, int> kinds;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    test::Dice dice(seed);
    const std::optional<Layout> first = test::random_layout(dice, limits);
    if (!first) continue;
    std::optional<Layout> second =
        test::random_layout_of(dice, first->shape(), first->dtype(), limits);
    if (dice.chance(10)) second = first;
    if (!second || first->atom().storage != second->atom().storage) continue;
    const std::vector<std::string> spaces = {"l1", "dram", "host"};
    const auto any_space = [&] { return spaces[static_cast<std::size_t>(dice.below(3))]; };
    const std::string space_a = any_space();
    const std::string space_b = any_space();
    if (space_a == "l1" && space_b == "l1") continue;
    const Stored a{Placement(*first), space_a, Spread::kWhole};
    const Stored b{Placement(*second), space_b, Spread::kWhole};
    const Result<MachineReshard> made = reshard_on(machine, a, b);
    if (!made) continue;
    const bool copies = std::any_of(
        first->form().fills.begin(), first->form().fills.end(),
        [](const Fill& fill) { return fill.kind == Fill::Kind::kReplicate && fill.count > 1; });
    if (copies) continue;
    const Result<CountedMove> counted = counted_move(machine, a, b);
    const bool keeps_shares = std::any_of(
        second->form().fills.begin(), second->form().fills.end(),
        [](const Fill& fill) { return fill.kind == Fill::Kind::kPartial && fill.count > 1; });
    if (keeps_shares && !counted) {
      EXPECT_EQ(counted.error().code, ErrorCode::kNotSupported);
      continue;
    }
    ASSERT_TRUE(counted.ok()) << counted.error().message;
    const Result<reshard::ReshardCost> cost = reshard::cost_of(made->reshard);
    const Result<ReshardKind> kind = reshard::kind_of(made->reshard);
    const auto pairs = reshard::pairs_of(made->reshard, 1 << 20);
    ASSERT_TRUE(cost.ok() && kind.ok() && pairs.ok());
    SCOPED_TRACE(cat("seed ", seed, ": ", print_native(a.placement), " in ", space_a, " to ",
                     print_native(b.placement), " in ", space_b));
    ASSERT_EQ(counted->cost, *cost);
    ASSERT_EQ(counted->pairs, *pairs);
    // Between memories nothing is identical, although slots of different ones have equal numbers.
    const bool between = space_a != space_b && *kind == ReshardKind::kIdentity;
    const ReshardKind expected = *kind == ReshardKind::kTranspose ? ReshardKind::kRedistribute
                                 : between                        ? counted->kind
                                                                  : *kind;
    ASSERT_EQ(reshard::kind_name(counted->kind), reshard::kind_name(expected));
    ++kinds[*kind];
  }
  for (const ReshardKind kind :
       {ReshardKind::kIdentity, ReshardKind::kReduce, ReshardKind::kScatter, ReshardKind::kGather,
        ReshardKind::kReshard}) {
    EXPECT_GT(kinds[kind], 10) << reshard::kind_name(kind);
  }
}

/// 5,120,000 tiles of 2 KB over 12 banks in turn: 8 have 426,667, the others one less.
TEST(CountedMove, PagesThatAreTooManyToBeListed) {
  const Result<const Machine*> wormhole = find_machine("wormhole");
  ASSERT_TRUE(wormhole.ok());
  const Stored a{placement("tensor<80000x65536xbf16, native<mesh=[], {d0} / (32 -> "
                           "mem*2097152!tile, 1 -> mem*32!tile), {d1} / (32 -> mem*1024!tile, 1 -> "
                           "mem!tile), atom=tile(32x32, bf16)>>"),
                 "system", Spread::kWhole};
  Stored b = a;
  b.space = "dram";
  const Result<MachineReshard> listed = reshard_on(**wormhole, a, b);
  ASSERT_FALSE(listed.ok());
  EXPECT_EQ(listed.error().code, ErrorCode::kTooLarge);
  const Result<CountedMove> counted = counted_move(**wormhole, a, b);
  ASSERT_TRUE(counted.ok()) << counted.error().message;
  EXPECT_EQ(counted->kind, reshard::ReshardKind::kScatter);
  EXPECT_EQ(counted->cost.bytes, std::int64_t{80000} * 65536 * 2);
  ASSERT_EQ(counted->pairs.size(), 12U);
  for (std::size_t bank = 0; bank < 12; ++bank) {
    EXPECT_EQ(counted->pairs[bank].bytes, (bank < 8 ? 426667 : 426666) * 2048);
  }
}

TEST(TrafficOf, ATransactionIsARunThatIsContiguousOnBothSides) {
  const Machine machine = small_machine();
  const auto transactions = [&](std::string_view from, std::string_view to) {
    const Stored a{placement(cat("tensor<8x8xf32, ", from, ">")), "host", Spread::kWhole};
    const Stored b{placement(cat("tensor<8x8xf32, ", to, ">")), "l1", Spread::kWhole};
    const Result<Traffic> traffic = endpoint_traffic(machine, a, b, nullptr);
    EXPECT_TRUE(traffic.ok());
    return traffic->messages.front().transactions;
  };
  EXPECT_EQ(transactions("strided<[8, 1]>", "pyflame.RowPartition(2)"), 1);
  EXPECT_EQ(transactions("strided<[8, 1]>", "pyflame.Grid(2, 2)"), 4);
  EXPECT_EQ(transactions("strided<[1, 8]>", "pyflame.Grid(2, 2)"), 16);
}

}  // namespace
}  // namespace tessera::moves
