// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/passes/fuse.h"

#include <gtest/gtest.h>

#include <cmath>
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
    int views = 0;
    for (const std::size_t n : group.nodes) {
      const Node& node = graph.nodes[n];
      ++uses[n];
      ++families[node.op.rule().family];
      views += node.op.rule().is_view ? 1 : 0;
      for (const ValueId v : node.inputs) {
        if (v != kAbsent && !inside.contains(v)) reads.insert(v);
      }
      inside.insert(node.outputs.begin(), node.outputs.end());
    }
    EXPECT_EQ(std::set(group.inputs.begin(), group.inputs.end()), reads);
    EXPECT_EQ(group.inputs.size(), reads.size());
    for (const ValueId v : reads) EXPECT_TRUE(ready.contains(v)) << graph.values[v].name;

    const int pointwise = families[Family::kElementwise] + views;
    const int contractions = families[Family::kContraction] + families[Family::kWindow];
    const int count = static_cast<int>(group.nodes.size());
    switch (group.kind) {
      case GroupKind::kView:
        EXPECT_EQ(views, count);
        break;
      case GroupKind::kElementwise:
        EXPECT_EQ(pointwise, count);
        EXPECT_LT(views, count);
        break;
      case GroupKind::kContraction:
        EXPECT_EQ(pointwise + 1, count);
        EXPECT_EQ(contractions, 1);
        break;
      case GroupKind::kOther:
        EXPECT_EQ(count, 1);
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

/// Element e of a value that stays inside a group reaches element e of the root alone: with another
/// number there, only that element of what the group writes may change. False where the group has
/// nothing inside.
bool judge_order(test::Dice& dice, const Graph& graph, const Group& group,
                 std::map<std::string, test::NaiveTensor> known) {
  if (group.nodes.size() < 2 || group.kind == GroupKind::kOther) return false;
  // The group behind one of its nodes, whose output becomes an input.
  const auto from = static_cast<std::size_t>(dice.below(std::ssize(group.nodes) - 1));
  const ValueId v = graph.nodes[group.nodes[from]].outputs[0];
  Graph whole = graph_of(graph, group);
  whole.outputs.clear();
  for (std::size_t i = 0; i < whole.values.size(); ++i) {
    const std::string& name = whole.values[i].name;
    if (name == graph.values[v].name || name == graph.values[group.outputs[0]].name) {
      whole.outputs.push_back(static_cast<ValueId>(i));
    }
  }
  const auto results = test::naive_evaluate(whole, known);
  if (!results || results->size() != 2 || (*results)[0].elements.empty()) return false;
  const ValueId inside = whole.outputs[0];
  whole.values[inside].kind = Kind::kInput;
  std::erase_if(whole.nodes, [&](const Node& node) { return node.outputs[0] == inside; });
  test::NaiveTensor changed = (*results)[0];
  const auto e = static_cast<std::size_t>(dice.below(std::ssize(changed.elements)));
  changed.elements[e] = changed.elements[e] == 0 ? 1 : 0;
  known[whole.values[inside].name] = changed;
  const auto after = test::naive_evaluate(whole, known);
  EXPECT_TRUE(after);
  if (!after) return false;
  const test::NaiveTensor& old_root = (*results)[1];
  const test::NaiveTensor& new_root = (*after)[1];
  EXPECT_EQ(new_root.elements.size(), changed.elements.size());
  for (std::size_t i = 0; i < new_root.elements.size(); ++i) {
    const long double x = old_root.elements[i];
    const long double y = new_root.elements[i];
    EXPECT_TRUE(i == e || x == y || (std::isnan(x) && std::isnan(y))) << i << " and " << e;
  }
  return true;
}

/// Law: groups that run one after the other, each as a graph of its own, give the graph's results.
TEST(Fuse, KeepsTheResults) {
  int evaluated = 0;
  int fused = 0;
  int epilogues = 0;
  int reshaped = 0;
  int changed = 0;
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
      changed += judge_order(dice, graph, group, known) ? 1 : 0;
      ASSERT_FALSE(HasFailure()) << seed << "\n" << to_string(graph);
      const auto results = test::naive_evaluate(part, known);
      ASSERT_TRUE(results) << seed << "\n" << to_string(part);
      for (std::size_t i = 0; i < group.outputs.size(); ++i) {
        known[graph.values[group.outputs[i]].name] = (*results)[i];
      }
      fused += group.nodes.size() > 1 ? 1 : 0;
      for (const std::size_t n : group.nodes) {
        const bool is_inside = group.nodes.size() > 1 && group.kind != GroupKind::kView;
        reshaped += is_inside && graph.nodes[n].op.is("reshape") ? 1 : 0;
      }
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
  EXPECT_GT(reshaped, 100);
  EXPECT_GT(changed, 400);
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

/// Through views: a bias and an activation behind the reshape of a product, and the identity that
/// an importer leaves. A reshape whose elements are also read elsewhere is a view of its own.
TEST(Fuse, LooksThroughViews) {
  GraphBuilder builder;
  const ValueId x = *builder.input("x", {6, 4});
  const ValueId w = *builder.parameter("w", {4, 5});
  const ValueId b = *builder.parameter("b", {5});
  const ValueId h = *builder.add("matmul", {x, w});
  const ValueId rows =
      *builder.add("reshape", {h}, {{"shape", std::vector<std::int64_t>{2, 3, 5}}});
  const ValueId y = *builder.add("relu", {*builder.add("add", {rows, b})});
  const ValueId same = *builder.add("dropout", {*builder.add("identity", {y})});
  const ValueId s = *builder.add("softmax", {same});
  const ValueId flat = *builder.add("flatten", {s});
  ASSERT_TRUE(builder.output(*builder.add("squeeze", {flat})));
  EXPECT_EQ(fuse(builder.graph()),
            (std::vector<Group>{{GroupKind::kContraction, {0, 1, 2, 3, 4, 5}, {x, w, b}, {same}},
                                {GroupKind::kOther, {6}, {same}, {s}},
                                {GroupKind::kView, {7, 8}, {s}, builder.graph().outputs}}));
  ASSERT_TRUE(builder.output(h));
  EXPECT_EQ(fuse(builder.graph())[1].kind, GroupKind::kElementwise);
  EXPECT_EQ(fuse(builder.graph())[1].nodes, (Nodes{1, 2, 3, 4, 5}));
}

/// What has to be stored: outputs of the graph, values of another size than the root's, values
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
