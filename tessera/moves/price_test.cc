// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/price.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/moves/collective_ways.h"
#include "tessera/notation/tensor.h"

namespace tessera::moves {
namespace {

using target::Spread;

/// Four cores on a one-way ring of 8 routers, two banks, a host.
constexpr std::string_view kSmall = R"({
  "name": "small",
  "mesh": [{"name": "cores", "extents": [4],
            "routers": {"extents": [8], "places": [[0, 2, 4, 6]]},
            "networks": [{"name": "noc", "network": "torus", "ways": ["up"], "hop_cycles": 9,
                          "bits_per_cycle": 256, "ramp_cycles": 5, "packet_bytes": 8192}],
            "mechanisms": [{"name": "read", "network": "noc", "overhead_cycles": 95,
                            "issue_cycles": 25, "bytes_per_cycle": 28.5}]}],
  "clock_hz": 1000000000,
  "memory": [{"name": "l1", "bytes": 1048576, "read": {"bytes_per_cycle": 64},
              "write": {"bytes_per_cycle": 64}},
             {"name": "dram", "per": "bank", "banks": 2, "read": {"bytes_per_second": 24e9},
              "write": {"bytes_per_second": 24e9}, "at": [[[1]], [[5]]]},
             {"name": "host", "per": "shared", "read": {"bytes_per_second": 10e9},
              "write": {"bytes_per_second": 5e9}, "at": [[[3]]]},
             {"name": "disk", "per": "shared"}],
  "compute": [{"unit": "elementwise", "per_cycle": 128}],
  "notes": [{"about": "/memory/2", "is": "assumed"}, {"about": "/memory/0", "is": "published"}]})";

MoveModel model_of(std::string_view json) {
  Result<Machine> machine = parse_machine(json);
  EXPECT_TRUE(machine.ok()) << machine.error().message;
  Result<MoveModel> model = MoveModel::make(*std::move(machine));
  EXPECT_TRUE(model.ok()) << model.error().message;
  return *std::move(model);
}

Stored stored(std::string_view text, std::string_view space) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << text << ": " << tensor.error().message;
  return {tensor->placement, std::string(space), Spread::kWhole};
}

constexpr std::string_view kRows = "tensor<64x1024xf32, dtensor<mesh=[4], [Shard(0)]>>";
constexpr std::string_view kColumns = "tensor<64x1024xf32, dtensor<mesh=[4], [Shard(1)]>>";
constexpr std::string_view kWhole = "tensor<64x1024xf32, strided<[1024, 1]>>";

TEST(Price, HostToBanksTakesTheTimeOfTheHost) {
  const MoveModel model = model_of(kSmall);
  const Result<Move> move = model.price(stored(kWhole, "host"), stored(kWhole, "dram"));
  ASSERT_TRUE(move.ok()) << move.error().message;
  EXPECT_EQ(move->space_a, "host");
  EXPECT_EQ(move->space_b, "dram");
  ASSERT_EQ(move->steps.size(), 1U);
  const Step& step = move->steps.front();
  EXPECT_EQ(step.kind, Step::Kind::kExchange);
  EXPECT_EQ(step.bytes, 64 * 1024 * 4);
  EXPECT_EQ(step.dominated_by, "memory");
  EXPECT_EQ(step.busiest, "host");
  const double least = 64 * 1024 * 4 / 10e9;
  EXPECT_GE(*step.seconds, least);
  EXPECT_LE(*step.seconds, least + 1e-6);
  EXPECT_EQ(assumed_figures(*move, model.machine()),
            (std::vector<std::string>{"/memory/2/read", "/memory/2/at"}));
}

TEST(Price, WhatStaysCostsNothing) {
  const MoveModel model = model_of(kSmall);
  for (const char* space : {"l1", "dram", "host"}) {
    const std::string_view text = std::string_view(space) == "l1" ? kRows : kWhole;
    const Result<Move> move = model.price(stored(text, space), stored(text, space));
    ASSERT_TRUE(move.ok()) << move.error().message;
    EXPECT_TRUE(move->steps.empty()) << space;
    EXPECT_EQ(move->seconds, 0.0) << space;
  }
}

