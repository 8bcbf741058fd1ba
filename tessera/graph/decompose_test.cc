// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/passes/decompose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/builder.h"
#include "tessera/graph/models/models.h"
#include "tessera/testing/graph/decompose_law.h"
#include "tessera/testing/graph/naive_eval.h"
#include "tessera/testing/graph/random_graphs.h"
#include "tessera/testing/graph/random_run.h"

namespace tessera::graph {
namespace {

using Ints = std::vector<std::int64_t>;
using Inputs = std::map<std::string, test::NaiveTensor>;

std::vector<std::string> all() {
  const std::vector<std::string_view> names = decomposable_ops();
  return {names.begin(), names.end()};
}

using Compared = test::ComparedElements;

/// The law of decompositions, on one run.
Compared judge(const Graph& graph, const Inputs& inputs, const std::vector<std::string>& ops) {
  Compared compared;
  EXPECT_EQ(test::decomposition_mistake(graph, inputs, ops, compared), "") << to_string(graph);
  return compared;
}

constexpr std::array kFloats = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

/// Numbers in [low, high] as elements of the type.
test::NaiveTensor numbers(test::Dice& dice, const TensorType& type, double low, double high) {
  test::NaiveTensor tensor{type, {}};
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    const long double part = static_cast<long double>(dice.between(0, 1000)) / 1000;
    tensor.elements.push_back(test::as_element(low + part * (high - low), type.dtype));
  }
  return tensor;
}

struct Operand {
  Ints shape;
  double low = -2;
  double high = 2;
};

/// One node of an op with random inputs, decomposed alone and together with all others.
class OneNode {
 public:
  void judge(std::string_view op, const std::vector<Operand>& operands, DType dtype,
             const Attributes& attributes = {}, std::size_t outputs = 1) {
    test::Dice dice(static_cast<std::uint64_t>(++cases_));
    GraphBuilder builder;
    Inputs inputs;
    std::vector<ValueId> ids;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::string name = cat("in", i);
      ids.push_back(*builder.input(name, operands[i].shape, dtype));
      inputs[name] = numbers(dice, builder.type(ids[i]), operands[i].low, operands[i].high);
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < outputs; ++i) names.push_back(cat("out", i));
    const auto made = builder.add_node("n", op, ids, names, attributes);
    ASSERT_TRUE(made) << made.error().message;
    for (const ValueId v : *made) ASSERT_TRUE(builder.output(v));
    for (const std::vector<std::string>& ops : {std::vector{std::string(op)}, all()}) {
      const Compared compared = graph::judge(builder.graph(), inputs, ops);
      all_.elements += compared.elements;
      all_.loose += compared.loose;
    }
  }
  ~OneNode() {
    // A bound that is nearly always far above the rounding errors would show nothing.
    EXPECT_LE(all_.loose * 50, all_.elements) << all_.loose << " of " << all_.elements;
  }

 private:
  int cases_ = 0;
  Compared all_;
};

const std::vector<Ints> kShapes = {{1},       {7},          {2, 3},       {5, 1},
                                   {3, 1, 4}, {2, 3, 1, 5}, {1, 1, 1, 1}, {2, 1, 3, 2, 2}};

TEST(Decompose, AlongEveryAxis) {
  OneNode node;
  for (const DType dtype : kFloats) {
    for (const Ints& shape : kShapes) {
      const auto rank = static_cast<std::int64_t>(shape.size());
      for (std::int64_t axis = -rank; axis < rank; ++axis) {
        const Attributes attributes = {{"axis", axis}};
        node.judge("softmax", {{shape, -9, 9}}, dtype, attributes);
        node.judge("log_softmax", {{shape, -9, 9}}, dtype, attributes);
        const Ints part(shape.begin() + (axis < 0 ? axis + rank : axis), shape.end());
        const Ints last = {shape.back()};
        const Attributes with = {{"axis", axis}, {"epsilon", 1e-3}};
        node.judge("rms_norm", {{shape}}, dtype, attributes);
        node.judge("rms_norm", {{shape}, {last}}, dtype, with);
        for (std::size_t outputs = 1; outputs <= 3; ++outputs) {
          node.judge("layer_norm", {{shape}, {part}}, dtype, with, outputs);
          node.judge("layer_norm", {{shape}, {part}, {last}}, dtype, attributes, outputs);
        }
      }
    }
  }
}

