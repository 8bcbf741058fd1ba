// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/padding/rules.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "tessera/graph/data.h"

namespace tessera::ops::padding {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_any(const graph::Call& call, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, call.op().name()) != names.end();
}

/// The smallest or largest number of a type.
double extreme(DType dtype, bool largest) {
  if (graph::is_float(dtype)) return largest ? kInfinity : -kInfinity;
  const int bits = static_cast<int>(dtype_bits(dtype).value_or(1));
  if (!graph::is_signed(dtype)) return largest ? std::ldexp(1.0, bits) - 1 : 0;
  return largest ? std::ldexp(1.0, bits - 1) - 1 : -std::ldexp(1.0, bits - 1);
}

double neutral(Reduction reduction, DType dtype) {
  switch (reduction) {
    case Reduction::kProduct:
    case Reduction::kAnd:
      return 1;
    case Reduction::kMin:
      return extreme(dtype, true);
    case Reduction::kMax:
      return extreme(dtype, false);
    default:
      return 0;
  }
}

bool is_attention(const graph::Call& call) { return call.op().is("attention"); }

bool is_output_dim(const Loops& loops, int factor) {
  return std::ranges::any_of(loops.outputs,
                             [&](const Access& access) { return access.has(factor); });
}

/// What a factor that stays whole needs, by op.
PaddingNeed need_of_whole(const graph::Call& call) {
  const DType dtype = call.dtype(0);
  if (is_any(call, {"softmax", "log_softmax", "hardmax", "reduce_log_sum_exp"})) {
    return PaddingNeed::of(-kInfinity);
  }
  if (is_any(call, {"reduce_l2", "reduce_log_sum", "conv_transpose"})) return PaddingNeed::of(0);
  if (is_any(call, {"argmax", "argmin"})) {
    // The first of several equal elements is not in the padding; the last is, unless no element
    // equals it.
    const bool last = call.integer("select_last") != 0;
    if (last && !graph::is_float(dtype)) return PaddingNeed::exact();
    return PaddingNeed::of(extreme(dtype, call.op().is("argmin")));
  }
  if (call.op().is("topk")) return PaddingNeed::of(extreme(dtype, call.integer("largest") == 0));
  if (call.op().is("cumsum")) {
    return call.integer("reverse") != 0 ? PaddingNeed::of(0) : PaddingNeed::nothing();
  }
  // Their positions and lengths never point into the padding.
  if (is_any(call, {"scatter_nd", "scatter_elements", "reverse_sequence"})) {
    return PaddingNeed::nothing();
  }
  return PaddingNeed::exact();
}

}  // namespace

Making making_of(const graph::Call& call) {
  const graph::Family family = call.op().rule().family;
  if (family == graph::Family::kElementwise) return Making::kElements;
  if (is_any(call, {"matmul", "gemm", "einsum", "conv", "conv_transpose"})) return Making::kProduct;
  return family == graph::Family::kMovement ? Making::kMoves : Making::kOther;
}

bool is_position(const graph::Call& call, std::size_t input) {
  return input == 1 && is_any(call, {"gather", "embedding", "gather_elements", "gather_nd",
                                     "scatter_nd", "scatter_elements", "reverse_sequence"});
}

PaddingNeed need_along(const graph::Call& call, const Loops& loops, int factor) {
  const Factor& f = loops.factors[static_cast<std::size_t>(factor)];
  // Positions in a whole image depend on the extents of all dims but the first.
  if (call.op().is("max_pool") && call.outputs() > 1) {
    const bool first = loops.outputs[0].dims[0] == at(factor);
    return first ? PaddingNeed::nothing() : PaddingNeed::exact();
  }
  switch (f.kind) {
    case FactorKind::kPass: {
      // Causal queries are aligned at the last key.
      const bool query = is_attention(call) && loops.inputs[0] &&
                         loops.inputs[0]->dims[call.shape(0).rank() - 2] == at(factor);
      return query && call.integer("causal") != 0 ? PaddingNeed::exact() : PaddingNeed::nothing();
    }
    case FactorKind::kReduce:
      if (f.masked) return PaddingNeed::nothing();  // no position chooses the padding
      // A mean divides by the number of elements.
      if (is_any(call, {"reduce_mean", "global_average_pool"})) return PaddingNeed::exact();
      return PaddingNeed::of(neutral(f.reduction, call.dtype(0)));
    case FactorKind::kWhole:
      break;
  }
  const bool scatters = is_any(call, {"scatter_nd", "scatter_elements"});
  if (scatters && !is_output_dim(loops, factor)) {  // more updates, which may add 0
    const bool adds = call.text("reduction") == "add" && loops.inputs[2]->has(factor);
    return adds ? PaddingNeed::of(0) : PaddingNeed::exact();
  }
  return need_of_whole(call);
}

PaddingNeed need_under_window(const graph::Call& call) {
  if (is_any(call, {"conv", "lrn"})) return PaddingNeed::of(0);
  if (call.op().is("max_pool") && call.outputs() == 1) {
    return PaddingNeed::of(extreme(call.dtype(0), false));
  }
  const bool counts_all = call.op().is("average_pool") && call.integer("count_include_pad") != 0;
  return counts_all ? PaddingNeed::of(0) : PaddingNeed::exact();
}

