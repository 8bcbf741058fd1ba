// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/graph.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tessera/graph/builder.h"
#include "tessera/graph/graph_json.h"
#include "tessera/graph/order.h"
#include "tessera/testing/graph/random_graphs.h"

namespace tessera::graph {
namespace {

/// The graph of the essay in graph.h.
Result<Graph> classifier() {
  GraphBuilder builder("classifier");
  TESSERA_TRY(const ValueId x, builder.input("x", {1, 784}));
  TESSERA_TRY(const ValueId w, builder.parameter("w", {784, 10}));
  TESSERA_TRY(const ValueId b, builder.parameter("b", {10}));
  TESSERA_TRY(const ValueId h, builder.add("matmul", {x, w}, {}, "h"));
  TESSERA_TRY(const ValueId y, builder.add("add", {h, b}, {}, "y"));
  TESSERA_TRY(const ValueId p, builder.add("softmax", {y}, {{"axis", -1}}, "p"));
  TESSERA_CHECK_OK(builder.output(p));
  return std::move(builder).finish();
}

TEST(Graph, PrintsOneLinePerValueAndNode) {
  const Result<Graph> graph = classifier();
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_TRUE(check(*graph));
  EXPECT_EQ(to_string(*graph),
            "classifier\n"
            "  x: input f32[1, 784]\n"
            "  w: parameter f32[784, 10]\n"
            "  b: parameter f32[10]\n"
            "  h: f32[1, 10] = matmul(x, w)\n"
            "  y: f32[1, 10] = add(h, b)\n"
            "  p: f32[1, 10] = softmax(y) {axis=-1}\n"
            "  outputs p\n");
}

TEST(Graph, CheckFindsEveryBreachOfTheLaw) {
  const Graph good = *classifier();
  const auto code = [&](const auto& damage) {
    Graph graph = good;
    damage(graph);
    const Status status = check(graph);
    return status ? std::string("ok") : std::string(code_name(status.error().code));
  };
  EXPECT_EQ(code([](Graph&) {}), "ok");
  EXPECT_EQ(code([](Graph& g) { g.values[1].name = ""; }), "bad_graph");
  EXPECT_EQ(code([](Graph& g) { g.values[1].name = "x"; }), "bad_graph");
  EXPECT_EQ(code([](Graph& g) { g.values[3].kind = Kind::kInput; }), "bad_graph");
  EXPECT_EQ(code([](Graph& g) { g.values.push_back({"z"}); }), "bad_graph");
  EXPECT_EQ(code([](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }), "bad_graph");
  EXPECT_EQ(code([](Graph& g) { g.nodes[1].inputs[0] = 99; }), "bad_graph");
  EXPECT_EQ(code([](Graph& g) { g.nodes[1].inputs[0] = kAbsent; }), "bad_node");
  EXPECT_EQ(code([](Graph& g) { g.nodes[1].outputs[0] = 3; }), "bad_graph");
  EXPECT_EQ(code([](Graph& g) { g.outputs[0] = 99; }), "bad_graph");
  EXPECT_EQ(code([](Graph& g) { g.values[4].type.dtype = DType::kF16; }), "shape_mismatch");
  EXPECT_EQ(code([](Graph& g) { g.values[0].data = Data::of_fill("abcd"); }), "contradiction");
  EXPECT_EQ(code([](Graph& g) { g.values[1].data = Data::of_bytes("abcd"); }), "contradiction");
  EXPECT_EQ(code([](Graph& g) { g.values[1].data = Data::of_fill("abc"); }), "contradiction");
  EXPECT_EQ(code([](Graph& g) { g.values[1].data = Data::of_fill("abcd"); }), "ok");
}

TEST(GraphBuilder, RefusesAndStaysAsItWas) {
  GraphBuilder builder;
  const ValueId x = *builder.input("x", {2, 3});
  const Graph before = builder.graph();
  EXPECT_EQ(builder.input("x", {2}).error().code, ErrorCode::kBadGraph);
  EXPECT_EQ(builder.input("y", {-2}).error().code, ErrorCode::kBadShape);
  EXPECT_EQ(builder.input("y", {INT64_MAX / 2}, DType::kF64).error().code, ErrorCode::kOverflow);
  EXPECT_EQ(builder.add("mtmul", {x, x}).error().code, ErrorCode::kUnknownName);
  EXPECT_EQ(builder.add("matmul", {x, x}).error().code, ErrorCode::kShapeMismatch);
  EXPECT_EQ(builder.add("relu", {7}).error().code, ErrorCode::kBadGraph);
  EXPECT_EQ(builder.add("relu", {x}, {}, "x").error().code, ErrorCode::kBadGraph);
  EXPECT_EQ(builder.output(1).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(builder.graph(), before);
}

TEST(GraphBuilder, MakesValidRandomGraphs) {
  std::size_t nodes = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    test::Dice dice(seed);
    const Graph graph = test::random_graph(dice, 12);
    const Status status = check(graph);
    ASSERT_TRUE(status) << seed << ": " << status.error().message;
    nodes += graph.nodes.size();
  }
  EXPECT_GT(nodes, 10000U);
}

TEST(Order, KeepsAnOrderThatRunsAndFindsCycles) {
  Graph graph = *classifier();
  const Graph sorted = graph;
  std::swap(graph.nodes[0], graph.nodes[2]);
  ASSERT_TRUE(sort_nodes(graph));
  EXPECT_EQ(graph, sorted);
  graph.nodes[0].inputs[1] = graph.nodes[2].outputs[0];
  const Result<std::vector<std::size_t>> order = topological_order(graph);
  ASSERT_FALSE(order);
  EXPECT_EQ(order.error().code, ErrorCode::kBadGraph);
  for (const char* name : {"'h'", "'y'", "'p'"}) {
    EXPECT_NE(order.error().message.find(name), std::string::npos) << order.error().message;
  }
}

/// Law: equal graphs have equal hashes; other graphs have others.
TEST(Hash, IsEqualExactlyForEqualGraphs) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    test::Dice dice(seed);
    const Graph graph = test::random_graph(dice, 8);
    EXPECT_EQ(hash(graph), hash(Graph(graph)));
    const Graph other = test::changed(dice, graph);
    EXPECT_NE(hash(graph), hash(other)) << seed << "\n" << to_string(other);
  }
}