TEST(Price, IdentityAlsoMeansTheSameMemory) {
  const MoveModel model = model_of(kSmall);
  const Stored host = stored(kWhole, "host");
  const Stored disk = stored(kWhole, "disk");
  const Result<Move> move = model.price(host, disk);
  ASSERT_TRUE(move.ok()) << move.error().message;
  const Result<MachineReshard> reshard = reshard_on(model.machine(), host, disk);
  ASSERT_TRUE(reshard.ok());
  const Result<reshard::ReshardKind> kind = kind_of(*move, reshard->reshard);
  ASSERT_TRUE(kind.ok());
  EXPECT_NE(*kind, reshard::ReshardKind::kIdentity);
}

TEST(Price, AMissingFigureIsNamedAndTheRestIsPriced) {
  const MoveModel model = model_of(kSmall);
  const Result<Move> move = model.price(stored(kWhole, "host"), stored(kWhole, "disk"));
  ASSERT_TRUE(move.ok()) << move.error().message;
  ASSERT_EQ(move->steps.size(), 1U);
  EXPECT_EQ(move->steps.front().bytes, 64 * 1024 * 4);
  EXPECT_EQ(move->steps.front().seconds, std::nullopt);
  EXPECT_EQ(move->seconds, std::nullopt);
  ASSERT_EQ(move->missing.size(), 1U);
  EXPECT_TRUE(move->missing.front().starts_with("/memory/3/at")) << move->missing.front();
}

TEST(Price, WithoutAClockCyclesAreNotSeconds) {
  Result<Machine> machine = parse_machine(kSmall);
  ASSERT_TRUE(machine.ok());
  machine->clock_hz.reset();
  for (target::MemorySpace& space : machine->memory) space.read = space.write = {};
  const Result<MoveModel> model = MoveModel::make(*machine);
  ASSERT_TRUE(model.ok());
  const Result<Move> move = model->price(stored(kRows, "l1"), stored(kColumns, "l1"));
  ASSERT_TRUE(move.ok()) << move.error().message;
  EXPECT_EQ(move->seconds, std::nullopt);
  EXPECT_FALSE(move->missing.empty());
}

/// L1 has bytes per cycle, the network has cycles: only seconds take a clock.
TEST(Price, WithoutAClockAlgorithmsHaveCycles) {
  Result<Machine> machine = parse_machine(kSmall);
  ASSERT_TRUE(machine.ok());
  const Result<MoveModel> with_clock = MoveModel::make(*machine);
  machine->clock_hz.reset();
  for (std::size_t memory : {1U, 2U}) {
    machine->memory[memory].read = machine->memory[memory].write = {};
  }
  const Result<MoveModel> without = MoveModel::make(*machine);
  ASSERT_TRUE(with_clock.ok() && without.ok());
  const Result<Move> expected = with_clock->price(stored(kRows, "l1"), stored(kColumns, "l1"));
  const Result<Move> move = without->price(stored(kRows, "l1"), stored(kColumns, "l1"));
  ASSERT_TRUE(expected.ok() && move.ok());
  EXPECT_EQ(move->seconds, std::nullopt);
  ASSERT_EQ(move->algorithms.size(), expected->algorithms.size());
  for (std::size_t i = 0; i < move->algorithms.size(); ++i) {
    EXPECT_EQ(move->algorithms[i].name, expected->algorithms[i].name);
    EXPECT_NEAR(move->algorithms[i].cycles, expected->algorithms[i].cycles, 1e-6);
  }
  for (std::size_t i = 0; i < move->steps.size(); ++i) {
    EXPECT_EQ(move->steps[i].seconds, std::nullopt);
    EXPECT_NEAR(*move->steps[i].cycles, *expected->steps[i].seconds * 1e9, 1e-6);
  }
}

