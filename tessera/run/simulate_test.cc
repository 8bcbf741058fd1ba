// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tessera/testing/graph/random_graphs.h"
#include "tessera/testing/graph/random_run.h"
#include "tessera/testing/run/run_law.h"

namespace tessera::run {
namespace {

using test::Dice;

/// Errors of predicted cycles, of the sum of the moves of each graph.
struct Errors {
  std::vector<double> sizes = {};
  std::int64_t moves = 0;
  std::int64_t simulated = 0;

  double quantile(double part) {
    std::ranges::sort(sizes);
    return sizes[static_cast<std::size_t>(part * static_cast<double>(sizes.size() - 1))];
  }
};

void add_graph(const Machine& machine, const std::vector<std::int64_t>& mesh, std::uint64_t seed,
               Errors& errors) {
  Dice dice(seed * 433 + 17);
  const graph::Graph graph = test::random_graph(dice, 12);
  std::vector<Layout> layouts = test::random_layouts(dice, graph, *Shape::make(mesh));
  for (Layout& layout : layouts) {
    if (machine.find_space(layout.spec().space) != nullptr) continue;
    LayoutSpec spec = layout.spec();
    spec.space.clear();
    layout = *Layout::make(std::move(spec));
  }
  const Result<Execution> made = compile(graph, machine, layouts);
  if (!made) return;
  const Result<moves::MoveModel> model = moves::MoveModel::make(machine);
  ASSERT_TRUE(model);
  double predicted = 0;
  double simulated = 0;
  for (const Step& step : made->steps) {
    for (const std::vector<Move>* moves : {&step.bring, &step.settle, &step.deliver}) {
      for (const Move& move : *moves) {
        const auto sides = sides_of(*made, move);
        ASSERT_TRUE(sides);
        const auto one = simulate_move(*model, made->mesh, sides->first, sides->second);
        if (!one || !one->crosses) continue;
        ++errors.moves;
        if (!one->simulated) continue;
        ++errors.simulated;
        predicted += one->predicted;
        simulated += one->cycles;
      }
    }
  }
  if (simulated > 0) errors.sizes.push_back(std::fabs(predicted - simulated) / simulated);
}

/// How far predictions are from the simulated network, of the sum of the moves of random graphs.
TEST(Simulate, PredictionsAreNear) {
  struct Case {
    std::string machine;
    std::vector<std::int64_t> mesh;
    double median = 0;
    double most = 0;
  };
  const std::vector<Case> cases = {
      {"wse2", {8, 8}, 0.03, 0.2}, {"wse2", {3, 5}, 0.03, 0.2}, {"wormhole", {8, 8}, 0.03, 0.2}};
  for (const Case& each : cases) {
    const Machine& machine = **find_machine(each.machine);
    Errors errors;
    for (std::uint64_t seed = 0; seed < test::tries(100); ++seed) {
      add_graph(machine, each.mesh, seed, errors);
    }
    ASSERT_GT(errors.sizes.size(), 10U);
    const double median = errors.quantile(0.5);
    const double ninety = errors.quantile(0.9);
    const double most = errors.sizes.back();
    std::printf(
        "%s %lldx%lld: %zu graphs, %lld of %lld moves, median %.1f %%, 90 %% %.1f, most %.1f\n",
        each.machine.c_str(), static_cast<long long>(each.mesh[0]),
        static_cast<long long>(each.mesh[1]), errors.sizes.size(),
        static_cast<long long>(errors.simulated), static_cast<long long>(errors.moves),
        100 * median, 100 * ninety, 100 * most);
    EXPECT_LE(median, each.median) << each.machine;
    EXPECT_LE(most, each.most) << each.machine;
  }
}

}  // namespace
}  // namespace tessera::run
