// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/graph/error_bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>
#include <utility>

namespace tessera::test {
namespace {

using Real = long double;
constexpr Real kUnknown = std::numeric_limits<Real>::infinity();

/// An error of 0 counts, whatever it is multiplied with.
Real times(Real a, Real b) { return a == 0 || b == 0 ? 0 : a * b; }

struct Operand {
  Real x;
  Real error;
};

/// What an elementwise op makes of the errors of its operands.
Real passed_on(std::string_view op, const std::vector<Operand>& in) {
  const auto [x, e] = in[0];
  if (op == "add" || op == "sub") return e + in[1].error;
  if (op == "mul") {
    return times(std::fabs(x), in[1].error) + times(e, std::fabs(in[1].x)) + times(e, in[1].error);
  }
  if (op == "div") {
    const Real divisor = std::fabs(in[1].x) - in[1].error;
    if (divisor <= 0) return kUnknown;
    return (e + times(std::fabs(x / in[1].x), in[1].error)) / divisor;
  }
  if (op == "exp") return times(std::exp(x), std::expm1(e));
  if (op == "log" || op == "rsqrt") {
    if (e == 0) return 0;
    if (e >= x) return kUnknown;
    return op == "log" ? e / (x - e) : 1 / std::sqrt(x - e) - 1 / std::sqrt(x);
  }
  if (op == "tanh" || op == "cast") return e;
  if (op == "erf") return e * 2 * std::numbers::inv_sqrtpi_v<Real>;
  if (op == "where") return x != 0 ? in[1].error : in[2].error;
  return e == 0 && in[1].error == 0 ? 0 : kUnknown;  // less_or_equal
}

bool is_elementwise(std::string_view op) {
  constexpr std::array<std::string_view, 11> kOps = {"add",   "sub",  "mul",  "div", "exp",  "log",
                                                     "rsqrt", "tanh", "cast", "erf", "where"};
  return op == "less_or_equal" || std::ranges::find(kOps, op) != kOps.end();
}

bool moves_errors(std::string_view op) {
  return op == "reshape" || op == "transpose" || op == "reduce_sum" || op == "reduce_mean" ||
         op == "reduce_max";
}

/// Whether a result is one of the operands, which needs no rounding.
bool is_exact(std::string_view op) {
  return op == "reshape" || op == "transpose" || op == "reduce_max" || op == "where";
}

class Analysis {
 public:
  Analysis(const graph::Graph& graph, std::vector<NaiveTensor> values)
      : graph_(graph), values_(std::move(values)), errors_(graph.values.size()) {
    for (std::size_t v = 0; v < values_.size(); ++v) {
      errors_[v].assign(values_[v].elements.size(), 0);
    }
  }

  /// `known` as in evaluate_with_bounds.
  std::optional<std::map<std::string, BoundedTensor>> run(
      const std::vector<std::vector<std::string>>& known) {
    std::map<std::string, std::size_t> list_of;
    std::vector<std::size_t> open;  // how many values of each list are not computed yet
    for (const std::vector<std::string>& list : known) {
      for (const std::string& name : list) list_of[name] = open.size();
      open.push_back(list.size());
    }
    std::vector<std::vector<graph::ValueId>> ids(known.size());
    std::map<std::string, BoundedTensor> bounded;
    const auto record = [&](graph::ValueId v) {
      const std::string& name = graph_.values[v].name;
      bounded[name] = {values_[v], errors_[v]};
      const auto list = list_of.find(name);
      if (list == list_of.end()) return;
      ids[list->second].push_back(v);
      if (--open[list->second] > 0) return;
      for (const graph::ValueId each : ids[list->second]) {
        errors_[each].assign(errors_[each].size(), 0);
      }
    };
    for (graph::ValueId v = 0; v < graph_.values.size(); ++v) {
      const graph::Value& value = graph_.values[v];
      if (value.kind == graph::Kind::kComputed) continue;
      for (int i = 0; i < 2 && !list_of.contains(value.name); ++i) add_rounding(v);
      record(v);
    }
    for (const graph::Node& node : graph_.nodes) {
      const bool is_inside =
          std::ranges::none_of(node.inputs, [&](graph::ValueId v) { return v == graph::kAbsent; });
      if (!is_inside || !pass_on(node)) {
        // Only an op that reads exact values may be unknown.
        for (const graph::ValueId v : node.inputs) {
          if (v != graph::kAbsent && std::ranges::any_of(errors_[v], [](Real e) { return e != 0; }))
            return std::nullopt;
        }
      }
      for (const graph::ValueId v : node.outputs) record(v);
    }
    return bounded;
  }

 private:
  void add_rounding(graph::ValueId v) {
    for (std::size_t i = 0; i < errors_[v].size(); ++i) {
      errors_[v][i] += rounding_error(values_[v].elements[i], values_[v].type.dtype);
    }
  }

  NaiveTensor error_of(graph::ValueId v) const { return {values_[v].type, errors_[v]}; }
  NaiveTensor size_of(graph::ValueId v) const {
    NaiveTensor sizes = values_[v];
    for (Real& x : sizes.elements) x = std::fabs(x);
    return sizes;
  }