bool reads_by_position(const graph::Call& call, const Loops& loops, std::size_t input,
                       std::size_t dim) {
  const DimAccess& access = loops.inputs[input]->dims[dim];
  if (access.terms.empty()) return true;
  // The padding of the last input of a concat is at the end of the output.
  if (call.op().is("concat") && input + 1 == call.inputs()) return true;
  if (call.op().is("slice") || (call.op().is("scatter_elements") && input == 0)) return true;
  if (access.terms.size() > 1 || access.start != 0) return false;
  const Term& term = access.terms[0];
  const Factor& factor = loops.factors[static_cast<std::size_t>(term.dim)];
  return call.op().is("gather_elements") && term.coef == 1 &&
         factor.extent < call.shape(input)[dim];
}

bool is_window_dim(const graph::Call& call, std::size_t input, std::size_t dim) {
  if (input != 0) return false;
  if (call.op().is("lrn")) return dim == 1;
  return dim >= 2 && is_any(call, {"conv", "max_pool", "average_pool"});
}

bool is_added(const graph::Call& call, std::size_t input) {
  return input == 2 && is_any(call, {"gemm", "conv", "conv_transpose"});
}

bool is_product_of_attention(const graph::Call& call, const Loops& loops, int factor) {
  // Without a scale of its own it divides by the square root of the extent.
  return is_attention(call) && call.given("scale") &&
         loops.inputs[0]->dims[call.shape(0).rank() - 1] == at(factor);
}

std::optional<std::vector<PaddingNeed>> needs_of_attention(const graph::Call& call,
                                                           const Loops& loops, int factor) {
  if (!is_attention(call)) return std::nullopt;
  const std::size_t rank = call.shape(0).rank();
  std::vector<PaddingNeed> needs(call.inputs());
  if (loops.inputs[1]->dims[rank - 2] != at(factor)) return std::nullopt;
  // Keys in the padding have no weight if the mask says so; then only NaNs are left to avoid.
  const bool hides = call.has(3) && !loops.inputs[3]->dims.empty() &&
                     loops.inputs[3]->dims.back() == at(factor) && call.integer("causal") == 0;
  for (std::size_t i = 1; i < call.inputs(); ++i) {
    needs[i] = !hides  ? PaddingNeed::exact()
               : i < 3 ? PaddingNeed::finite()
                       : PaddingNeed::of(-kInfinity);
  }
  return needs;
}

PaddingState moved_state(const graph::Call& call, const std::vector<PaddingState>& inputs) {
  PaddingState state = PaddingState::absent();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_position(call, i)) state = either(state, inputs[i]);
  }
  const bool fills = call.op().is("trilu") || (call.op().is("pad") && !call.has(1));
  if (fills) state = either(state, PaddingState::of(0));
  const std::string_view reduction = call.text("reduction");
  const bool adds =
      is_any(call, {"scatter_nd", "scatter_elements"}) && !reduction.empty() && reduction != "none";
  if (adds && state.kind == PaddingState::Kind::kValue && !state.is(0)) {
    return state.is_finite() ? PaddingState::dirty() : PaddingState::undef();
  }
  return state;
}

PaddingState other_state(const graph::Call& call, const std::vector<PaddingState>& inputs,
                         std::size_t o, DType dtype) {
  const auto all = [&](const auto& holds) { return std::ranges::all_of(inputs, holds); };
  if (inputs.empty() || call.op().is("one_hot")) return PaddingState::dirty();
  const PaddingState& x = inputs[0];
  const bool finite = all([](const PaddingState& state) { return state.is_finite(); });
  if (o > 0) return known(finite ? PaddingState::dirty() : PaddingState::undef(), dtype);
  // The largest of equal elements is that element, and a sum of zeros is 0.
  const bool picks = is_any(call, {"reduce_max", "reduce_min", "max_pool", "global_max_pool"});
  if (picks && inputs.size() == 1 && x.kind == PaddingState::Kind::kValue) return x;
  const bool keeps_zero =
      is_any(call, {"reduce_sum", "reduce_mean", "reduce_prod", "reduce_l1", "reduce_l2",
                    "reduce_sum_square", "average_pool", "global_average_pool", "lrn", "resize",
                    "rms_norm", "cumsum"});
  if (keeps_zero && x.is(0) && finite) return PaddingState::of(0);
  if (call.op().is("reduce_prod") && x.is(1)) return x;
  // The logarithm of a sum may be one of a negative number, a variance may be negative, and the
  // first causal queries may see no key.
  const bool sees_none = is_attention(call) && call.integer("causal") != 0;
  if (sees_none || is_any(call, {"reduce_log_sum", "batch_norm"})) return PaddingState::undef();
  return known(finite ? PaddingState::dirty() : PaddingState::undef(), dtype);
}

PaddingState state_along_axis(const graph::Call& call, const std::vector<PaddingState>& inputs,
                              const PaddingState& beside, DType output) {
  const PaddingState& x = inputs[0];
  if (is_any(call, {"softmax", "hardmax", "log_softmax"})) {
    if (!beside.is_finite() || !x.is(-kInfinity)) return PaddingState::undef();
    return PaddingState::of(call.op().is("log_softmax") ? -kInfinity : 0.0);
  }
  if (call.op().is("cumsum")) {
    if (call.integer("reverse") != 0 && x.is(0)) return x;
    return known(
        beside.is_finite() && x.is_finite() ? PaddingState::dirty() : PaddingState::undef(),
        output);
  }
  if (is_any(call, {"scatter_nd", "scatter_elements", "reverse_sequence"})) return x;
  return known(PaddingState::undef(), output);
}

}  // namespace tessera::ops::padding
