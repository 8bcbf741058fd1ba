// SPDX-License-Identifier: Apache-2.0
#include "tessera/onnx/onnx_export.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "onnx/shape_inference/implementation.h"
#include "tessera/base/text.h"
#include "tessera/graph/builder.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/models/models.h"
#include "tessera/graph/random_weights.h"
#include "tessera/onnx/onnx_import.h"
#include "tessera/onnx/round_trip_testing.h"
#include "tessera/testing/graph/naive_eval.h"
#include "tessera/testing/graph/random_graphs.h"
#include "tessera/testing/graph/random_run.h"

/// The law of export: what is written is read back, with the same results, and from the second trip
/// on as the same graph.
namespace tessera::onnx_import {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using test::NaiveTensor;

/// The graphs have the same inputs and outputs, and the same results up to `tolerance`. False if
/// the evaluator cannot run them.
bool expect_same_results(const Graph& a, const Graph& b,
                         const std::map<std::string, NaiveTensor>& inputs, long double tolerance) {
  const auto expected = test::naive_evaluate(a, inputs);
  const auto found = test::naive_evaluate(b, inputs);
  EXPECT_EQ(expected.has_value(), found.has_value());
  if (!expected || !found) return false;
  EXPECT_EQ(expected->size(), found->size());
  for (std::size_t i = 0; i < expected->size() && i < found->size(); ++i) {
    EXPECT_TRUE(test::is_near((*found)[i], (*expected)[i], tolerance))
        << "output " << i << "\n"
        << graph::to_string(a) << "\n"
        << graph::to_string(b);
  }
  return true;
}

/// libonnx's own inference of types and shapes accepts the model, in its strict mode, and gives the
/// types of the outputs that the model states.
void expect_valid(const std::string& bytes) {
  ::onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(bytes));
  const ::onnx::ShapeInferenceOptions strict(true, 1);  // types are checked, errors are thrown
  EXPECT_NO_THROW(
      ::onnx::shape_inference::InferShapes(model, ::onnx::OpSchemaRegistry::Instance(), strict))
      << model.DebugString();
}

TEST(OnnxExport, RandomGraphsMakeRoundTrips) {
  int evaluated = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    test::Dice dice(seed);
    Graph graph = test::random_graph(dice, static_cast<int>(dice.between(0, 12)));
    const auto inputs = test::random_inputs(dice, graph);
    expect_valid(export_onnx(graph, {}).value());
    const Graph back = test::expect_round_trip(graph);
    // Attributes of these graphs are integers, so nothing is rounded.
    evaluated += expect_same_results(graph, back, inputs, 0) ? 1 : 0;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GE(evaluated, 1450);  // the evaluator has no largest element of nothing
}

/// A graph with one node of this op, whose inputs are inputs of the graph.
Graph one_node(std::string_view op, const std::vector<graph::TensorType>& inputs,
               graph::Attributes attributes = {}, std::size_t outputs = 1) {
  GraphBuilder builder(std::string{op});
  std::vector<ValueId> values;
  for (const graph::TensorType& type : inputs) {
    values.push_back(*builder.input(cat("x", values.size()), type.shape.extents(), type.dtype));
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) names.push_back(cat("y", i));
  const auto made = builder.add_node("the node", op, values, names, std::move(attributes));
  EXPECT_TRUE(made) << op << ": " << (made ? "" : made.error().message);
  if (!made) return {};
  for (const ValueId v : *made) EXPECT_TRUE(builder.output(v));
  return std::move(builder).finish();
}

graph::TensorType type_of(DType dtype, std::vector<std::int64_t> extents) {
  return {*Shape::make(std::move(extents)), dtype};
}

/// Checks one node on random inputs.
void expect_exported(const Graph& graph, long double tolerance) {
  test::Dice dice(3);
  Graph filled = graph;
  const auto inputs = test::random_inputs(dice, filled);
  const Result<std::string> bytes = export_onnx(filled, {});
  ASSERT_TRUE(bytes) << bytes.error().message;
  expect_valid(*bytes);
  EXPECT_TRUE(expect_same_results(filled, test::expect_round_trip(filled), inputs, tolerance));
}

