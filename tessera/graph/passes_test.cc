// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "tessera/graph/builder.h"
#include "tessera/graph/passes/dead_code.h"
#include "tessera/graph/passes/rewrite.h"
#include "tessera/testing/graph/naive_eval.h"
#include "tessera/testing/graph/random_graphs.h"
#include "tessera/testing/graph/random_run.h"

namespace tessera::graph {
namespace {

/// Law of every pass: the result is a valid graph, and for random inputs its outputs have the same
/// elements, bit by bit: these passes change what is computed, not how.
TEST(Passes, KeepTheResults) {
  int evaluated = 0;
  int smaller = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    test::Dice dice(seed);
    Graph graph = test::random_graph(dice, 12);
    const auto inputs = test::random_inputs(dice, graph);
    const auto before = test::naive_evaluate(graph, inputs);
    if (!before) continue;
    ++evaluated;
    for (const auto& pass : {+[](const Graph& g) { return without_dead_code(g); },
                             +[](const Graph& g) { return with_folded_constants(g); },
                             +[](const Graph& g) { return without_repeated_nodes(g); }}) {
      const Graph after = pass(graph);
      const Status status = check(after);
      ASSERT_TRUE(status) << seed << ": " << status.error().message << "\n" << to_string(after);
      const auto results = test::naive_evaluate(after, inputs);
      ASSERT_TRUE(results) << seed;
      ASSERT_EQ(results->size(), before->size());
      for (std::size_t i = 0; i < results->size(); ++i) {
        ASSERT_TRUE(test::is_equal((*results)[i], (*before)[i]))
            << seed << "\n"
            << to_string(graph) << to_string(after);
      }
      EXPECT_EQ(pass(after), after) << seed;
      smaller += after.nodes.size() < graph.nodes.size() ? 1 : 0;
    }
  }
  EXPECT_GT(evaluated, 1500);
  EXPECT_GT(smaller, 500);
}

TEST(Passes, JoinEqualNodesThroughChains) {
  GraphBuilder builder;
  const ValueId x = *builder.input("x", {2, 3});
  std::vector<ValueId> ends;
  for (int i = 0; i < 2; ++i) {
    const ValueId y = *builder.add("relu", {x});
    ends.push_back(*builder.add("reduce_sum", {y}, {{"axes", std::vector<std::int64_t>{1}}}));
  }
  const ValueId other = *builder.add("reduce_sum", {x}, {{"axes", std::vector<std::int64_t>{0}}});
  for (const ValueId v : {ends[0], ends[1], other}) ASSERT_TRUE(builder.output(v));
  const Graph joined = without_repeated_nodes(builder.graph());
  EXPECT_EQ(joined.nodes.size(), 3U);
  EXPECT_EQ(joined.outputs[0], joined.outputs[1]);
  EXPECT_NE(joined.outputs[0], joined.outputs[2]);
}

}  // namespace
}  // namespace tessera::graph