TEST(Decompose, PerChannel) {
  OneNode node;
  for (const DType dtype : kFloats) {
    for (const Ints& shape : kShapes) {
      const Ints channels = {shape.size() < 2 ? 1 : shape[1]};
      node.judge("batch_norm", {{shape}, {channels}, {channels}, {channels}, {channels, 0.5, 2}},
                 dtype);
      if (shape.size() < 2) continue;
      node.judge("instance_norm", {{shape}, {channels}, {channels}}, dtype);
      for (std::int64_t groups = 1; groups <= channels[0]; ++groups) {
        if (channels[0] % groups != 0) continue;
        node.judge("group_norm", {{shape}, {channels}, {channels}}, dtype, {{"groups", groups}});
      }
    }
    node.judge("group_norm", {{{2, 6, 3}}, {{6}}, {{6}}}, dtype,
               {{"groups", std::int64_t{3}}, {"epsilon", 0.1}});
  }
}

TEST(Decompose, BothFormsOfGelu) {
  OneNode node;
  for (const DType dtype : kFloats) {
    for (const std::string form : {"none", "tanh"}) {
      node.judge("gelu", {{{}, -6, 6}}, dtype, {{"approximate", form}});
      for (const Ints& shape : kShapes) {
        node.judge("gelu", {{shape, -6, 6}}, dtype, {{"approximate", form}});
      }
    }
    node.judge("gelu", {{{300}, -12, 12}}, dtype);
  }
}

/// Shapes of queries, keys and values, shared heads, masks of every broadcast shape, causal or not,
/// scale given or not. With more queries than keys the first causal ones see nothing: NaN.
TEST(Decompose, AttentionWithMasks) {
  OneNode node;
  struct Case {
    Ints q, k, v;
    std::vector<Ints> masks;
  };
  const std::vector<Case> cases = {
      {{3, 5}, {4, 5}, {4, 2}, {{3, 4}, {4}, {1}, {3, 1}, {}}},
      {{1, 1}, {1, 1}, {1, 1}, {{1, 1}}},
      {{5, 3}, {2, 3}, {2, 7}, {{5, 2}}},
      {{6, 3, 4}, {2, 5, 4}, {2, 5, 3}, {{6, 3, 5}, {3, 5}, {6, 1, 1}}},
      {{4, 1, 3}, {1, 7, 3}, {1, 7, 3}, {{4, 1, 7}, {7}}},
      {{2, 3, 4, 5}, {2, 3, 4, 5}, {2, 3, 4, 5}, {{2, 1, 4, 4}, {4, 4}, {2, 3, 1, 1}}},
      {{2, 4, 3, 2}, {2, 2, 6, 2}, {2, 2, 6, 1}, {{4, 1, 6}, {2, 4, 3, 6}}},
  };
  for (const DType dtype : kFloats) {
    for (const Case& each : cases) {
      const std::vector<Operand> plain = {{each.q, -1, 1}, {each.k, -1, 1}, {each.v, -1, 1}};
      for (const std::int64_t causal : {0, 1}) {
        node.judge("attention", plain, dtype, {{"causal", causal}});
        node.judge("attention", plain, dtype, {{"causal", causal}, {"scale", 0.37}});
        for (const Ints& mask : each.masks) {
          std::vector<Operand> operands = plain;
          operands.push_back({mask, -3, 0});
          node.judge("attention", operands, dtype, {{"causal", causal}});
        }
      }
    }
  }
}

/// A mask of another type than the queries, of booleans and of infinities.
TEST(Decompose, AttentionWithOtherMasks) {
  for (const DType mask : {DType::kF32, DType::kF64, DType::kBool}) {
    test::Dice dice(7);
    GraphBuilder builder;
    Inputs inputs;
    const ValueId q = *builder.input("q", {2, 3}, DType::kF16);
    const ValueId m = *builder.input("m", {2, 2}, mask);
    inputs["q"] = numbers(dice, builder.type(q), -1, 1);
    inputs["m"] = {builder.type(m), {0, mask == DType::kBool ? 1 : -INFINITY, 0, 0}};
    ASSERT_TRUE(builder.output(*builder.add("attention", {q, q, q, m})));
    judge(builder.graph(), inputs, {"attention"});
    judge(builder.graph(), inputs, all());
  }
}

