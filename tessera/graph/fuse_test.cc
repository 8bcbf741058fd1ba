// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/passes/fuse.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tessera/graph/builder.h"
#include "tessera/graph/models/models.h"
#include "tessera/graph/passes/decompose.h"
#include "tessera/testing/graph/naive_eval.h"
#include "tessera/testing/graph/random_graphs.h"
#include "tessera/testing/graph/random_run.h"

namespace tessera::graph {
namespace {

using Nodes = std::vector<std::size_t>;

/// The law of groups, from their definition: what they read and write, that they cover every node
/// once, that each has one kind, and that they can run in their order.
void judge(const Graph& graph, const std::vector<Group>& groups) {
  std::set<ValueId> ready;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].kind != Kind::kComputed) ready.insert(static_cast<ValueId>(v));
  }
  std::vector<int> uses(graph.nodes.size(), 0);
  for (const Group& group : groups) {
    ASSERT_FALSE(group.nodes.empty());
    std::set<ValueId> inside;
    std::set<ValueId> reads;
    std::map<Family, int> families;
    for (const std::size_t n : group.nodes) {
      const Node& node = graph.nodes[n];
      ++uses[n];
      ++families[node.op.rule().family];
      for (const ValueId v : node.inputs) {
        if (v != kAbsent && !inside.contains(v)) reads.insert(v);
      }
      inside.insert(node.outputs.begin(), node.outputs.end());
    }
    EXPECT_EQ(std::set(group.inputs.begin(), group.inputs.end()), reads);
    EXPECT_EQ(group.inputs.size(), reads.size());
    for (const ValueId v : reads) EXPECT_TRUE(ready.contains(v)) << graph.values[v].name;

    const auto elementwise = static_cast<std::size_t>(families[Family::kElementwise]);
    switch (group.kind) {
      case GroupKind::kElementwise:
        EXPECT_EQ(elementwise, group.nodes.size());
        break;
      case GroupKind::kContraction:
        EXPECT_EQ(elementwise + 1, group.nodes.size());
        EXPECT_EQ(families[Family::kContraction] + families[Family::kWindow], 1);
        break;
      case GroupKind::kOther:
        EXPECT_EQ(group.nodes.size(), 1U);
    }
    // Nothing else needs what stays inside.
    const std::set<std::size_t> mine(group.nodes.begin(), group.nodes.end());
    const std::set<ValueId> written(group.outputs.begin(), group.outputs.end());
    for (const ValueId v : written) EXPECT_TRUE(inside.contains(v));
    for (const ValueId v : graph.outputs) EXPECT_TRUE(!inside.contains(v) || written.contains(v));
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (mine.contains(n)) continue;
      for (const ValueId v : graph.nodes[n].inputs) {
        EXPECT_TRUE(!inside.contains(v) || written.contains(v));
      }
    }
    ready.insert(written.begin(), written.end());
  }
  for (const int count : uses) EXPECT_EQ(count, 1);
}

/// No path leaves a group and enters it again, by a search from every node.
void judge_paths(const Graph& graph, const std::vector<Group>& groups) {
  const std::size_t count = graph.nodes.size();
  std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count, false));
  for (std::size_t a = count; a-- > 0;) {
    for (std::size_t b = a + 1; b < count; ++b) {
      for (const ValueId v : graph.nodes[a].outputs) {
        for (const ValueId w : graph.nodes[b].inputs) {
          if (v != w) continue;
          reaches[a][b] = true;
          for (std::size_t c = b; c < count; ++c) {
            if (reaches[b][c]) reaches[a][c] = true;
          }
        }
      }
    }
  }
  for (const Group& group : groups) {
    const std::set<std::size_t> mine(group.nodes.begin(), group.nodes.end());
    for (const std::size_t a : mine) {
      for (const std::size_t b : mine) {
        for (std::size_t between = 0; between < count; ++between) {
          EXPECT_TRUE(mine.contains(between) || !reaches[a][between] || !reaches[between][b]);
        }
      }
    }
  }
}