/// Nothing travels over a network without hop_cycles; what travels over others has its price.
TEST(Price, ANetworkThatIsNotDescribedHidesNoOther) {
  Result<Machine> machine = parse_machine(kSmall);
  ASSERT_TRUE(machine.ok());
  const Result<MoveModel> one = MoveModel::make(*machine);
  std::vector<target::Network>& networks = machine->mesh[0].networks;
  target::Network other = networks.front();
  other.name = "noc1";
  other.hop_cycles.reset();
  for (const bool first : {true, false}) {
    networks.resize(1);
    if (networks.front().name != "noc") networks = {one->machine().mesh[0].networks};
    networks.insert(first ? networks.begin() : networks.end(), other);
    const Result<MoveModel> two = MoveModel::make(*machine);
    ASSERT_TRUE(one.ok() && two.ok());
    const Result<Move> expected = one->price(stored(kWhole, "host"), stored(kWhole, "dram"));
    const Result<Move> move = two->price(stored(kWhole, "host"), stored(kWhole, "dram"));
    ASSERT_TRUE(expected.ok() && move.ok());
    ASSERT_TRUE(move->seconds.has_value());
    EXPECT_EQ(move->seconds, expected->seconds);
    ASSERT_EQ(move->missing.size(), 1U);
    EXPECT_TRUE(
        move->missing.front().starts_with(first ? "/mesh/0/networks/0" : "/mesh/0/networks/1"))
        << move->missing.front();
    EXPECT_NE(move->missing.front().find("hop_cycles"), std::string::npos);
  }
  other.name = "noc";
  networks = {other};
  const Result<MoveModel> none = MoveModel::make(*machine);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->routes(), nullptr);
  EXPECT_NE(none->why_no_routes().find("hop_cycles"), std::string::npos);
}

/// What a mechanism lacks is named where it is used, not where another was cheaper anyway.
TEST(Price, OnlyFiguresOfTheChosenMechanismAreMissing) {
  Result<Machine> machine = parse_machine(kSmall);
  ASSERT_TRUE(machine.ok());
  target::Mechanism write = machine->mesh[0].mechanisms[0];
  write.name = "write";
  write.bytes_per_cycle.reset();
  write.overhead_cycles = 1e6;
  machine->mesh[0].mechanisms.push_back(write);
  const auto missing = [&] {
    const Result<MoveModel> model = MoveModel::make(*machine);
    EXPECT_TRUE(model.ok());
    const Result<Move> move = model->price(stored(kRows, "l1"), stored(kColumns, "l1"));
    EXPECT_TRUE(move.ok());
    return move->missing;
  };
  EXPECT_EQ(missing(), std::vector<std::string>());
  machine->mesh[0].mechanisms[1].overhead_cycles = 0;
  const std::vector<std::string> lacks = missing();
  ASSERT_EQ(lacks.size(), 1U);
  EXPECT_TRUE(lacks.front().starts_with("/mesh/0/mechanisms/1/bytes_per_cycle"));
}

TEST(Price, TheTimeIsTheSumOfTheStepsAndTheCheapestWayIsFirst) {
  const MoveModel model = model_of(kSmall);
  const Result<Move> move = model.price(stored(kRows, "l1"), stored(kColumns, "l1"));
  ASSERT_TRUE(move.ok()) << move.error().message;
  double sum = 0;
  for (const Step& step : move->steps) sum += *step.seconds;
  EXPECT_DOUBLE_EQ(*move->seconds, sum);
  ASSERT_FALSE(move->algorithms.empty());
  EXPECT_NEAR(move->algorithms.front().cycles, sum * 1e9, 1e-3);
  for (std::size_t i = 1; i < move->algorithms.size(); ++i) {
    EXPECT_LE(move->algorithms[i - 1].cycles, move->algorithms[i].cycles);
  }
}