/// Statistics of another type than the input.
TEST(Decompose, StatisticsOfOtherTypes) {
  test::Dice dice(3);
  GraphBuilder builder;
  Inputs inputs;
  std::vector<ValueId> ids = {*builder.input("x", {2, 3, 4}, DType::kBF16)};
  inputs["x"] = numbers(dice, builder.type(ids[0]), -2, 2);
  for (const std::string name : {"scale", "bias", "mean", "variance"}) {
    ids.push_back(*builder.input(name, {3}, name == "mean" ? DType::kF64 : DType::kF32));
    inputs[name] = numbers(dice, builder.type(ids.back()), 0.5, 1);
  }
  ASSERT_TRUE(builder.output(*builder.add("batch_norm", ids)));
  judge(builder.graph(), inputs, all());
}

/// Adds a node with one output, which is then an output of the graph.
ValueId append(Graph& graph, std::string_view op, std::vector<ValueId> inputs,
               Attributes attributes = {}) {
  const auto id = static_cast<ValueId>(graph.values.size());
  graph.values.push_back({cat("more", id)});
  graph.nodes.push_back({"", *Op::find(op), std::move(inputs), {id}, std::move(attributes)});
  graph.values[id].type = (*infer(graph, graph.nodes.back()))[0];
  graph.outputs.push_back(id);
  return id;
}

/// Adds a node of an op that can be decomposed, on a value of the graph that tanh has made small.
void append_any(test::Dice& dice, Graph& graph) {
  const auto v = static_cast<ValueId>(dice.below(std::ssize(graph.values)));
  const Shape shape = graph.values[v].type.shape;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  if (!is_float(graph.values[v].type.dtype) || rank == 0 || shape.elements() == 0) return;
  const ValueId x = append(graph, "tanh", {v});
  const std::int64_t axis = dice.between(-rank, rank - 1);
  const Attributes from = {{"axis", axis}, {"epsilon", 0.1}};
  switch (dice.below(rank < 2 ? 5 : 8)) {
    case 0:
      append(graph, "softmax", {x}, {{"axis", axis}});
      return;
    case 1:
      append(graph, "log_softmax", {x}, {{"axis", axis}});
      return;
    case 2:
      append(graph, "gelu", {x}, {{"approximate", std::string(dice.chance(50) ? "none" : "tanh")}});
      return;
    case 3:
      append(graph, "rms_norm", {x}, from);
      return;
    case 4:
      append(graph, "layer_norm", {x, x, x}, {{"axis", std::int64_t{0}}, {"epsilon", 0.1}});
      return;
    case 5:
      append(graph, "attention", {x, x, x}, {{"causal", dice.below(2)}});
      return;
    default:
      break;
  }
  Ints others;
  for (std::int64_t d = 0; d < rank; ++d) {
    if (d != 1) others.push_back(d);
  }
  const ValueId mean =
      append(graph, "reduce_mean", {x}, {{"axes", others}, {"keepdims", std::int64_t{0}}});
  const ValueId positive = append(graph, "sigmoid", {mean});
  if (dice.chance(50)) {
    append(graph, "batch_norm", {x, mean, positive, mean, positive});
  } else {
    append(graph, "group_norm", {x, mean, positive},
           {{"groups", std::int64_t{1}}, {"epsilon", 0.1}});
  }
}

