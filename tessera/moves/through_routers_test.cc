// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/through_routers.h"

#include <gtest/gtest.h>

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "tessera/moves/price.h"
#include "tessera/notation/tensor.h"
#include "tessera/testing/generate.h"

namespace tessera::moves {
namespace {

/// 4x4 places on routers that skip a column; the host is reached at three of them, of which the one
/// in column 2 has no place and that at [3, 0] a dead one, if told so.
Machine machine_with(bool dead) {
  std::string text = R"({
    "name": "edge",
    "mesh": [{"name": "cores", "extents": [4, 4],
              "routers": {"extents": [4, 5], "places": [[0, 1, 2, 3], [0, 1, 3, 4]]},
              "links": {"network": "mesh", "hop_cycles": 1, "bits_per_cycle": 32,
                        "ramp_cycles": 2}}],
    "clock_hz": 1000000000,
    "memory": [{"name": "l1", "bytes": 1048576, "read": {"bytes_per_cycle": 16},
                "write": {"bytes_per_cycle": 16}},
               {"name": "host", "per": "shared", "read": {"bytes_per_second": 100e9},
                "write": {"bytes_per_second": 100e9},
                "at": [[[0, 0], [1, 0], [2, 0], [3, 0], [3, 2]]]}])";
  text += dead ? R"(, "dead": [[3, 0]]})" : "}";
  Result<Machine> machine = target::parse_machine(text);
  EXPECT_TRUE(machine.ok()) << machine.error().message;
  return *std::move(machine);
}

TEST(ThroughRouters, HandOnWhatTheMemorySendsAndReceives) {
  constexpr std::int32_t kHost = 16;
  for (const bool dead : {false, true}) {
    const auto through = ThroughRouters::of(machine_with(dead), 1, kHost);
    ASSERT_TRUE(through.has_value());
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      test::Dice dice(seed);
      std::vector<fabric::Message> messages;
      for (std::int64_t i = dice.below(20); i > 0; --i) {
        messages.push_back({static_cast<std::int32_t>(dice.below(17)),
                            static_cast<std::int32_t>(dice.below(17)), dice.below(1000), 1});
      }
      // What an endpoint has more in the end, and what crosses the memory's border.
      const auto balance = [](const std::vector<fabric::Message>& all) {
        std::map<std::int32_t, std::int64_t> gained;
        std::int64_t sent = 0;
        std::int64_t received = 0;
        for (const fabric::Message& message : all) {
          if (message.source == message.destination) continue;
          gained[message.source] -= message.bytes;
          gained[message.destination] += message.bytes;
          if (message.source == kHost) sent += message.bytes;
          if (message.destination == kHost) received += message.bytes;
        }
        std::erase_if(gained, [](const auto& end) { return end.second == 0; });
        return std::tuple(gained, sent, received);
      };
      std::vector<fabric::Message> passed = messages;
      through->apply(passed);
      EXPECT_EQ(balance(passed), balance(messages));
      // The row of the next router, in the column of the other end.
      std::size_t next = 0;
      std::size_t at = 0;
      for (const fabric::Message& message : messages) {
        ASSERT_LT(at, passed.size());
        const bool sent = message.source == kHost;
        if (message.source == message.destination || (!sent && message.destination != kHost)) {
          EXPECT_EQ(passed[at++], message);
          continue;
        }
        const std::int32_t other = sent ? message.destination : message.source;
        const auto row = static_cast<std::int32_t>(next++ % (dead ? 3 : 4));
        const std::int32_t place = row * 4 + other % 4;
        const fabric::Message outside = passed[at++];
        EXPECT_EQ(sent ? outside.destination : outside.source, place);
        if (place == other) continue;
        const fabric::Message inside = passed[at++];
        EXPECT_EQ(inside.source, sent ? place : other);
        EXPECT_EQ(inside.destination, sent ? other : place);
      }
      EXPECT_EQ(at, passed.size());
    }
  }
}

TEST(ThroughRouters, OneRouterIsNoChoice) {
  Machine machine = machine_with(false);
  machine.memory[1].at = {{{2, 0}}};
  EXPECT_FALSE(ThroughRouters::of(machine, 1, 16).has_value());
  EXPECT_FALSE(ThroughRouters::of(machine, 0, 0).has_value());
}

/// A row of four places is nearest to one router, whose link carries 4 bytes per cycle. Through all
/// of them every place gets its quarter over its own link: 64 KB take 4096 cycles, not 16384.
TEST(ThroughRouters, AreUsedWhereTheNearestOnesLimitTheExchange) {
  Machine machine = machine_with(false);
  machine.memory[1].at = {{{0, 0}, {1, 0}, {2, 0}, {3, 0}}};
  const Result<MoveModel> model = MoveModel::make(machine);
  ASSERT_TRUE(model.ok());
  const auto stored = [](std::string_view text, std::string_view space) {
    const Result<Tensor> tensor = parse_tensor(text);
    EXPECT_TRUE(tensor.ok()) << text << ": " << tensor.error().message;
    return Stored{tensor->placement, std::string(space), target::Spread::kWhole};
  };
  const Stored host = stored("tensor<64x256xf32, strided<[256, 1]>>", "host");
  const Stored row = stored("tensor<64x256xf32, pyflame.Grid(1, 4)>", "l1");
  for (const bool up : {true, false}) {
    const Result<Move> move = up ? model->price(row, host) : model->price(host, row);
    ASSERT_TRUE(move.ok()) << move.error().message;
    ASSERT_EQ(move->algorithms.size(), 2U);
    EXPECT_EQ(move->algorithms.front().name, "through all routers");
    EXPECT_NEAR(move->algorithms.front().cycles, 4096, 100);
    EXPECT_NEAR(move->algorithms.back().cycles, 16384, 100);
  }
}

}  // namespace
}  // namespace tessera::moves
