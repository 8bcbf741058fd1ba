// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/graph_json.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tessera/graph/base64.h"
#include "tessera/graph/builder.h"
#include "tessera/graph/graph.h"
#include "tessera/testing/graph/random_graphs.h"

namespace tessera::graph {
namespace {

/// RFC 4648, section 10.
TEST(Base64, HasTheVectorsOfTheStandard) {
  const std::vector<std::pair<std::string, std::string>> vectors = {{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"fooba", "Zm9vYmE="},
                                                                    {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  for (const char* wrong : {"Zg=", "Zg", "Zh==", "Zm9=", "Zg==Zg==", "Z===", "Zm9 "}) {
    EXPECT_FALSE(from_base64(wrong)) << wrong;
  }
}

TEST(GraphJson, ReadsNodesInAnyOrderWithoutTypesOfComputedValues) {
  const std::string text = R"({
    "tessera_graph": 1, "name": "mlp", "outputs": ["y"],
    "nodes": [
      {"op": "add", "inputs": ["h", "b"], "outputs": ["y"]},
      {"attributes": {"alpha": 1}, "name": "fc", "op": "gemm", "inputs": ["x", "w", null], "outputs": ["h"]}],
    "values": [
      {"name": "x", "kind": "input", "dtype": "f32", "shape": [2, 3]},
      {"name": "w", "kind": "parameter", "dtype": "f32", "shape": [3, 2], "data": {"numbers": [1, 2, 3.5, 4, 5, 6]}},
      {"name": "b", "kind": "constant", "dtype": "f32", "shape": [2], "data": {"fill": 0.5}}]})";
  const Result<Graph> graph = parse_graph(text);
  ASSERT_TRUE(graph) << render(graph.error(), text);
  EXPECT_EQ(
      to_string(*graph),
      "mlp\n  x: input f32[2, 3]\n  w: parameter f32[3, 2]\n  b: constant f32[2]\n"
      "  h: f32[2, 2] = gemm(x, w, -) {alpha=1.0}\n  y: f32[2, 2] = add(h, b)\n  outputs y\n");
  EXPECT_EQ(reals_of(graph->values[1].data, graph->values[1].type.shape, DType::kF32, 6),
            (std::vector<double>{1, 2, 3.5, 4, 5, 6}));
}

/// Law: what is printed reads back as the same graph, with the same hash.
TEST(GraphJson, RoundTripsRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    test::Dice dice(seed);
    const Graph graph = test::random_graph(dice, 10);
    const std::string text = to_json(graph);
    const Result<Graph> back = parse_graph(text);
    ASSERT_TRUE(back) << seed << ": " << render(back.error(), text) << text;
    ASSERT_EQ(*back, graph) << text;
    ASSERT_EQ(hash(*back), hash(graph));
  }
}

TEST(GraphJson, RoundTripsNumbersThatJsonHasNot) {
  GraphBuilder builder;
  const std::string nan("\0\0\xc0\x7f", 4);
  const ValueId a = *builder.constant("a", {1}, DType::kF32, Data::of_bytes(nan));
  const ValueId b = *builder.constant("b", {5}, DType::kF32, Data::of_fill(nan));
  const ValueId c = *builder.constant("c", {2}, DType::kBF16, Data::of_bytes("abcd"));
  const ValueId d =
      *builder.constant("d", {1}, DType::kU64, Data::of_bytes(std::string(8, '\xff')));
  const ValueId e = *builder.add("elu", {a}, {{"alpha", -INFINITY}});
  const ValueId f = *builder.constant("f\n\"\xc3\xa4", {1}, DType::kF64,
                                      Data::of_bytes({"\0\0\0\0\0\0\0\x80", 8}));
  for (const ValueId v : {a, b, c, d, e, f}) ASSERT_TRUE(builder.output(v));
  const Graph graph = std::move(builder).finish();
  const Result<Graph> back = parse_graph(to_json(graph));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, graph);
}

