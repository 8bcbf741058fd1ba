// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/patterns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "tessera/base/text.h"
#include "tessera/fabric/simulate.h"

namespace tessera::fabric {
namespace {

FabricMesh row_of(std::int32_t processors, std::int64_t ramp_cycles) {
  FabricMesh mesh;
  mesh.cols = processors;
  mesh.ramp_cycles = ramp_cycles;
  return mesh;
}

std::int64_t cycles(const FabricMesh& mesh, const Result<Traffic>& traffic,
                    const SimulateOptions& options = {}) {
  EXPECT_TRUE(traffic.ok());
  const auto simulation = simulate(mesh, *traffic, options);
  EXPECT_TRUE(simulation.ok()) << simulation.error().message;
  return simulation->cycles;
}

/// The root's result after adding everything that it receives to its own words, in order of
/// arrival.
std::vector<std::uint32_t> reduced(const FabricMesh& mesh, const Traffic& traffic,
                                   std::int64_t words, Combine combine) {
  std::vector<std::uint32_t> root(traffic.payload.begin(), traffic.payload.begin() + words);
  SimulateOptions options;
  options.combine = combine;
  const auto simulation = simulate(mesh, traffic, options, [&](const Delivery& d) {
    const FabricMessage& message = traffic.messages[static_cast<std::size_t>(d.message)];
    if (traffic.destinations_of(message)[0] != 0) return;
    std::uint32_t& sum = root[static_cast<std::size_t>(d.index)];
    sum = combine(sum, d.word);
  });
  EXPECT_TRUE(simulation.ok());
  return root;
}

constexpr std::int32_t kProcessors[] = {2, 3, 4, 8, 31, 64};
constexpr std::int64_t kWords[] = {1, 2, 4, 16, 256};
constexpr std::int64_t kRamps[] = {0, 1, 2, 5};

TEST(Patterns, TakeThePublishedCyclesWithinOneAStage) {
  for (const std::int32_t p : kProcessors) {
    for (const std::int64_t b : kWords) {
      for (const std::int64_t ramp : kRamps) {
        const FabricMesh mesh = row_of(p, ramp);
        SCOPED_TRACE(cat("P ", p, " B ", b, " T_R ", ramp));
        // The chain's last add is the root's, which is not counted; the star's first word makes one
        // hop; the broadcast's last makes P - 1, not P. Each difference comes from the convention
        // for one stage, so it does not grow.
        EXPECT_EQ(cycles(mesh, chain_reduce(mesh, b)), chain_cycles(p, b, ramp) - 1);
        EXPECT_EQ(cycles(mesh, star_reduce(mesh, b)), star_cycles(p, b, ramp));
        EXPECT_EQ(cycles(mesh, broadcast_row(mesh, b)), broadcast_cycles(p, b, ramp) - 1);
      }
    }
  }
}

TEST(Patterns, TakeTheSameCyclesByStaticColours) {
  SimulateOptions options;
  options.mode = FabricMode::kStatic;
  for (const std::int32_t p : {2, 5, 22}) {
    const FabricMesh mesh = row_of(p, 2);
    EXPECT_EQ(cycles(mesh, chain_reduce(mesh, 16), options), chain_cycles(p, 16, 2) - 1);
    EXPECT_EQ(cycles(mesh, star_reduce(mesh, 16), options), star_cycles(p, 16, 2));
    EXPECT_EQ(cycles(mesh, broadcast_row(mesh, 16), options), broadcast_cycles(p, 16, 2) - 1);
  }
  // 22 processors send to the root: one colour too many for a phase of 21.
  EXPECT_GT(cycles(row_of(23, 2), star_reduce(row_of(23, 2), 16), options), star_cycles(23, 16, 2));
}

TEST(Patterns, ClosedFormsAreThePublishedOnes) {
  // For P = 2, B = 4, T_R = 2 by hand: 4 + 6·1, 4·1 + 5, 4 + 2 + 4.
  EXPECT_EQ(chain_cycles(2, 4, 2), 10);
  EXPECT_EQ(star_cycles(2, 4, 2), 9);
  EXPECT_EQ(broadcast_cycles(2, 4, 2), 10);
}

TEST(Patterns, ReducesAddEveryProcessorOnce) {
  for (const std::int32_t p : kProcessors) {
    const FabricMesh mesh = row_of(p, 2);
    const std::int64_t b = 5;
    std::vector<std::uint32_t> expected(static_cast<std::size_t>(b), 0);
    const Traffic chain = *chain_reduce(mesh, b);
    for (std::size_t i = 0; i < chain.payload.size(); ++i) {
      expected[i % static_cast<std::size_t>(b)] += chain.payload[i];
    }
    EXPECT_EQ(reduced(mesh, chain, b, add_u32), expected);
    EXPECT_EQ(reduced(mesh, *star_reduce(mesh, b), b, add_u32), expected);
    EXPECT_EQ(reduced(mesh, *tree_reduce(mesh, b), b, add_u32), expected);
  }
}

TEST(Patterns, ReducesAddFloats) {
  const FabricMesh mesh = row_of(9, 2);
  Traffic traffic = *tree_reduce(mesh, 3);
  for (std::size_t i = 0; i < traffic.payload.size(); ++i) {
    traffic.payload[i] = std::bit_cast<std::uint32_t>(static_cast<float>(i) * 0.5F);
  }
  // Word i of processor p is (3p + i) / 2: their sum over p = 0..8 is (108 + 9i) / 2, exactly.
  const auto sums = reduced(mesh, traffic, 3, add_f32);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::bit_cast<float>(sums[i]), static_cast<float>(108 + 9 * i) / 2.0F);
  }
}