/// A cast to a smaller type comes first, one to a larger type last: less crosses.
TEST(Price, CastsWhereLessCrosses) {
  const MoveModel model = model_of(kSmall);
  const std::string_view small = "tensor<64x1024xbf16, dtensor<mesh=[4], [Shard(1)]>>";
  const Result<Move> shrinks = model.price(stored(kRows, "l1"), stored(small, "l1"));
  ASSERT_TRUE(shrinks.ok()) << shrinks.error().message;
  EXPECT_EQ(shrinks->steps.front().kind, Step::Kind::kCast);
  EXPECT_EQ(shrinks->steps.front().dominated_by, "memory");
  const Result<Move> grows = model.price(stored(small, "l1"), stored(kRows, "l1"));
  ASSERT_TRUE(grows.ok()) << grows.error().message;
  EXPECT_EQ(grows->steps.back().kind, Step::Kind::kCast);
  std::int64_t crosses = 0;
  for (const Step& step : grows->steps) {
    if (step.kind == Step::Kind::kExchange) crosses = step.bytes;
  }
  EXPECT_EQ(crosses, 64 * 1024 * 2 * 3 / 4);
}

TEST(Price, ACastNeedsPlacesThatCompute) {
  const MoveModel model = model_of(kSmall);
  const Result<Move> move = model.price(stored(kWhole, "host"),
                                        stored("tensor<64x1024xbf16, strided<[1024, 1]>>", "dram"));
  ASSERT_FALSE(move.ok());
  EXPECT_EQ(move.error().code, ErrorCode::kNotSupported);
  const Result<Move> into = model.price(
      stored(kWhole, "host"), stored("tensor<64x1024xbf16, dtensor<mesh=[4], [Shard(0)]>>", "l1"));
  ASSERT_TRUE(into.ok()) << into.error().message;
  EXPECT_EQ(into->steps.back().kind, Step::Kind::kCast);
}

TEST(Price, DeadPlacesAndUnknownMemoriesAreRefused) {
  Result<Machine> machine = parse_machine(kSmall);
  ASSERT_TRUE(machine.ok());
  machine->dead.push_back({{2}, {2}});
  const Result<MoveModel> model = MoveModel::make(*machine);
  ASSERT_TRUE(model.ok());
  for (const char* space : {"l1", "dram"}) {
    const std::string_view from = std::string_view(space) == "l1" ? kColumns : kWhole;
    const Result<Move> move = model->price(stored(from, space), stored(kRows, "l1"));
    ASSERT_FALSE(move.ok());
    EXPECT_EQ(move.error().code, ErrorCode::kOutOfRange);
  }
  const Result<Move> unknown = model->price(stored(kWhole, "hosts"), stored(kWhole, "dram"));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownName);
}

TEST(Price, EmptyTensorsAndSinglePlacesHaveAPrice) {
  const MoveModel model = model_of(kSmall);
  const Result<Move> empty =
      model.price(stored("tensor<0x8xf32, strided<[8, 1]>>", "host"),
                  stored("tensor<0x8xf32, dtensor<mesh=[4], [Shard(0)]>>", "l1"));
  ASSERT_TRUE(empty.ok()) << empty.error().message;
  EXPECT_EQ(empty->seconds, 0.0);
  const Result<Move> scalar = model.price(stored("tensor<f32, strided<[]>>", "host"),
                                          stored("tensor<f32, strided<[]>>", "l1"));
  ASSERT_TRUE(scalar.ok()) << scalar.error().message;
  EXPECT_GT(*scalar->seconds, 0.0);
}