TEST(GraphJson, ErrorsPointAtTheText) {
  struct Case {
    std::string values, nodes;
    ErrorCode code;
    std::string at;             ///< the text of the span
    std::string named;          ///< in the message
    std::string one_type = {};  ///< as well, in a conflict of types
    std::string other_type = {};
  };
  const std::string x = R"({"name":"x","kind":"input","dtype":"f32","shape":[2,3]})";
  const std::vector<Case> cases = {
      {x, R"({"op":"relu","inputs":["z"],"outputs":["y"]})", ErrorCode::kBadGraph, "\"z\"", "'z'"},
      {x, R"({"op":"relu","name":"r","inputs":["z"],"outputs":["y"]})", ErrorCode::kBadGraph,
       "\"z\"", "'r'"},
      {x, R"({"op":"rleu","inputs":["x"],"outputs":["y"]})", ErrorCode::kUnknownName, "\"rleu\"",
       "'rleu'"},
      {x + R"(,{"name":"z","kind":"input","dtype":"f32","shape":[4,5]})",
       R"({"op":"matmul","name":"m","inputs":["x","z"],"outputs":["y"]})",
       ErrorCode::kShapeMismatch,
       R"({"op":"matmul","name":"m","inputs":["x","z"],"outputs":["y"]})", "'m'", "f32[2, 3]",
       "f32[4, 5]"},
      {x + "," + x, R"({"op":"relu","inputs":["x"],"outputs":["y"]})", ErrorCode::kBadGraph,
       "\"x\"", "'x'"},
      {x + R"(,{"name":"y","dtype":"f32","shape":[2,4]})",
       R"({"op":"relu","inputs":["x"],"outputs":["y"]})", ErrorCode::kShapeMismatch, "\"y\"", "'y'",
       "f32[2, 3]", "f32[2, 4]"},
      {x, R"({"op":"relu","inputs":["y"],"outputs":["y"]})", ErrorCode::kBadGraph,
       R"({"op":"relu","inputs":["y"],"outputs":["y"]})", "cycle"},
      {x,
       R"({"op":"relu","inputs":["x"],"outputs":["y"]},)"
       R"({"op":"tanh","name":"t","inputs":["x"],"outputs":["y"]})",
       ErrorCode::kBadGraph, R"({"op":"tanh","name":"t","inputs":["x"],"outputs":["y"]})", "'t'"},
      {R"({"name":"x","kind":"constant","dtype":"f32","shape":[2],"data":{"fill":1,"offset":8}})",
       "", ErrorCode::kSyntax, R"({"fill":1,"offset":8})", "offset"},
      {R"({"name":"x","kind":"inptu","dtype":"f32","shape":[2]})", "", ErrorCode::kUnknownName,
       "\"inptu\"", "inptu"},
      {R"({"name":"x","kind":"input","dtype":"f33","shape":[2]})", "", ErrorCode::kBadDType,
       "\"f33\"", "f33"},
      {R"({"name":"x","kind":"input","dtype":"f32","shape":[-2]})", "", ErrorCode::kBadShape,
       "[-2]", "-2"},
      {R"({"name":"x","kind":"input","dtype":"f32","shape":[2],"shape":[2]})", "",
       ErrorCode::kContradiction, "\"shape\"", "shape"},
      {R"({"name":"x","kind":"input","dtype":"f32","shap":[2]})", "", ErrorCode::kUnknownName,
       "\"shap\"", "shap"},
      {R"({"name":"x","kind":"constant","dtype":"i64","shape":[2],"data":{"numbers":[1.5,2]}})", "",
       ErrorCode::kBadDType, R"({"numbers":[1.5,2]})", "i64[2]"},
      {x, R"({"op":"softmax","inputs":["x"],"outputs":["y"],"attributes":{"axis":"one"}})",
       ErrorCode::kSyntax, "\"one\"", ""},
      {x, R"({"op":"opaque","inputs":["x"],"outputs":["y"]})", ErrorCode::kBadNode,
       R"({"op":"opaque","inputs":["x"],"outputs":["y"]})", "'y'"},
  };
  for (const Case& c : cases) {
    const std::string text =
        R"({"tessera_graph":1,"values":[)" + c.values + R"(],"nodes":[)" + c.nodes + "]}";
    const Result<Graph> graph = parse_graph(text);
    ASSERT_FALSE(graph) << text;
    const Error& error = graph.error();
    EXPECT_EQ(error.code, c.code) << text << "\n" << error.message;
    ASSERT_TRUE(error.span) << text;
    EXPECT_EQ(text.substr(error.span->from, error.span->to - error.span->from), c.at) << text;
    for (const std::string& part : {c.named, c.one_type, c.other_type}) {
      EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
    }
  }
  EXPECT_EQ(parse_graph(R"({"tessera_graph":2})").error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(parse_graph(R"({"values":[]})").error().code, ErrorCode::kSyntax);
  EXPECT_EQ(parse_graph("").error().code, ErrorCode::kSyntax);
}

/// Damaged texts are errors with a span, or graphs that satisfy the law; never a crash.
TEST(GraphJson, SurvivesRandomDamage) {
  std::mt19937_64 engine(3);
  std::size_t accepted = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    test::Dice dice(seed);
    std::string text = to_json(test::random_graph(dice, 5));
    for (int i = 0; i < 2; ++i) {
      const std::size_t at = engine() % text.size();
      const std::size_t other = engine() % text.size();
      if (engine() % 2 == 0) {
        text[at] = text[other];
      } else {
        text.erase(at, engine() % 20);
      }
    }
    const Result<Graph> graph = parse_graph(text);
    if (graph) {
      ++accepted;
      EXPECT_TRUE(check(*graph));
    } else {
      ASSERT_TRUE(graph.error().span) << graph.error().message;
      EXPECT_LE(graph.error().span->to, std::ssize(text));
    }
  }
  EXPECT_GT(accepted, 10U);
}

}  // namespace
}  // namespace tessera::graph
