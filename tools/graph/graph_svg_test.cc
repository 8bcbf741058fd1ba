// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/graph_svg.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/builder.h"
#include "tessera/graph/models/models.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/graph/random_graphs.h"
#include "tools/testing/xml_testing.h"

namespace tessera::tools {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

std::set<std::string> ids_of(const Graph& graph) {
  std::set<std::string> ids;
  const std::string svg = graph_svg(graph);
  EXPECT_EQ(xml_mistake(svg, ids), "") << svg;
  EXPECT_EQ(graph_svg(graph), svg);
  return ids;
}

/// Every input, node and output has a box, and every value that is computed or an input has a line
/// to each of its readers; there are no others.
TEST(GraphSvg, HasEveryBoxAndLine) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::Dice dice(seed);
    const Graph graph = test::random_graph(dice, 20);  // too small to be folded
    std::set<std::string> expected;
    std::map<ValueId, std::string> boxes;
    for (const ValueId v : graph.of_kind(graph::Kind::kInput)) boxes[v] = cat("input", v);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const ValueId v : graph.nodes[n].outputs) boxes[v] = cat("node", n);
    }
    for (const auto& [v, id] : boxes) expected.insert(id);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      expected.insert(cat("node", n));
      for (const ValueId v : graph.nodes[n].inputs) {
        if (boxes.contains(v)) expected.insert(cat("line-", boxes[v], "-node", n));
      }
    }
    for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
      expected.insert(cat("output", k));
      if (boxes.contains(graph.outputs[k])) {
        expected.insert(cat("line-", boxes[graph.outputs[k]], "-output", k));
      }
    }
    EXPECT_EQ(ids_of(graph), expected) << "seed " << seed;
  }
}

TEST(GraphSvg, EscapesAndShortensHostileNames) {
  const std::string hostile = "</text><script>alert(\"&amp;\")</script>\x01\n";
  std::string letters;
  for (int i = 0; i < 100000; ++i) letters += "\xC3\xA9";
  GraphBuilder builder(hostile);
  const ValueId x = *builder.input(hostile, {2});
  const ValueId w = *builder.parameter(letters, {2});
  const ValueId y = *builder.add("add", {x, w}, {}, hostile + "2");
  ASSERT_TRUE(builder.output(y));
  Graph graph = std::move(builder).finish();
  graph.nodes[0].name += '\xFF';  // what `check` would refuse
  const std::string svg = graph_svg(graph);
  EXPECT_EQ(ids_of(graph).size(), 5U);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_EQ(svg.find('\x01'), std::string::npos);
  EXPECT_EQ(svg.find('\xFF'), std::string::npos);
  EXPECT_LT(svg.size(), 8000U);
}

TEST(GraphSvg, DrawsRepeatedLayersOnce) {
  const auto size = [](std::int64_t layers) {
    const Graph graph = *graph::make_model("llama", {.layers = layers, .past = 4});
    const std::set<std::string> ids = ids_of(graph);
    const std::string svg = graph_svg(graph);
    EXPECT_NE(svg.find(cat(" ", layers, " times")), std::string::npos);
    EXPECT_NE(svg.find(cat(graph.nodes.size(), " nodes")), std::string::npos);
    return ids.size();
  };
  const std::size_t four = size(4);
  EXPECT_EQ(size(5), four);
  EXPECT_EQ(size(32), four);
}

/// A graph that is too large and does not repeat: the drawing stays small and says what it has.
TEST(GraphSvg, BoundsLargeGraphs) {
  test::Dice dice(1);
  GraphBuilder builder("large");
  std::vector<ValueId> values = {*builder.input("x", {4})};
  for (int i = 0; i < 3000; ++i) {
    const auto any = [&] {
      return values[static_cast<std::size_t>(dice.below(std::ssize(values)))];
    };
    values.push_back(*builder.add(dice.chance(50) ? "add" : "mul", {any(), any()}));
  }
  for (const ValueId v : values) ASSERT_TRUE(builder.output(v));
  const Graph graph = std::move(builder).finish();
  std::size_t nodes = 0;
  for (const std::string& id : ids_of(graph)) nodes += id.starts_with("node") ? 1 : 0;
  EXPECT_LE(nodes, kMostDrawnNodes);
  EXPECT_GE(nodes, kMostDrawnNodes / 2);
  const std::string svg = graph_svg(graph);
  EXPECT_NE(svg.find(cat("first ", nodes)), std::string::npos);
  EXPECT_NE(svg.find("3000 nodes"), std::string::npos);
  EXPECT_LT(svg.size(), 5'000'000U);
}

TEST(GraphSvg, DrawsEmptyGraphs) {
  EXPECT_EQ(ids_of(Graph()).size(), 0U);
  GraphBuilder builder;
  ASSERT_TRUE(builder.output(*builder.input("x", {})));
  EXPECT_EQ(ids_of(std::move(builder).finish()),
            (std::set<std::string>{"input0", "line-input0-output0", "output0"}));
}

}  // namespace
}  // namespace tessera::tools
