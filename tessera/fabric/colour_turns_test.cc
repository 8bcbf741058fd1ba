// SPDX-License-Identifier: Apache-2.0
// Messages that name their colours: turns at routers, one thread per colour at processors.
#include "tessera/fabric/colour_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "tessera/fabric/simulate.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/reshard/naive_fabric.h"

namespace tessera::fabric {
namespace {

using Random = std::mt19937;

std::int64_t below(Random& random, std::int64_t bound) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
}

FabricMesh mesh_of(std::int32_t rows, std::int32_t cols, std::int64_t ramp_cycles = 2) {
  FabricMesh mesh;
  mesh.rows = rows;
  mesh.cols = cols;
  mesh.ramp_cycles = ramp_cycles;
  return mesh;
}

/// Random messages with random colours; some forward what others delivered, some start late.
Traffic random_traffic(Random& random, const FabricMesh& mesh) {
  Traffic traffic;
  traffic.payload.resize(64);
  for (std::uint32_t& word : traffic.payload) word = static_cast<std::uint32_t>(random());
  const std::int64_t count = 1 + below(random, 16);
  for (std::int64_t m = 0; m < count; ++m) {
    auto source = static_cast<std::int32_t>(below(random, mesh.nodes()));
    std::int64_t words = 1 + below(random, 12);
    std::vector<std::int64_t> after;
    if (m > 0 && below(random, 3) == 0) {
      const std::int64_t awaited = below(random, m);
      const FabricMessage& first = traffic.messages[static_cast<std::size_t>(awaited)];
      const auto ends = traffic.destinations_of(first);
      source = ends[static_cast<std::size_t>(below(random, first.destinations.count))];
      words = first.words;
      after.push_back(awaited);
    }
    std::set<std::int32_t> to;
    const std::int64_t ends = below(random, 2) > 0 ? 1 : 1 + below(random, mesh.nodes() - 1);
    while (static_cast<std::int64_t>(to.size()) < ends) {
      const auto node = static_cast<std::int32_t>(below(random, mesh.nodes()));
      if (node != source) to.insert(node);
    }
    const std::vector<std::int32_t> list(to.begin(), to.end());
    traffic.add(source, list, below(random, 64 - words), words, after);
    traffic.messages.back().colour = static_cast<std::int32_t>(below(random, mesh.colours));
    if (below(random, 4) == 0) traffic.messages.back().not_before = below(random, 60);
  }
  return traffic;
}

TEST(ColourTurns, DoWhatTheNaiveMachineDoes) {
  Random random(20261116);
  for (int round = 0; round < 600; ++round) {
    FabricMesh mesh = mesh_of(1 + static_cast<std::int32_t>(below(random, 4)),
                              2 + static_cast<std::int32_t>(below(random, 5)), below(random, 4));
    mesh.colours = 1 + below(random, 4);
    const Traffic traffic = random_traffic(random, mesh);
    SimulateOptions options;
    options.mode = FabricMode::kStatic;
    options.queue_depth = std::array{1, 2, 3, 32}[static_cast<std::size_t>(round % 4)];
    std::vector<Delivery> deliveries;
    const auto run = simulate(mesh, traffic, options,
                              [&](const Delivery& delivery) { deliveries.push_back(delivery); });
    ASSERT_TRUE(run.ok()) << run.error().message << " round " << round;
    ASSERT_EQ(run->phases, 1);
    const test::NaiveRun naive = test::naive_run(mesh, traffic, options, run->messages);
    ASSERT_TRUE(naive.finished) << "round " << round;
    ASSERT_EQ(run->messages, naive.messages) << "round " << round;
    ASSERT_EQ(deliveries.size(), naive.deliveries.size());
    for (const Delivery& d : deliveries) {
      const auto& expected = naive.deliveries.at({d.message, d.destination, d.index});
      ASSERT_EQ(std::pair(d.word, d.cycle), expected) << "round " << round;
    }
  }
}

// Routers 0 to 3 of a row send east over one colour, each first its own words, then what comes from
// the west: the last link is never idle. 3·5 words pass it, the first after 1 hop.
TEST(ColourTurns, OwnWordsFirst) {
  const FabricMesh mesh = mesh_of(1, 4);
  Traffic traffic;
  traffic.payload.assign(5, 7);
  for (const std::int32_t source : {2, 1, 0}) {
    traffic.add(source, {3}, 0, 5);
    traffic.messages.back().colour = 0;
  }
  SimulateOptions options;
  options.mode = FabricMode::kStatic;
  const auto run = simulate(mesh, traffic, options);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->cycles, 3 * 5 + 1 + 2 * 2);
  EXPECT_EQ(run->colours, 1);
  // The other order: router 0 first, and the others wait until its words have passed.
  std::swap(traffic.messages[0].source, traffic.messages[2].source);
  const auto waiting = simulate(mesh, traffic, options);
  ASSERT_TRUE(waiting.ok());
  EXPECT_EQ(waiting->cycles, 3 * 5 + 3 + 2 * 2);
}

// A processor sends two colours at half the rate each.
TEST(ColourTurns, ColoursOfAProcessorShareItsRamp) {
  const FabricMesh mesh = mesh_of(1, 3);
  Traffic traffic;
  traffic.payload.assign(10, 7);
  traffic.add(1, {0}, 0, 10);
  traffic.add(1, {2}, 0, 10);
  traffic.messages[0].colour = 0;
  traffic.messages[1].colour = 1;
  SimulateOptions options;
  options.mode = FabricMode::kStatic;
  const auto run = simulate(mesh, traffic, options);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->cycles, 20 + 1 + 2 * 2);
  EXPECT_EQ(run->messages[0].first_departure, 0);
  EXPECT_EQ(run->messages[1].first_departure, 1);
  EXPECT_EQ(run->messages[0].last_departure, 18);
}

TEST(ColourTurns, RefuseColoursThatContradict) {
  const auto refusal = [](void (*change)(Traffic&)) {
    Traffic traffic;
    traffic.payload.assign(8, 0);
    traffic.add(0, {1}, 0, 4);
    traffic.add(1, {2}, 0, 4, {0});
    for (FabricMessage& message : traffic.messages) message.colour = 3;
    change(traffic);
    FabricMesh mesh = mesh_of(2, 3);
    mesh.colours = 4;
    SimulateOptions options;
    options.mode = FabricMode::kStatic;
    const auto result = simulate(mesh, traffic, options);
    if (result) return std::string("accepted");
    return std::string(code_name(result.error().code)) + ": " +
           test::figures(result.error().message);
  };
  EXPECT_EQ(refusal([](Traffic&) {}), "accepted");
  EXPECT_EQ(refusal([](Traffic& t) { t.messages[0].colour = 4; }), "out_of_range: 0 4 4");
  EXPECT_EQ(refusal([](Traffic& t) { t.messages[0].colour = -2; }), "out_of_range: 0 -2 4");
  EXPECT_EQ(refusal([](Traffic& t) { t.messages[1].colour = kAnyColour; }), "contradiction: 1");
  EXPECT_EQ(refusal([](Traffic& t) {
              std::swap(t.messages[0], t.messages[1]);
              t.after[0] = 1;
            }),
            "contradiction: 0 1");
}

}  // namespace
}  // namespace tessera::fabric