/// Ops that ONNX 17 does not have.
TEST(OnnxExport, WritesMissingOpsWithOthers) {
  const graph::TensorType x = type_of(DType::kF32, {2, 6, 4});
  const graph::TensorType four = type_of(DType::kF32, {4});
  const graph::TensorType six = type_of(DType::kF32, {6});
  // Reals of the graph are doubles, constants of the model f32: 2^-24 for each of a few operations.
  constexpr long double kClose = 1e-6L;
  expect_exported(one_node("gelu", {x}), kClose);
  expect_exported(one_node("gelu", {x}, {{"approximate", "tanh"}}), kClose);
  expect_exported(one_node("rms_norm", {x, four}), kClose);
  expect_exported(one_node("group_norm", {x, six, six}, {{"groups", 3L}}), kClose);
  expect_exported(one_node("attention", {x, x, x}, {{"causal", 1L}}), kClose);
  expect_exported(one_node("embedding", {type_of(DType::kF32, {5, 3}), type_of(DType::kU8, {2})}),
                  0);
  // A gelu of nothing is nothing; it cannot be decomposed.
  expect_exported(one_node("gelu", {type_of(DType::kF32, {0, 4})}), 0);
  Graph graph = one_node("rsqrt", {type_of(DType::kF64, {3})});
  ASSERT_TRUE(export_onnx(graph, {}));
  const auto found = test::naive_evaluate(*test::onnx_trip(graph, "."),
                                          {{"x0", {type_of(DType::kF64, {3}), {1, 4, 16}}}});
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0].elements, (std::vector<long double>{1, 0.5L, 0.25L}));
}

/// Element types that ONNX's op does not accept are cast to wider ones, and wrap as before.
TEST(OnnxExport, WidensElementTypes) {
  const auto expect_casts = [](const Graph& graph, std::ptrdiff_t count) {
    expect_exported(graph, 0);
    const Graph back = *test::onnx_trip(graph, ".");
    EXPECT_EQ(std::ranges::count_if(back.nodes, [](const auto& n) { return n.op.is("cast"); }),
              count)
        << graph::to_string(back);
  };
  const graph::TensorType bytes = type_of(DType::kI8, {4, 4});
  expect_casts(one_node("add", {bytes, bytes}), 0);
  expect_casts(one_node("matmul", {bytes, bytes}), 3);  // both operands, and back
  expect_casts(one_node("reduce_prod", {bytes}), 2);
  expect_casts(one_node("neg", {type_of(DType::kU8, {5})}), 2);
  expect_casts(one_node("less", {type_of(DType::kBool, {5}), type_of(DType::kBool, {5})}), 2);
  expect_casts(
      one_node("conv", {type_of(DType::kBF16, {1, 2, 5}), type_of(DType::kBF16, {2, 2, 3})}), 3);
  expect_casts(one_node("gather", {bytes, type_of(DType::kU8, {0})}), 1);
  expect_casts(one_node("topk", {type_of(DType::kBF16, {5})}, {{"k", 2L}}, 2), 2);
}

TEST(OnnxExport, KeepsWhatListsWithoutNumbersMean) {
  const graph::TensorType x = type_of(DType::kF32, {2, 3});
  const std::vector<std::int64_t> none;
  for (const std::string_view op :
       {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_l1",
        "reduce_l2", "reduce_sum_square", "reduce_log_sum_exp"}) {
    expect_exported(one_node(op, {x}, {{"axes", none}}), 1e-6L);
  }
  expect_exported(one_node("squeeze", {type_of(DType::kF32, {1, 3})}, {{"axes", none}}), 0);
  expect_exported(one_node("slice", {x}, {{"starts", none}, {"ends", none}}), 0);
  expect_exported(one_node("transpose", {type_of(DType::kF32, {})}, {{"perm", none}}), 0);
  expect_exported(
      one_node("reshape", {type_of(DType::kF32, {0, 3})}, {{"shape", std::vector{3L, 0L}}}), 0);
}

TEST(OnnxExport, WritesCreatedTensors) {
  const std::vector<std::int64_t> two = {2};
  expect_exported(one_node("range", {}, {{"limit", 7.0}, {"delta", 2.0}, {"dtype", "i32"}}), 0);
  expect_exported(one_node("range", {}, {{"limit", 1.0}, {"delta", 0.1}, {"dtype", "f32"}}), 0);
  expect_exported(one_node("constant", {},
                           {{"shape", two}, {"dtype", "bf16"}, {"reals", std::vector{1.5, -2.0}}}),
                  0);
  expect_exported(one_node("constant", {},
                           {{"shape", two}, {"dtype", "ui8"}, {"integers", std::vector{1L, 255L}}}),
                  0);
  expect_exported(
      one_node("constant_of_shape", {}, {{"shape", two}, {"dtype", "f16"}, {"value", 3.0}}), 0);
}