/// Law: groups that run one after the other, each as a graph of its own, give the graph's results.
TEST(Fuse, KeepsTheResults) {
  int evaluated = 0;
  int fused = 0;
  int epilogues = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    test::Dice dice(seed);
    Graph graph = test::random_graph(dice, 16);
    const auto inputs = test::random_inputs(dice, graph);
    const std::vector<Group> groups = fuse(graph);
    judge(graph, groups);
    judge_paths(graph, groups);
    ASSERT_FALSE(HasFailure()) << seed << "\n" << to_string(graph);
    const auto expected = test::naive_evaluate(graph, inputs);
    if (!expected) continue;
    ++evaluated;
    std::map<std::string, test::NaiveTensor> known = inputs;
    for (const Group& group : groups) {
      const Graph part = graph_of(graph, group);
      const Status status = check(part);
      ASSERT_TRUE(status) << seed << ": " << status.error().message << "\n" << to_string(part);
      const auto results = test::naive_evaluate(part, known);
      ASSERT_TRUE(results) << seed << "\n" << to_string(part);
      for (std::size_t i = 0; i < group.outputs.size(); ++i) {
        known[graph.values[group.outputs[i]].name] = (*results)[i];
      }
      fused += group.nodes.size() > 1 ? 1 : 0;
      epilogues += group.nodes.size() > 1 && group.kind == GroupKind::kContraction ? 1 : 0;
    }
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const Value& value = graph.values[graph.outputs[i]];
      if (value.kind != Kind::kComputed) continue;
      ASSERT_TRUE(test::is_equal(known.at(value.name), (*expected)[i])) << seed << "\n"
                                                                        << to_string(graph);
    }
  }
  EXPECT_GT(evaluated, 1500);
  EXPECT_GT(fused, 500);
  EXPECT_GT(epilogues, 50);
}

/// The example of fuse.h.
TEST(Fuse, FindsTheGroupsOfTheExample) {
  GraphBuilder builder;
  const ValueId x = *builder.input("x", {3, 4});
  const ValueId w = *builder.parameter("w", {4, 5});
  const ValueId b = *builder.parameter("b", {5});
  const ValueId h = *builder.add("matmul", {x, w});
  const ValueId z = *builder.add("gelu", {*builder.add("add", {h, b})});
  const ValueId s = *builder.add("reduce_sum", {z});
  const ValueId t = *builder.add("exp", {s});
  const ValueId u = *builder.add("add", {t, t});
  ASSERT_TRUE(builder.output(u));
  EXPECT_EQ(fuse(builder.graph()),
            (std::vector<Group>{{GroupKind::kContraction, {0, 1, 2}, {x, w, b}, {z}},
                                {GroupKind::kOther, {3}, {z}, {s}},
                                {GroupKind::kElementwise, {4, 5}, {s}, {u}}}));
}

/// What has to be stored: outputs of the graph, values of another shape than the root's, values
/// that a product reads whole, and the second product of a group.
TEST(Fuse, LeavesWhatHasToBeStored) {
  GraphBuilder builder;
  const ValueId x = *builder.input("x", {4, 4});
  const ValueId row = *builder.add("relu", {*builder.input("row", {4})});
  const ValueId left = *builder.add("relu", {x});
  const ValueId product = *builder.add("matmul", {left, x});
  const ValueId sum = *builder.add("add", {product, left});
  const ValueId second = *builder.add("gemm", {x, x});
  const ValueId both = *builder.add("add", {sum, second});
  const ValueId last = *builder.add("mul", {both, row});
  const auto nodes = [&] {
    std::vector<Nodes> lists;
    for (const Group& group : fuse(builder.graph())) lists.push_back(group.nodes);
    return lists;
  };
  ASSERT_TRUE(builder.output(last));
  EXPECT_EQ(nodes(), (std::vector<Nodes>{{0}, {1}, {2}, {3, 4, 5, 6}}));
  ASSERT_TRUE(builder.output(sum));
  EXPECT_EQ(nodes(), (std::vector<Nodes>{{0}, {1}, {2, 3}, {4, 5, 6}}));
}

TEST(Fuse, GroupsModels) {
  // Three layers, each a product, a bias and a relu.
  const Graph mlp = *make_model("mlp", {});
  EXPECT_EQ(fuse(mlp).size(), 3U);
  const std::vector<std::string> norms = {"batch_norm", "group_norm"};
  for (const std::string_view name : model_names()) {
    // Convolutions are followed by norms, which are groups of their own until they are decomposed.
    const Graph graph = *with_decomposed_ops(*make_model(name, {}), norms);
    const std::vector<Group> groups = fuse(graph);
    judge(graph, groups);
    EXPECT_LT(groups.size(), graph.nodes.size()) << name;
    for (const Group& group : groups) EXPECT_TRUE(check(graph_of(graph, group))) << name;
  }
}

}  // namespace
}  // namespace tessera::graph