/// Random graphs with such ops among others, for random sets of ops.
TEST(Decompose, KeepsTheResultsOfRandomGraphs) {
  int judged = 0;
  int decomposed = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    test::Dice dice(seed);
    Graph graph = test::random_graph(dice, 8);
    for (int i = 0; i < 6; ++i) append_any(dice, graph);
    const Inputs inputs = test::random_inputs(dice, graph);
    if (!test::naive_evaluate(graph, inputs)) continue;
    std::vector<std::string> ops = all();
    std::erase_if(ops, [&](const std::string&) { return dice.chance(30); });
    judge(graph, inputs, ops);
    ASSERT_FALSE(HasFailure()) << seed;
    ++judged;
    decomposed += *with_decomposed_ops(graph, ops) == graph ? 0 : 1;
  }
  EXPECT_GT(judged, 500);
  EXPECT_GT(decomposed, 300);
}

/// Small models from end to end, in f64 and with numbers of at most 1/2, so that scores are not so
/// large that their exponentials overflow in the evaluator.
TEST(Decompose, KeepsTheResultsOfModels) {
  ModelOptions options;
  options.layers = 1;
  options.sequence = 3;
  options.hidden = 16;
  options.heads = 4;
  options.vocabulary = 5;
  options.dtype = DType::kF64;
  for (const std::string_view name : {"bert-base", "llama"}) {
    if (name == "llama") options.kv_heads = 2;
    Graph graph = *make_model(name, options);
    test::Dice dice(1);
    Inputs inputs;
    for (Value& value : graph.values) {
      test::NaiveTensor some = numbers(dice, value.type, -0.5, 0.5);
      if (is_integer(value.type.dtype)) {
        // Numbers of tokens and of sentences, of which there are two.
        for (long double& element : some.elements)
          element = static_cast<long double>(dice.below(2));
      }
      if (value.kind == Kind::kInput) inputs[value.name] = some;
      if (value.kind != Kind::kParameter) continue;
      const std::vector<double> reals(some.elements.begin(), some.elements.end());
      value.data = Data::of_bytes(*bytes_of(reals, value.type.dtype));
    }
    judge(graph, inputs, all());
    const auto results = test::naive_evaluate(graph, inputs);
    ASSERT_TRUE(results);
    for (const long double element : (*results)[0].elements) EXPECT_TRUE(std::isfinite(element));
  }
}

TEST(Decompose, ModelsStayValid) {
  for (const std::string_view name : model_names()) {
    const Graph graph = *make_model(name, {});
    const Result<Graph> after = with_decomposed_ops(graph, all());
    ASSERT_TRUE(after) << name << ": " << after.error().message;
    EXPECT_TRUE(check(*after)) << name;
    EXPECT_EQ(*with_decomposed_ops(graph, {}), graph) << name;
  }
}

/// The example of decompose.h, with a name that is taken.
TEST(Decompose, NamesWhatItAdds) {
  GraphBuilder builder;
  const ValueId x = *builder.input("p.exp", {2, 3});
  ASSERT_TRUE(builder.output(*builder.add("softmax", {x}, {}, "p")));
  const Graph after = *with_decomposed_ops(builder.graph(), all());
  std::vector<std::string> names;
  for (const Node& node : after.nodes) {
    EXPECT_EQ(node.name, "p");
    names.push_back(after.values[node.outputs[0]].name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"p.reduce_max", "p.sub", "p.exp_1", "p.reduce_sum", "p"}));
}

TEST(Decompose, LeavesEmptyTensors) {
  GraphBuilder builder;
  const ValueId x = *builder.input("x", {2, 0});
  ASSERT_TRUE(builder.output(*builder.add("softmax", {x})));
  EXPECT_EQ(*with_decomposed_ops(builder.graph(), all()), builder.graph());
}

TEST(Decompose, ReportsErrors) {
  GraphBuilder builder;
  const std::int64_t many = std::int64_t{1} << 32;
  const ValueId x = *builder.input("x", {many, 1});
  ASSERT_TRUE(builder.output(*builder.add("attention", {x, x, x})));
  const Result<Graph> large = with_decomposed_ops(builder.graph(), all());
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kOverflow);
  const Result<Graph> unknown =
      with_decomposed_ops(builder.graph(), std::vector<std::string>{"matmul"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownName);
  for (const std::string& op : all()) {
    EXPECT_NE(unknown.error().help.find(op), std::string::npos) << op;
  }
}

}  // namespace
}  // namespace tessera::graph