  /// The node's op on other elements, without rounding.
  std::vector<Real> applied(const graph::Node& node, const std::vector<NaiveTensor>& inputs) const {
    std::vector<const NaiveTensor*> tensors;
    std::vector<const graph::TensorType*> types;
    for (const NaiveTensor& input : inputs) {
      tensors.push_back(&input);
      types.push_back(&input.type);
    }
    NaiveCall call{node.op.name(),
                   tensors,
                   {{graph_.values[node.outputs[0]].type, {}}},
                   graph::Call(node.op, types, node.attributes, 1)};
    (void)evaluate_node(call);
    return std::move(call.outputs[0].elements);
  }

  /// The errors of a node's outputs. False for an op without a rule.
  bool pass_on(const graph::Node& node) {
    const std::string_view op = node.op.name();
    const graph::ValueId out = node.outputs[0];
    std::vector<Real>& errors = errors_[out];
    if (op == "range") return true;  // of integers
    if (moves_errors(op)) {
      errors = applied(node, {error_of(node.inputs[0])});
    } else if (op == "matmul") {
      // |a|·db + da·|b| + da·db
      const auto [a, b] = std::pair(node.inputs[0], node.inputs[1]);
      const std::vector<Real> first = applied(node, {size_of(a), error_of(b)});
      const std::vector<Real> second = applied(node, {error_of(a), size_of(b)});
      const std::vector<Real> both = applied(node, {error_of(a), error_of(b)});
      for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = first[i] + second[i] + both[i];
    } else if (op == "softmax") {
      // Each exponential and their sum change by a factor of at most exp(e).
      const std::vector<Real>& inputs = errors_[node.inputs[0]];
      const Real most = inputs.empty() ? 0 : *std::ranges::max_element(inputs);
      for (std::size_t i = 0; i < errors.size(); ++i) {
        errors[i] = times(values_[out].elements[i], std::expm1(2 * most));
      }
    } else if (is_elementwise(op)) {
      pass_on_elementwise(node);
    } else {
      return false;
    }
    if (!is_exact(op)) add_rounding(out);
    for (std::size_t i = 0; i < errors.size(); ++i) settle_infinities(node, i);
    return true;
  }

  void pass_on_elementwise(const graph::Node& node) {
    const graph::ValueId out = node.outputs[0];
    std::vector<NaiveTensor> errors;
    for (const graph::ValueId v : node.inputs) errors.push_back(error_of(v));
    std::size_t at = 0;
    each_index(values_[out].type.shape, [&](const Index& index) {
      std::vector<Operand> operands;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        operands.push_back(
            {broadcast_at(values_[node.inputs[i]], index), broadcast_at(errors[i], index)});
      }
      errors_[out][at++] = passed_on(node.op.name(), operands);
    });
  }

  /// An infinity that comes from one is exact; another is an overflow. NaNs have no error.
  void settle_infinities(const graph::Node& node, std::size_t i) {
    const graph::ValueId out = node.outputs[0];
    const Real x = values_[out].elements[i];
    if (std::isfinite(x)) return;
    bool is_old = std::isnan(x);
    for (const graph::ValueId v : node.inputs) {
      for (const Real element : values_[v].elements) is_old = is_old || std::isinf(element);
    }
    errors_[out][i] = is_old ? 0 : kUnknown;
  }

  const graph::Graph& graph_;
  std::vector<NaiveTensor> values_;
  std::vector<std::vector<Real>> errors_;
};

}  // namespace

long double rounding_error(long double rounded, DType dtype) {
  if (!std::isfinite(rounded)) return 0;
  int mantissa = 0;
  int least = 0;  // the exponent of the smallest number above 0
  switch (dtype) {
    case DType::kF64:
      mantissa = 52, least = -1074;
      break;
    case DType::kF32:
      mantissa = 23, least = -149;
      break;
    case DType::kF16:
      mantissa = 10, least = -24;
      break;
    case DType::kBF16:
      mantissa = 7, least = -133;
      break;
    default:
      return 0;
  }
  if (rounded == 0) return std::ldexp(1.0L, least - 1);
  int exponent = 0;
  (void)std::frexp(rounded, &exponent);
  return std::ldexp(1.0L, std::max(exponent - 1 - mantissa, least) - 1);
}

std::optional<std::map<std::string, BoundedTensor>> evaluate_with_bounds(
    const graph::Graph& graph, const std::map<std::string, NaiveTensor>& inputs,
    const std::vector<std::vector<std::string>>& known) {
  graph::Graph all = graph;
  all.outputs.clear();
  for (graph::ValueId v = 0; v < all.values.size(); ++v) all.outputs.push_back(v);
  std::optional<std::vector<NaiveTensor>> values = naive_evaluate(all, inputs);
  if (!values) return std::nullopt;
  return Analysis(graph, *std::move(values)).run(known);
}

}  // namespace tessera::test