/// The hash is part of files that live longer than one build. The number was computed apart from
/// the library, from the words of the graph in the order of hash.cc; whoever changes it makes every
/// hash that is stored somewhere invalid.
TEST(Hash, IsTheSameOnEveryMachine) {
  EXPECT_EQ(hash(*classifier()).to_string(), "ae1c5b0358b72903e326a73d034c4568");
}

/// JSON and ONNX have no other texts.
TEST(Graph, TextsAreUtf8) {
  const std::string bad = "\xC3\x28";
  GraphBuilder builder("g");
  EXPECT_EQ(builder.input(bad, {2}).error().code, ErrorCode::kBadGraph);
  const ValueId x = *builder.input("\xC3\xA9", {2});
  EXPECT_EQ(builder.add("relu", {x}, {}, bad).error().code, ErrorCode::kBadGraph);
  EXPECT_EQ(builder.add("gelu", {x}, {{"approximate", bad}}).error().code, ErrorCode::kBadGraph);
  EXPECT_EQ(builder.parameter("w", {2}, DType::kF32, Data::of_file(bad, 0)).error().code,
            ErrorCode::kBadGraph);
  ASSERT_TRUE(builder.add("resize", {x}, {{"shape", std::vector{2L}}, {"coordinates", "own"}}));
  const Graph good = std::move(builder).finish();
  EXPECT_TRUE(check(good));
  const auto refuses = [&](const auto& change) {
    Graph graph = good;
    change(graph);
    const Status checked = check(graph);
    return !checked && checked.error().code == ErrorCode::kBadGraph;
  };
  EXPECT_TRUE(refuses([&](Graph& graph) { graph.name = bad; }));
  EXPECT_TRUE(refuses([&](Graph& graph) { graph.values[0].name = bad; }));
  EXPECT_TRUE(refuses([&](Graph& graph) { graph.nodes[0].name = bad; }));
  EXPECT_TRUE(refuses([&](Graph& graph) { graph.nodes[0].attributes.set("coordinates", bad); }));
}

}  // namespace
}  // namespace tessera::graph
