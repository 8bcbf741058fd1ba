// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "tessera/fabric/simulate.h"

namespace tessera::fabric {
namespace {

TEST(NotBefore, HoldsAMessageBack) {
  // Two words over two hops take 2 + 2 + 2·2 = 8 cycles; the second message leaves in cycle 20 and
  // its word arrives in 20 + 2 + 4.
  Traffic traffic;
  traffic.payload = {1, 2, 3};
  traffic.add(0, {2}, 0, 2);
  const std::int64_t late = traffic.add(0, {2}, 2, 1);
  traffic.messages[static_cast<std::size_t>(late)].not_before = 20;
  std::vector<std::int64_t> cycles;
  const Result<Simulation> run = simulate(FabricMesh{1, 3}, traffic, {},
                                          [&](const Delivery& d) { cycles.push_back(d.cycle); });
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(cycles, (std::vector<std::int64_t>{6, 7, 26}));
  EXPECT_EQ(run->cycles, 27);
  EXPECT_EQ(run->messages[1].first_departure, 20);
}

TEST(NotBefore, LetsOthersThrough) {
  // Router 1 is between 2 and 0: if it sends at once, it takes every second cycle of the last link.
  // If it is delayed until the other stream is done, the first stream is not slowed down.
  const auto last_of_first = [](std::int64_t start) {
    Traffic traffic;
    traffic.payload.assign(10, 0);
    traffic.add(2, {0}, 0, 10);
    traffic.add(1, {0}, 0, 10);
    traffic.messages[1].not_before = start;
    return simulate(FabricMesh{1, 3}, traffic)->messages[0].last_delivery;
  };
  EXPECT_EQ(last_of_first(11), 9 + 2 + 4);
  EXPECT_GT(last_of_first(0), 9 + 2 + 4);
}

TEST(NotBefore, RefusesCyclesThatAreNone) {
  for (const std::int64_t start : {std::int64_t{-1}, INT64_MAX}) {
    Traffic traffic;
    traffic.payload = {0};
    traffic.add(0, {1}, 0, 1);
    traffic.messages[0].not_before = start;
    const Result<Simulation> run = simulate(FabricMesh{1, 2}, traffic);
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(run.error().code, ErrorCode::kOutOfRange);
  }
}

}  // namespace
}  // namespace tessera::fabric