/// Everything that ONNX cannot express is named at once, with the node.
TEST(OnnxExport, RefusesAllAtOnce) {
  GraphBuilder builder("bad");
  const ValueId x = *builder.input("x", {1, 1, 8, 8});
  ASSERT_TRUE(builder.input("y", {4}, DType::kF8E4M3));
  ASSERT_TRUE(builder.parameter("w", {4}));
  const ValueId pool =
      *builder.add("average_pool", {x},
                   {{"kernel", std::vector{2L, 2L}}, {"dilations", std::vector{2L, 2L}}}, "pool");
  ASSERT_TRUE(builder.output(*builder.add("layout_transform", {pool}, {}, "move")));
  ASSERT_TRUE(builder.output(*builder.add("mod", {pool, pool}, {}, "rest")));
  const Result<std::string> refused = export_onnx(std::move(builder).finish(), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
  std::vector<std::string> named;
  for (const Reason& reason : refused.error().reasons) {
    EXPECT_EQ(reason.name, "not_in_onnx");
    named.push_back(cat(*reason.text("node"), " ", *reason.text("op")));
    EXPECT_FALSE(reason.text("because")->empty());
  }
  EXPECT_EQ(named, (std::vector<std::string>{"y input", "w parameter", "pool average_pool",
                                             "move layout_transform", "rest mod"}));
  // One sentence stays short however much is refused.
  GraphBuilder many("many");
  ValueId v = *many.input("x", {4});
  for (int i = 0; i < 1000; ++i) v = *many.add("layout_transform", {v});
  ASSERT_TRUE(many.output(v));
  const Result<std::string> all = export_onnx(std::move(many).finish(), {});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().reasons.size(), 1000U);
  EXPECT_LT(all.error().message.size(), 2000U);
}

/// Kinds that are not import's default, and outputs that are inputs, repeat or have one name.
TEST(OnnxExport, KeepsKindsFillsAndOutputs) {
  GraphBuilder builder("kinds");
  const ValueId x = *builder.input("x", {2});
  const auto add = [&](const char* name, graph::Kind kind, DType dtype, graph::Data data) {
    return *builder.given({name, type_of(dtype, {2}), kind, std::move(data)});
  };
  const std::string eight(8, 'a');
  using graph::Data;
  using graph::Kind;
  add("p", Kind::kParameter, DType::kF32, Data::of_bytes(eight));
  const ValueId c = add("c", Kind::kConstant, DType::kF32, Data::of_bytes(eight));
  const ValueId i = add("i", Kind::kParameter, DType::kI32, Data::of_bytes(eight));
  const ValueId f = add("f", Kind::kParameter, DType::kF32, Data::of_fill("abcd"));
  const ValueId g = add("g", Kind::kConstant, DType::kI32, Data::of_fill("abcd"));
  const ValueId b = add("b", Kind::kParameter, DType::kBF16, Data::of_fill("ab"));
  for (const ValueId v : {x, c, i, f, g, b, x}) ASSERT_TRUE(builder.output(v));
  const Graph graph = std::move(builder).finish();
  const Graph back = test::expect_round_trip(graph);
  ASSERT_EQ(back.outputs.size(), graph.outputs.size());
  for (std::size_t k = 0; k < graph.outputs.size() - 1; ++k) {
    const graph::Value& before = graph.values[graph.outputs[k]];
    const graph::Value& after = back.values[back.outputs[k]];
    EXPECT_EQ(after.name, before.name);
    EXPECT_EQ(after.kind, before.kind) << before.name;
    EXPECT_EQ(after.type, before.type) << before.name;
    // ONNX has no fill of bf16.
    EXPECT_EQ(after.data == before.data, before.name != "b") << before.name;
  }
  expect_valid(export_onnx(graph, {}).value());
}

/// A fill of 2^40 elements is written as one.
TEST(OnnxExport, FillsNeedNoMemory) {
  GraphBuilder builder("zeros");
  const ValueId zeros = *builder.parameter("zeros", {1 << 20, 1 << 20}, DType::kF32,
                                           graph::Data::of_fill(std::string(4, '\0')));
  ASSERT_TRUE(builder.output(*builder.add("relu", {zeros})));
  const Graph graph = std::move(builder).finish();
  EXPECT_LT(export_onnx(graph, {}).value().size(), 1000U);
  EXPECT_EQ(test::expect_round_trip(graph).values[0].data.form, graph::Data::Form::kFill);
  GraphBuilder large("large");  // ONNX has no fill of bf16
  ASSERT_TRUE(large.output(*large.parameter("zeros", {1 << 20, 1 << 20}, DType::kBF16,
                                            graph::Data::of_fill(std::string(2, '\0')))));
  EXPECT_EQ(export_onnx(std::move(large).finish(), {}).error().code, ErrorCode::kTooLarge);
}

