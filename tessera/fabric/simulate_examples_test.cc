// SPDX-License-Identifier: Apache-2.0
// Traffic whose cycles can be computed by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/fabric/simulate.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/reshard/naive_fabric.h"

namespace tessera::fabric {
namespace {

FabricMesh mesh_of(std::int32_t rows, std::int32_t cols, std::int64_t ramp_cycles = 2) {
  FabricMesh mesh;
  mesh.rows = rows;
  mesh.cols = cols;
  mesh.ramp_cycles = ramp_cycles;
  return mesh;
}

Simulation run(const FabricMesh& mesh, const Traffic& traffic, const SimulateOptions& options) {
  Result<Simulation> made = simulate(mesh, traffic, options);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made ? *std::move(made) : Simulation();
}

TEST(SimulateExamples, TakesExactlyTheWayOfASingleMessage) {
  for (const std::int64_t ramp : {0, 1, 2, 7}) {
    const FabricMesh mesh = mesh_of(5, 9, ramp);
    for (const std::int32_t to : {1, 8, 9, 22, 44}) {
      for (const std::int64_t words : {1, 2, 3, 64}) {
        Traffic traffic;
        traffic.payload.assign(64, 5);
        traffic.add(0, {to}, 0, words);
        const std::int64_t d = test::distance(mesh, 0, to);
        for (const FabricMode mode : {FabricMode::kIdeal, FabricMode::kStatic}) {
          SimulateOptions options;
          options.mode = mode;
          options.queue_depth = 2;
          const Simulation s = run(mesh, traffic, options);
          EXPECT_EQ(s.cycles, words + d + 2 * ramp);
          EXPECT_EQ(s.messages[0],
                    (MessageTimes{0, words - 1, d + 2 * ramp, words - 1 + d + 2 * ramp, 0, 0}));
          // Every second cycle through queues of depth 1.
          options.queue_depth = 1;
          EXPECT_EQ(run(mesh, traffic, options).cycles, 2 * words - 1 + d + 2 * ramp);
        }
      }
    }
  }
}

TEST(SimulateExamples, SharesALinkEvenly) {
  // Routers 1 and 2 of a row send 100 words each to router 0: they share the link into it
  // round-robin.
  Traffic traffic;
  traffic.payload.assign(100, 1);
  traffic.add(1, {0}, 0, 100);
  traffic.add(2, {0}, 0, 100);
  const Simulation s = run(mesh_of(1, 3), traffic, {});
  EXPECT_EQ(s.link(1, Port::kWest), 200);
  EXPECT_EQ(s.link(2, Port::kWest), 100);
  EXPECT_EQ(s.cycles, 200 + 1 + 4);
  EXPECT_NEAR(static_cast<double>(s.messages[0].last_delivery),
              static_cast<double>(s.messages[1].last_delivery), 2);
}

TEST(SimulateExamples, HoldsBackASourceOnlyForItsOwnWay) {
  // 0 -> 1 is slowed to a third by two other streams into router 1; 3 -> 5 is not affected.
  Traffic traffic;
  traffic.payload.assign(90, 1);
  traffic.add(0, {1}, 0, 90);
  traffic.add(2, {1}, 0, 90);
  traffic.add(4, {1}, 0, 90);
  traffic.add(3, {5}, 0, 90);
  SimulateOptions options;
  options.queue_depth = 2;
  const Simulation s = run(mesh_of(2, 3), traffic, options);
  EXPECT_EQ(s.messages[3].last_delivery, 90 - 1 + 2 + 4);
  EXPECT_EQ(s.cycles, 270 + 1 + 4);
  EXPECT_GE(s.messages[0].last_departure, 240);
}

TEST(SimulateExamples, CountsOnlyWhatLiesBetweenTheEnds) {
  // A small message in the far corner of a wafer: the loads are at the right links.
  const FabricMesh mesh = mesh_of(994, 750);
  Traffic traffic;
  traffic.payload = {1, 2, 3};
  traffic.add(mesh.node(990, 740), {mesh.node(992, 742)}, 0, 3);
  const Simulation s = run(mesh, traffic, {});
  EXPECT_EQ(s.hops, 12);
  EXPECT_EQ(s.link(mesh.node(990, 740), Port::kEast), 3);
  EXPECT_EQ(s.link(mesh.node(990, 741), Port::kEast), 3);
  EXPECT_EQ(s.link(mesh.node(990, 742), Port::kSouth), 3);
  EXPECT_EQ(s.link(mesh.node(991, 742), Port::kSouth), 3);
  EXPECT_EQ(s.ramp_in[static_cast<std::size_t>(mesh.node(992, 742))], 3);
}

TEST(SimulateExamples, DealsAGatherToAsManyPhasesAsColoursDemand) {
  // All of 48 streams meet at one router, so 21 colours need ceil(48 / 21) phases.
  const FabricMesh mesh = mesh_of(7, 7);
  Traffic traffic;
  traffic.payload.assign(10, 1);
  for (std::int32_t n = 0; n < 49; ++n) {
    if (n != 24) traffic.add(n, {24}, 0, 10);
  }
  SimulateOptions options;
  options.mode = FabricMode::kStatic;
  const Simulation s = run(mesh, traffic, options);
  EXPECT_EQ(s.phases, 3);
  EXPECT_EQ(s.colours, 21);
  options.switch_cycles = 50;
  EXPECT_EQ(run(mesh, traffic, options).cycles, s.cycles + 100);
}

/// A tree over 2^21 columns takes 20 bytes per column: twelve of them are below 2^29, thirteen are
/// not.
TEST(SimulateExamples, RefusesTreesBeforeTheyArePlanted) {
  const FabricMesh mesh = mesh_of(1, 1 << 21);
  Traffic traffic;
  traffic.payload.assign(1, 0);
  for (std::int32_t m = 0; m < 13; ++m) traffic.add(m, {mesh.cols - 1}, 0, 1);
  const Result<Simulation> made = simulate(mesh, traffic, {.mode = FabricMode::kStatic});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(test::figures(made.error().message).find("13 13"), std::string::npos)
      << made.error().message;
}

TEST(SimulateExamples, PassesOverIdleCycles) {
  FabricMesh mesh = mesh_of(1, 3, std::int64_t{1} << 30);
  Traffic traffic;
  traffic.payload = {1, 2, 3, 4};
  traffic.add(2, {1}, 0, 2);
  traffic.add(1, {0}, 2, 2, {0});
  EXPECT_EQ(run(mesh, traffic, {}).cycles, 2 + (2 * mesh.ramp_cycles + 2) * 2 - 1);
}

TEST(SimulateExamples, IsNothingWithoutMessages) {
  const Simulation s = run(mesh_of(2, 2), {}, {});
  EXPECT_EQ(s.cycles, 0);
  EXPECT_EQ(s.phases, 0);
  EXPECT_EQ(s.links.size(), 16U);
}

}  // namespace
}  // namespace tessera::fabric