/// A ring of four chips of 2x2 cores with two banks each; reads, and multicasts that are
/// only assumed.
constexpr std::string_view kChips = R"({
  "name": "chips",
  "mesh": [{"name": "chips", "extents": [4],
            "links": {"network": "ring", "hop_seconds": 1e-6, "bytes_per_second": 10e9},
            "gateways": [{"axis": 0, "way": "up", "routers": [[0, 3]]},
                         {"axis": 0, "way": "down", "routers": [[0, 0]]}]},
           {"name": "cores", "extents": [2, 2],
            "routers": {"extents": [2, 4], "places": [[0, 1], [1, 2]]},
            "networks": [{"name": "noc", "network": "mesh", "hop_cycles": 9,
                          "bits_per_cycle": 256, "packet_bytes": 8192}],
            "mechanisms": [{"name": "read", "network": "noc", "overhead_cycles": 95,
                            "issue_cycles": 25, "bytes_per_cycle": 28.5},
                           {"name": "multicast_linked", "network": "noc", "overhead_cycles": 95,
                            "issue_cycles": 20, "bytes_per_cycle": 30, "receiver_cycles": 1}]}],
  "clock_hz": 1000000000,
  "memory": [{"name": "l1", "bytes": 1048576, "read": {"bytes_per_cycle": 64},
              "write": {"bytes_per_cycle": 64}},
             {"name": "dram", "per": "bank", "banks": 2, "read": {"bytes_per_second": 24e9},
              "write": {"bytes_per_second": 24e9}, "at": [[[0, 0]], [[1, 3]]]}],
  "notes": [{"about": "/mesh/1/mechanisms/1", "is": "assumed"}]})";

bool has_algorithm(const Move& move, std::string_view name) {
  return std::any_of(move.algorithms.begin(), move.algorithms.end(),
                     [&](const Algorithm& algorithm) { return algorithm.name == name; });
}

/// Tensors in the banks of chips are moved by collectives between chips. Each of 4 chips must
/// receive 3/4 of 1 MiB; a ring uses its links in one direction for 3 rounds of 256 KiB.
TEST(Price, BanksOfChipsTakePartInCollectives) {
  const MoveModel model = model_of(kChips);
  const Result<Move> move =
      model.price(stored("tensor<512x512xf32, dtensor<mesh=[4], [Shard(0)]>>", "dram"),
                  stored("tensor<512x512xf32, dtensor<mesh=[4], [Replicate()]>>", "dram"));
  ASSERT_TRUE(move.ok()) << move.error().message;
  EXPECT_TRUE(has_algorithm(*move, "all_gather by ring"));
  EXPECT_TRUE(has_algorithm(*move, "all_gather by two_way_ring"));
  for (const Algorithm& algorithm : move->algorithms) {
    if (algorithm.name != "all_gather by ring") continue;
    const double least = 3 * 256 * 1024 / 10e9;
    EXPECT_GE(algorithm.cycles, least * 1e9);
    EXPECT_LE(algorithm.cycles, least * 1e9 * 1.3);
  }
  const Result<Move> reduced =
      model.price(stored("tensor<512x512xf32, dtensor<mesh=[4], [Partial(sum)]>>", "dram"),
                  stored("tensor<512x512xf32, dtensor<mesh=[4], [Replicate()]>>", "dram"));
  ASSERT_TRUE(reduced.ok()) << reduced.error().message;
  EXPECT_TRUE(has_algorithm(*reduced, "all_reduce by ring"));
}

/// Between two members every algorithm of an all_gather sends the same two messages.
TEST(Price, AlgorithmsWithTheSameMessagesAreListedOnce) {
  const MoveModel model = model_of(kChips);
  const Result<Move> two =
      model.price(stored("tensor<512x512xf32, dtensor<mesh=[2], [Shard(0)]>>", "dram"),
                  stored("tensor<512x512xf32, dtensor<mesh=[2], [Replicate()]>>", "dram"));
  ASSERT_TRUE(two.ok()) << two.error().message;
  for (std::size_t i = 0; i < two->algorithms.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(two->algorithms[i].name, two->algorithms[j].name);
      EXPECT_NE(two->algorithms[i].cycles, two->algorithms[j].cycles)
          << two->algorithms[i].name << ", " << two->algorithms[j].name;
    }
  }
  // The root of a gather at the end of a line: a chain has one arm, as a ring has.
  const Result<Move> gathered =
      model.price(stored("tensor<512x512xf32, dtensor<mesh=[4], [Shard(0)]>>", "dram"),
                  stored("tensor<512x512xf32, dtensor<mesh=[1], [Replicate()]>>", "dram"));
  ASSERT_TRUE(gathered.ok()) << gathered.error().message;
  EXPECT_TRUE(has_algorithm(*gathered, "gather by ring"));
  EXPECT_FALSE(has_algorithm(*gathered, "gather by chain"));
}

