// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/graph/decompose_law.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "tessera/base/text.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/graph_json.h"
#include "tessera/graph/passes/decompose.h"
#include "tessera/graph/passes/fuse.h"
#include "tessera/testing/graph/error_bounds.h"
#include "tessera/testing/graph/random_run.h"

namespace tessera::test {
namespace {

/// The evaluator computes in long double, which has 11 bits more than f64: with up to 2^9 terms its
/// own errors add less than a quarter to those of f64.
constexpr long double kEvaluator = 1.25L;

/// One node as a graph.
graph::Graph alone(const graph::Graph& graph, std::size_t n) {
  const graph::Node& node = graph.nodes[n];
  graph::Group group{graph::GroupKind::kOther, {n}, {}, node.outputs};
  for (const graph::ValueId v : std::set(node.inputs.begin(), node.inputs.end())) {
    if (v != graph::kAbsent) group.inputs.push_back(v);
  }
  return graph_of(graph, group);
}

/// Compares one output of a node that was decomposed.
std::string compare(const NaiveTensor& wanted, const BoundedTensor& found,
                    ComparedElements& compared) {
  const DType dtype = wanted.type.dtype;
  for (std::size_t e = 0; e < wanted.elements.size(); ++e) {
    const long double x = wanted.elements[e];
    const long double y = found.tensor.elements[e];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const long double bound = kEvaluator * (found.error[e] + rounding_error(x, dtype));
    if (!(std::fabs(x - y) <= bound)) {
      return cat("element ", e, " of ", wanted.type.to_string(), " is ", std::to_string(y),
                 " instead of ", std::to_string(x), ", ", std::to_string(std::fabs(x - y) / bound),
                 " times its bound");
    }
    const bool is_wide = dtype == DType::kF32 || dtype == DType::kF64;
    ++compared.elements;
    compared.loose += is_wide && bound > 1e-3L * (1 + std::fabs(x)) ? 1 : 0;
  }
  return "";
}

std::string compare_nodes(const graph::Graph& graph, const graph::Graph& after,
                          const std::map<std::string, NaiveTensor>& inputs,
                          const std::vector<std::string>& ops, ComparedElements& compared) {
  std::vector<std::vector<std::string>> known;
  for (const graph::Value& value : graph.values) {
    if (value.kind != graph::Kind::kComputed) known.push_back({value.name});
  }
  for (const graph::Node& node : graph.nodes) {
    known.emplace_back();
    for (const graph::ValueId v : node.outputs) known.back().push_back(graph.values[v].name);
  }
  const auto run = evaluate_with_bounds(after, inputs, known);
  if (!run) return cat("no bounds for\n", to_string(after));
  std::map<std::string, NaiveTensor> values;
  for (const graph::Value& value : graph.values) {
    const auto found = run->find(value.name);
    if (found == run->end()) return cat("the value ", value.name, " is gone");
    values[value.name] = found->second.tensor;
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const graph::Node& node = graph.nodes[n];
    const auto expected = naive_evaluate(alone(graph, n), values);
    if (!expected) return cat(node_text(graph, node), " cannot be evaluated");
    const bool stays = std::ranges::find(ops, node.op.name()) == ops.end();
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const NaiveTensor& wanted = (*expected)[i];
      const BoundedTensor& found = run->at(graph.values[node.outputs[i]].name);
      const bool is_same = is_equal(wanted, found.tensor);
      std::string mistake;
      if (stays && !is_same) mistake = "its results differ";
      if (!(wanted.type == found.tensor.type)) mistake = "its types differ";
      if (!is_same && mistake.empty()) mistake = compare(wanted, found, compared);
      if (!mistake.empty())
        return cat(node_text(graph, node), ": ", mistake, "\n", to_string(after));
    }
  }
  return "";
}

}  // namespace

std::string decomposition_mistake(const graph::Graph& graph,
                                  const std::map<std::string, NaiveTensor>& inputs,
                                  const std::vector<std::string>& ops, ComparedElements& compared) {
  const Result<graph::Graph> after = with_decomposed_ops(graph, ops);
  if (!after) return after.error().message;
  const Status status = check(*after);
  if (!status) return cat(status.error().message, "\n", to_string(*after));
  const Result<graph::Graph> back = graph::parse_graph(to_json(*after));
  if (!back || !(*back == *after)) return cat("does not read back:\n", to_json(*after));
  if (!(*with_decomposed_ops(*after, ops) == *after)) return "a second time changes the graph";
  const graph::Figures figures = figures_of(*after);
  for (const std::string& op : ops) {
    if (figures.ops.contains(op)) return cat("there is a ", op, " left");
  }
  bool same_outputs = graph.outputs.size() == after->outputs.size();
  for (std::size_t i = 0; i < graph.outputs.size() && same_outputs; ++i) {
    same_outputs = graph.values[graph.outputs[i]].name == after->values[after->outputs[i]].name;
  }
  if (!same_outputs) return "other outputs";
  return compare_nodes(graph, *after, inputs, ops, compared);
}

}  // namespace tessera::test