TEST(OnnxExport, DataInFilesStayThere) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "tessera_onnx_export";
  fs::create_directories(folder / "parts");
  std::ofstream(folder / "parts" / "w.bin", std::ios::binary) << std::string(64, 'w');
  const auto with_file = [](const fs::path& file) {
    GraphBuilder builder("files");
    const ValueId w =
        *builder.parameter("w", {8}, DType::kF32, graph::Data::of_file(file.string(), 32));
    EXPECT_TRUE(builder.output(*builder.add("relu", {w}, {}, "y")));
    return std::move(builder).finish();
  };
  const Graph graph = with_file(folder / "parts" / "w.bin");
  for (const std::string& name : {folder.string(), folder.string() + "/"}) {
    const Graph back = test::expect_round_trip(graph, name);
    ASSERT_FALSE(back.values.empty());
    EXPECT_EQ(back.values[0].data.form, graph::Data::Form::kFile);
    EXPECT_EQ(back.values[0].data.offset, 32);
    EXPECT_TRUE(fs::equivalent(back.values[0].data.file, folder / "parts" / "w.bin"));
  }
  const Result<std::string> outside = export_onnx(graph, {(folder / "elsewhere").string()});
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().reasons.size(), 1U);
  fs::remove_all(folder);
}

/// Every generator, small enough for the evaluator, with random weights.
TEST(OnnxExport, GeneratedModelsMakeRoundTrips) {
  struct Case {
    std::string name;
    graph::ModelOptions options;
  };
  std::vector<Case> cases;
  for (const std::string_view name : graph::model_names()) cases.push_back({std::string(name), {}});
  cases.push_back({"llama", {.past = 3}});
  const std::map<std::string_view, std::int64_t> small = {{"image", 32},   {"layers", 1},
                                                          {"hidden", 32},  {"heads", 4},
                                                          {"sequence", 4}, {"vocabulary", 8}};
  for (Case& each : cases) {
    each.options.dtype = DType::kF64;
    for (const graph::ModelNumber& number : graph::model_numbers()) {
      const auto value = small.find(number.name);
      const auto names = graph::numbers_of(each.name);
      if (value == small.end() || std::ranges::find(names, number.name) == names.end()) continue;
      each.options.*number.value = value->second;
    }
    if (each.name == "unet-block") each.options.image = 8;
  }
  cases.push_back(cases.back());
  cases.back().options.dtype = DType::kBF16;
  int evaluated = 0;
  for (const Case& each : cases) {
    const Result<Graph> graph = graph::make_model(each.name, each.options);
    ASSERT_TRUE(graph) << each.name << ": " << graph.error().message;
    const Result<Graph> made = graph::with_random_weights(*graph, 1);
    ASSERT_TRUE(made) << each.name;
    const Result<std::string> bytes = export_onnx(*made, {});
    ASSERT_TRUE(bytes) << each.name << ": " << bytes.error().message;
    expect_valid(*bytes);
    const Graph back = test::expect_round_trip(*made);
    EXPECT_EQ(graph::figures_of(back).parameters, graph::figures_of(*graph).parameters)
        << each.name;
    constexpr std::int64_t kMostFlops = 3'000'000;  // of loops one element at a time, twice
    if (each.options.dtype != DType::kF64 || graph::figures_of(*graph).flops > kMostFlops) continue;
    test::Dice dice(5);
    Graph filled = *made;
    auto inputs = test::random_inputs(dice, filled);
    for (auto& [name, tensor] : inputs) {
      if (graph::is_float(tensor.type.dtype)) continue;
      for (long double& id : tensor.elements) id = std::fabs(id);  // rows of a table
    }
    // Only attributes lose bits: an epsilon of 1e-5 becomes the nearest f32.
    evaluated += expect_same_results(filled, back, inputs, 1e-9L) ? 1 : 0;
  }
  EXPECT_GE(evaluated, 4);
}

}  // namespace
}  // namespace tessera::onnx_import