TEST(Patterns, TreeReducesTakeFewerStepsThanChains) {
  // The last of log2(P) steps ends P/2 hops away; each step is a ramp up, hops, a ramp down, an
  // add.
  for (const std::int32_t p : {2, 4, 8, 16, 32}) {
    const FabricMesh mesh = row_of(p, 2);
    const int steps = std::countr_zero(static_cast<unsigned>(p));
    EXPECT_EQ(cycles(mesh, tree_reduce(mesh, 1)), p - 1 + steps * (2 * 2 + 1)) << p;
  }
}

TEST(Patterns, MessagesGoWhereTheyShould) {
  FabricMesh mesh;
  mesh.rows = mesh.cols = 6;
  const Traffic permutation = *random_permutation(mesh, 2, 5);
  std::set<std::int32_t> ends;
  for (const FabricMessage& message : permutation.messages) {
    EXPECT_NE(permutation.destinations_of(message)[0], message.source);
    ends.insert(permutation.destinations_of(message)[0]);
  }
  EXPECT_EQ(ends.size(), 36U);
  EXPECT_EQ(random_permutation(mesh, 2, 5)->destinations, permutation.destinations);
  EXPECT_NE(random_permutation(mesh, 2, 6)->destinations, permutation.destinations);
  EXPECT_EQ(gather_to(mesh, 7, 2)->messages.size(), 35U);
  EXPECT_EQ(broadcast_from(mesh, 7, 2)->destinations.size(), 35U);
  const Traffic transpose = *transpose_mesh(mesh, 2);
  EXPECT_EQ(transpose.messages.size(), 30U);
  for (const FabricMessage& message : transpose.messages) {
    EXPECT_EQ(transpose.destinations_of(message)[0], message.source % 6 * 6 + message.source / 6);
  }
}

TEST(Patterns, RefuseWhatMakesNone) {
  FabricMesh mesh;
  mesh.rows = 2;
  mesh.cols = 1;
  const auto code = [](const auto& result) { return result.error().code; };
  EXPECT_EQ(code(chain_reduce(mesh, 4)), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(transpose_mesh(mesh, 4)), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(gather_to(mesh, 2, 4)), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(gather_to(mesh, -1, 4)), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(broadcast_from(mesh, 0, 0)), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(broadcast_from(mesh, 0, INT64_MAX)), ErrorCode::kTooLarge);
}

std::string page() {
  std::ifstream file("docs/fabric.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The table of docs/fabric.md: published, simulated, difference.
TEST(Patterns, TheTableInTheDocsIsWhatTheSimulatorSays) {
  const std::string text = page();
  ASSERT_FALSE(text.empty());
  const std::pair<std::int32_t, std::int64_t> cases[] = {{2, 4}, {8, 16}, {64, 256}, {512, 32}};
  for (const auto& [p, b] : cases) {
    const FabricMesh mesh = row_of(p, 2);
    const auto cell = [&](std::int64_t published, const Result<Traffic>& traffic) {
      const std::int64_t simulated = cycles(mesh, traffic);
      return cat(published, " | ", simulated, " | ", simulated - published);
    };
    const std::string line =
        cat("| ", p, " | ", b, " | ", cell(chain_cycles(p, b, 2), chain_reduce(mesh, b)), " | ",
            cell(star_cycles(p, b, 2), star_reduce(mesh, b)), " | ",
            cell(broadcast_cycles(p, b, 2), broadcast_row(mesh, b)), " |");
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

/// The table of queue depths in docs/fabric.md.
TEST(Patterns, QueueDepthsInTheDocsAreWhatTheSimulatorSays) {
  FabricMesh mesh;
  mesh.rows = 32;
  mesh.cols = 32;
  const Result<Traffic> permutation = random_permutation(mesh, 64, 1);
  ASSERT_TRUE(permutation.ok());
  std::string line = "| cycles |";
  for (const std::int32_t depth : {1, 2, 4, 8, 16, 32, 64}) {
    SimulateOptions options;
    options.queue_depth = depth;
    line += cat(" ", cycles(mesh, permutation, options), " |");
  }
  EXPECT_NE(page().find(line), std::string::npos) << line;
  const auto run = simulate(mesh, *permutation);
  EXPECT_EQ(*std::max_element(run->links.begin(), run->links.end()), 896);
}

/// What docs/fabric.md states about the order in which sources list their messages.
TEST(Patterns, OrdersInTheDocsAreWhatTheSimulatorSays) {
  FabricMesh mesh;
  mesh.rows = 16;
  mesh.cols = 16;
  const auto all_to_all = [&](bool rotated) {
    Traffic traffic;
    traffic.payload = {1, 2};
    for (std::int32_t from = 0; from < mesh.nodes(); ++from) {
      for (std::int32_t k = 0; k < mesh.nodes(); ++k) {
        const std::int32_t to = rotated ? (from + 1 + k) % mesh.nodes() : k;
        if (to != from) traffic.add(from, {to}, 0, 2);
      }
    }
    return Result<Traffic>(std::move(traffic));
  };
  const std::string text = page();
  for (const bool rotated : {false, true}) {
    const std::string number = cat(" ", cycles(mesh, all_to_all(rotated)));
    EXPECT_NE(text.find(number), std::string::npos) << number;
  }
}

}  // namespace
}  // namespace tessera::fabric
