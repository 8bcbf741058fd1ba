// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/fold.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tessera/testing/graph/naive_eval.h"
#include "tessera/testing/graph/random_graphs.h"

namespace tessera::graph {
namespace {

/// Law: what is folded is what the reference evaluator computes, element by element. Random graphs
/// have small integers, so f32 and f64 are exact in every order.
TEST(Fold, EqualsTheReference) {
  std::map<std::string_view, int> folded;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    test::Dice dice(seed);
    const Graph graph = test::random_graph(dice, 10);
    std::vector<Data> known;
    for (const Value& value : graph.values) known.push_back(value.data);
    for (const Node& node : graph.nodes) {
      std::vector<const TensorType*> types;
      std::vector<const Data*> data;
      for (const ValueId v : node.inputs) {
        types.push_back(v == kAbsent ? nullptr : &graph.values[v].type);
        data.push_back(v == kAbsent ? nullptr : &known[v]);
      }
      Types outputs;
      for (const ValueId v : node.outputs) outputs.push_back(graph.values[v].type);
      const Call call(node.op, types, node.attributes, node.outputs.size());
      const auto results = fold(call, data, outputs);
      if (!results) continue;
      ASSERT_EQ(results->size(), outputs.size());
      ++folded[node.op.name()];
      std::vector<test::NaiveTensor> tensors;
      for (std::size_t i = 0; i < types.size(); ++i) {
        // shape and size need no elements.
        const auto tensor = test::naive_tensor(*types[i], *data[i]);
        tensors.push_back(tensor ? *tensor : test::NaiveTensor{*types[i], {}});
      }
      test::NaiveCall naive{node.op.name(), {}, {}, call};
      for (const test::NaiveTensor& tensor : tensors) naive.inputs.push_back(&tensor);
      for (const TensorType& type : outputs) naive.outputs.push_back({type, {}});
      ASSERT_TRUE(test::evaluate_node(naive)) << node.op.name();
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const auto mine = test::naive_tensor(outputs[i], (*results)[i]);
        ASSERT_TRUE(mine) << node.op.name();
        ASSERT_EQ(mine->elements.size(), naive.outputs[i].elements.size()) << node.op.name();
        for (std::size_t k = 0; k < mine->elements.size(); ++k) {
          const long double expected =
              test::as_element(naive.outputs[i].elements[k], outputs[i].dtype);
          ASSERT_TRUE(mine->elements[k] == expected ||
                      (mine->elements[k] != mine->elements[k] && expected != expected))
              << seed << " " << node.op.name() << " element " << k << ": "
              << static_cast<double>(mine->elements[k]) << " instead of "
              << static_cast<double>(expected) << "\n"
              << to_string(graph);
        }
        known[node.outputs[i]] = (*results)[i];
      }
    }
  }
  for (const char* op :
       {"add",     "sub",      "mul",        "max",        "min",        "equal",      "less",
        "and",     "neg",      "abs",        "sign",       "not",        "floor",      "sqrt",
        "shape",   "size",     "cast",       "concat",     "slice",      "split",      "transpose",
        "reshape", "identity", "reduce_sum", "reduce_max", "reduce_min", "reduce_prod"}) {
    EXPECT_GT(folded[op], 20) << op;
  }
}

TEST(Fold, LeavesUnknownAndLargeInputsAlone) {
  const TensorType large{*Shape::make({kMostFolded + 1}), DType::kF32};
  const TensorType small{*Shape::make({4}), DType::kF32};
  const std::vector<const TensorType*> types = {&large};
  const Data fill = Data::of_fill(std::string(4, '\0'));
  const Data bytes = Data::of_bytes(std::string(static_cast<std::size_t>(large.bytes()), '\0'));
  const Data none;
  const Attributes attributes;
  const Call call(*Op::find("neg"), types, attributes, 1);
  for (const auto& [data, known] : {std::pair{&fill, true}, {&bytes, false}, {&none, false}}) {
    const std::vector<const Data*> inputs = {data};
    EXPECT_EQ(fold(call, inputs, {large}).has_value(), known);
  }
}

}  // namespace
}  // namespace tessera::graph