TEST(Price, MulticastsAreAnAlgorithmAndTheirFiguresAreNamed) {
  const MoveModel model = model_of(kChips);
  const Result<Move> move = model.price(
      stored("tensor<256x256xf32, dtensor<mesh=[4, 2, 2], [Shard(0), Shard(0), Shard(1)]>>", "l1"),
      stored("tensor<256x256xf32, dtensor<mesh=[4, 2, 2], [Shard(0), Replicate(), Replicate()]>>",
             "l1"));
  ASSERT_TRUE(move.ok()) << move.error().message;
  ASSERT_TRUE(has_algorithm(*move, "all_gather by multicast"));
  const std::vector<std::string> assumed = assumed_figures(*move, model.machine());
  const bool chosen = move->algorithms.front().name == "all_gather by multicast";
  EXPECT_EQ(chosen, assumed == std::vector<std::string>{"/mesh/1/mechanisms/1"})
      << move->algorithms.front().name;
}

/// 16384 elements per place: 128 per cycle take 128 cycles, but reading 65536 bytes at 64 per cycle
/// takes 1024.
TEST(Price, ACastIsNotFasterThanTheMemory) {
  const MoveModel model = model_of(kSmall);
  const std::string_view narrow = "tensor<64x1024xbf16, dtensor<mesh=[4], [Shard(0)]>>";
  const Result<Move> move = model.price(stored(kRows, "l1"), stored(narrow, "l1"));
  ASSERT_TRUE(move.ok()) << move.error().message;
  ASSERT_EQ(move->steps.size(), 1U);
  EXPECT_EQ(move->steps.front().dominated_by, "memory");
  EXPECT_DOUBLE_EQ(*move->seconds, 1024e-9);
}

/// Each place sends and receives 3/4 of 65536 bytes.
TEST(Price, AnExchangeIsNotFasterThanTheMemoryOfThePlaces) {
  Result<Machine> machine = parse_machine(kSmall);
  ASSERT_TRUE(machine.ok());
  machine->memory[0].read.bytes_per_cycle = 1;
  const Result<MoveModel> model = MoveModel::make(*machine);
  ASSERT_TRUE(model.ok());
  const Result<Move> move = model->price(stored(kRows, "l1"), stored(kColumns, "l1"));
  ASSERT_TRUE(move.ok()) << move.error().message;
  for (const Step& step : move->steps) {
    if (step.kind != Step::Kind::kExchange) continue;
    EXPECT_NEAR(*step.seconds, 65536.0 * 3 / 4 * 1e-9, 1e-12);
    EXPECT_EQ(step.dominated_by, "memory");
  }
}

TEST(Price, BandwidthsAndFiguresOfMechanismsThatAreMissingAreNamed) {
  Result<Machine> machine = parse_machine(kSmall);
  ASSERT_TRUE(machine.ok());
  machine->memory[2].read = {};
  machine->mesh[0].mechanisms[0].issue_cycles.reset();
  const Result<MoveModel> model = MoveModel::make(*machine);
  ASSERT_TRUE(model.ok());
  const Result<Move> move = model->price(stored(kWhole, "host"), stored(kWhole, "dram"));
  ASSERT_TRUE(move.ok()) << move.error().message;
  EXPECT_TRUE(move->seconds.has_value());
  const auto names = [&](std::string_view path) {
    return std::any_of(move->missing.begin(), move->missing.end(),
                       [&](const std::string& text) { return text.starts_with(path); });
  };
  EXPECT_TRUE(names("/memory/2/read"));
  EXPECT_TRUE(names("/mesh/0/mechanisms/0/issue_cycles"));
  EXPECT_FALSE(names("/memory/1/write"));
}

