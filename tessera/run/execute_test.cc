// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/execute.h"

#include <gtest/gtest.h>

#include "tessera/testing/graph/random_graphs.h"
#include "tessera/testing/graph/random_run.h"
#include "tessera/testing/run/run_law.h"

namespace tessera::run {
namespace {

using test::Dice;
using test::OpCase;

TEST(Execute, EveryOpUnderRandomLayouts) {
  const std::vector<std::vector<std::int64_t>> meshes = {{1, 1}, {2, 3}, {4, 4}};
  for (const std::string_view op : test::ops_with_loops()) {
    for (std::uint64_t seed = 0; seed < test::tries(12); ++seed) {
      Dice dice(seed * 919 + 3);
      const OpCase made = test::random_call(dice, op);
      const test::OneNode one = test::graph_of(made);
      const std::string wrong =
          test::run_law(dice, one.graph, one.inputs, meshes[seed % meshes.size()]);
      EXPECT_EQ(wrong, "") << made.text() << " seed " << seed;
      if (!wrong.empty()) break;
    }
  }
}

TEST(Execute, RandomGraphsUnderRandomLayouts) {
  const std::vector<std::vector<std::int64_t>> meshes = {{1, 1}, {2, 3}, {4, 4}};
  int evaluated = 0;
  for (std::uint64_t seed = 0; seed < test::tries(150); ++seed) {
    Dice dice(seed * 271 + 11);
    graph::Graph graph = test::random_graph(dice, 12);
    const auto inputs = test::random_inputs(dice, graph);
    if (!test::naive_evaluate(graph, inputs)) continue;
    ++evaluated;
    const std::string wrong = test::run_law(dice, graph, inputs, meshes[seed % meshes.size()]);
    EXPECT_EQ(wrong, "") << graph::to_string(graph) << " seed " << seed;
    if (!wrong.empty()) break;
  }
  EXPECT_GE(evaluated, test::tries(100) / 2);
}

}  // namespace
}  // namespace tessera::run
