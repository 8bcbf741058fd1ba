// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/repeated_layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tessera/graph/builder.h"
#include "tessera/graph/models/models.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/graph/random_graphs.h"

namespace tessera::tools {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

void expect_lawful(const Graph& graph, const FoldedGraph& folded) {
  ASSERT_EQ(folded.stands_for.size(), graph.nodes.size());
  EXPECT_TRUE(std::ranges::is_sorted(folded.shown));
  const std::set<std::size_t> shown(folded.shown.begin(), folded.shown.end());
  std::size_t stood_for = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const std::size_t m = folded.stands_for[n];
    EXPECT_TRUE(shown.contains(m));
    EXPECT_EQ(shown.contains(n), n == m);
    EXPECT_EQ(graph.nodes[n].op, graph.nodes[m].op);
    EXPECT_EQ(graph.nodes[n].attributes, graph.nodes[m].attributes);
    for (std::size_t i = 0; i < graph.nodes[n].outputs.size(); ++i) {
      EXPECT_EQ(graph.values[graph.nodes[n].outputs[i]].type,
                graph.values[graph.nodes[m].outputs[i]].type);
    }
    stood_for += n == m ? 0 : 1;
  }
  std::size_t saved = 0;
  std::set<std::size_t> in_layers;
  for (const RepeatedLayer& layer : folded.layers) {
    EXPECT_GE(layer.times, 2);
    saved += layer.nodes.size() * static_cast<std::size_t>(layer.times - 1);
    for (const std::size_t n : layer.nodes) EXPECT_TRUE(in_layers.insert(n).second);
  }
  EXPECT_EQ(saved, stood_for);
}

TEST(RepeatedLayers, AreThoseOfTransformers) {
  for (const std::string name : {"bert-base", "llama"}) {
    graph::ModelOptions options;
    options.layers = 10;
    const Graph ten = *graph::make_model(name, options);
    options.layers = 11;
    const Graph eleven = *graph::make_model(name, options);
    const FoldedGraph folded = fold_repeated_layers(ten, 1);
    expect_lawful(ten, folded);
    ASSERT_FALSE(folded.layers.empty());
    EXPECT_EQ(folded.layers[0].times, 10) << name;
    // What one more layer adds.
    EXPECT_EQ(folded.layers[0].nodes.size(), eleven.nodes.size() - ten.nodes.size()) << name;
    EXPECT_EQ(fold_repeated_layers(eleven, 1).shown.size(), folded.shown.size()) << name;
  }
}

TEST(RepeatedLayers, NothingFoldsThatReadsDifferently) {
  // Twenty layers x -> tanh(a(x)), where a reads x and what `other` says.
  const auto layers = [](const auto& other) {
    GraphBuilder builder;
    std::vector<ValueId> done = {*builder.input("x", {4})};
    for (int i = 0; i < 20; ++i) {
      const ValueId sum = *builder.add("add", {done.back(), other(builder, done)});
      done.push_back(*builder.add("tanh", {sum}));
    }
    EXPECT_TRUE(builder.output(done.back()));
    const Graph graph = std::move(builder).finish();
    const FoldedGraph folded = fold_repeated_layers(graph, 1);
    expect_lawful(graph, folded);
    return folded.shown.size();
  };
  const auto weight = [](GraphBuilder& builder, const std::vector<ValueId>&) {
    return *builder.parameter(builder.free_name("w"), {4});
  };
  EXPECT_EQ(layers(weight), 2U);
  // The same value from before all layers: the first one reads it twice.
  EXPECT_LE(layers([](GraphBuilder&, const auto& done) { return done.front(); }), 4U);
  // Each reads what is half as far back: no two read alike but by accident.
  EXPECT_GE(layers([](GraphBuilder&, const auto& done) { return done[done.size() / 2]; }), 8U);
}

TEST(RepeatedLayers, OneNodeMayRepeat) {
  GraphBuilder builder;
  ValueId v = *builder.input("x", {4});
  for (int i = 0; i < 1000; ++i) v = *builder.add("relu", {v});
  ASSERT_TRUE(builder.output(v));
  const Graph graph = std::move(builder).finish();
  const FoldedGraph folded = fold_repeated_layers(graph, 1);
  expect_lawful(graph, folded);
  EXPECT_EQ(folded.shown.size(), 1U);
  // Enough is enough.
  EXPECT_EQ(fold_repeated_layers(graph, 1000).shown.size(), 1000U);
}

TEST(RepeatedLayers, KeepTheirLawOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    test::Dice dice(seed);
    const Graph graph = test::random_graph(dice, 30);
    expect_lawful(graph, fold_repeated_layers(graph, 1));
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace tessera::tools