/// Banks have no processors: what changes its order in them is read and written over the network.
TEST(Price, RelayoutsInBanksPassPlaces) {
  const MoveModel model = model_of(kSmall);
  const std::string_view plain = "tensor<4x1024xf32, strided<[1024, 1]>>";
  const std::string_view reversed = "tensor<4x1024xf32, strided<[1024, -1], offset: 1023>>";
  const Result<Move> move = model.price(stored(plain, "dram"), stored(reversed, "dram"));
  ASSERT_TRUE(move.ok()) << move.error().message;
  ASSERT_EQ(move->steps.size(), 1U);
  EXPECT_EQ(move->steps.front().kind, Step::Kind::kExchange);
  EXPECT_EQ(move->steps.front().algorithm, "through places");
  // 8192 bytes in each bank, read and written at 24 bytes per cycle, and the way there.
  EXPECT_GE(*move->seconds, 8192 / 24e9 + 95e-9);
}

TEST(Price, AddingUpTakesTime) {
  Result<Machine> machine = parse_machine(kChips);
  ASSERT_TRUE(machine.ok());
  const std::string_view shares =
      "tensor<256x256xf32, dtensor<mesh=[4, 2, 2], [Shard(0), Partial(sum), Partial(sum)]>>";
  const std::string_view copies =
      "tensor<256x256xf32, dtensor<mesh=[4, 2, 2], [Shard(0), Replicate(), Replicate()]>>";
  const auto seconds = [&](double per_cycle) {
    machine->compute = {{"reduce", "", "", per_cycle}};
    const Result<MoveModel> model = MoveModel::make(*machine);
    EXPECT_TRUE(model.ok());
    const Result<Move> move = model->price(stored(shares, "l1"), stored(copies, "l1"));
    EXPECT_TRUE(move.ok()) << move.error().message;
    return move->seconds.value_or(0);
  };
  // Each of 4 places must add up at least 3 shares of a quarter of 64x256 elements.
  EXPECT_GE(seconds(0.01), 3 * 64 * 256.0 / 4 * 100e-9);
  EXPECT_LT(seconds(1000), 3 * 64 * 256.0 / 4 * 100e-9);
  machine->compute.clear();
  const Result<MoveModel> model = MoveModel::make(*machine);
  ASSERT_TRUE(model.ok());
  const Result<Move> move = model->price(stored(shares, "l1"), stored(copies, "l1"));
  ASSERT_TRUE(move.ok());
  EXPECT_TRUE(std::any_of(move->missing.begin(), move->missing.end(),
                          [](const std::string& text) { return text.starts_with("/compute"); }));
}

/// 1000 bytes in pages of 100 over 4 banks: pages 0, 4, 8 / 1, 5, 9 / 2, 6 / 3, 7.
TEST(MemberEnds, DealPagesToBanks) {
  const MemberEnds ends{10, 4, 100};
  std::vector<fabric::Message> messages;
  ends.add({1, 2, 950, 7}, messages);
  const std::vector<fabric::Message> expected = {
      {14, 18, 300, 3}, {15, 19, 250, 3}, {16, 20, 200, 2}, {17, 21, 200, 2}};
  EXPECT_EQ(messages, expected);
  messages.clear();
  ends.add({0, 1, 30, 1}, messages);
  EXPECT_EQ(messages, (std::vector<fabric::Message>{{10, 14, 30, 1}}));
  for (std::int64_t bytes = 1; bytes < 2000; ++bytes) {
    messages.clear();
    ends.add({0, 1, bytes, 1}, messages);
    std::int64_t sum = 0;
    for (const fabric::Message& message : messages) sum += message.bytes;
    ASSERT_EQ(sum, bytes);
  }
  messages.clear();
  MemberEnds{}.add({1, 2, 950, 7}, messages);
  EXPECT_EQ(messages, (std::vector<fabric::Message>{{1, 2, 950, 7}}));
}

}  // namespace
}  // namespace tessera::moves
