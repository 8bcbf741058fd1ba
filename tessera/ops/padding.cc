// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/padding.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/ops/padding/element_values.h"
#include "tessera/ops/padding/rules.h"

namespace tessera::ops {
namespace {

using padding::Making;

/// The flow of one call.
class Flow {
 public:
  Flow(const graph::Call& call, const graph::Types& outputs, const Loops& loops,
       const std::vector<PaddingStates>& inputs)
      : call_(call), types_(outputs), loops_(loops) {
    for (std::size_t f = 0; f < loops.factors.size(); ++f) {
      clean_.push_back(is_clean(static_cast<int>(f)));
    }
    flow_.refilled = inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      flow_.needs.emplace_back(inputs[i].size());
      for (PaddingState& state : flow_.refilled[i]) state = known(state, call.dtype(i));
    }
  }

  PaddingFlow run() && {
    for (std::size_t f = 0; f < clean_.size(); ++f) {
      runs_.push_back(clean_[f] && all_padded(static_cast<int>(f)));
      if (runs_[f]) need_of_factor(static_cast<int>(f));
    }
    for (std::size_t i = 0; i < flow_.needs.size(); ++i) {
      for (std::size_t d = 0; d < flow_.needs[i].size(); ++d) need_of_other_dim(i, d);
    }
    for (std::size_t i = 0; i < flow_.needs.size(); ++i) refill_input(i);
    for (std::size_t o = 0; o < types_.size(); ++o) {
      flow_.outputs.emplace_back();
      for (const DimAccess& dim : loops_.outputs[o].dims) {
        const PaddingState state = state_of_dim(o, dim);
        flow_.outputs[o].push_back(known(state, types_[o].dtype));
      }
    }
    return std::move(flow_);
  }

 private:
  std::int64_t extent(int factor) const {
    return loops_.factors[static_cast<std::size_t>(factor)].extent;
  }

  /// The factor that is the whole index of a dim; terms that are always 0 do not count.
  std::optional<int> only_factor(const DimAccess& dim) const {
    std::optional<int> found;
    for (const Term& term : dim.terms) {
      if (dim.terms.size() > 1 && extent(term.dim) <= 1) continue;
      if (found || term.coef != 1 || dim.start != 0) return std::nullopt;
      found = term.dim;
    }
    return found;
  }

  bool is_clean_in(int factor, const Access& access, const Shape& shape) const {
    for (std::size_t d = 0; d < access.dims.size(); ++d) {
      const auto& terms = access.dims[d].terms;
      const auto has = [&](const Term& term) { return term.dim == factor; };
      if (std::ranges::none_of(terms, has)) continue;
      if (only_factor(access.dims[d]) != factor || shape[d] != extent(factor)) return false;
    }
    return true;
  }

  bool is_clean(int factor) const {
    for (std::size_t i = 0; i < loops_.inputs.size(); ++i) {
      if (loops_.inputs[i] && !is_clean_in(factor, *loops_.inputs[i], call_.shape(i))) {
        return false;
      }
    }
    for (std::size_t o = 0; o < types_.size(); ++o) {
      if (!is_clean_in(factor, loops_.outputs[o], types_[o].shape)) return false;
    }
    return true;
  }

  /// The dims of an input that have a factor.
  std::vector<std::size_t> dims_with(std::size_t input, int factor) const {
    std::vector<std::size_t> dims;
    if (!loops_.inputs[input]) return dims;
    const Access& access = *loops_.inputs[input];
    for (std::size_t d = 0; d < access.dims.size(); ++d) {
      if (clean_[static_cast<std::size_t>(factor)] && only_factor(access.dims[d]) == factor) {
        dims.push_back(d);
      }
    }
    return dims;
  }

  /// Whether all inputs that have the factor are padded along it; otherwise it stops at its extent.
  bool all_padded(int factor) const {
    bool any = false;
    for (std::size_t i = 0; i < loops_.inputs.size(); ++i) {
      for (const std::size_t d : dims_with(i, factor)) {
        if (flow_.refilled[i][d].is_absent()) return false;
        any = true;
      }
    }
    return any;
  }

  /// The dim of an input that says most of what lies beyond a factor.
  std::optional<std::size_t> dim_with(std::size_t input, int factor) const {
    const std::vector<std::size_t> dims = dims_with(input, factor);
    const auto best = std::ranges::min_element(
        dims, {}, [&](std::size_t d) { return flow_.refilled[input][d].kind; });
    return best == dims.end() ? std::nullopt : std::optional(*best);
  }

  bool multiplies(int factor) const {
    const FactorKind kind = loops_.factors[static_cast<std::size_t>(factor)].kind;
    if (padding::making_of(call_) == Making::kProduct) return kind == FactorKind::kReduce;
    return padding::is_product_of_attention(call_, loops_, factor);
  }

  void need_of_factor(int factor) {
    if (multiplies(factor)) return need_of_product(factor);
    const auto several = padding::needs_of_attention(call_, loops_, factor);
    for (std::size_t i = 0; i < loops_.inputs.size(); ++i) {
      const std::optional<std::size_t> dim = dim_with(i, factor);
      if (!dim) continue;
      PaddingNeed need = several ? (*several)[i] : padding::need_along(call_, loops_, factor);
      if (need == PaddingNeed::nothing() && padding::is_position(call_, i)) {
        need = PaddingNeed::of(0);
      }
      flow_.needs[i][*dim] = need;
      if (need.is_exact()) runs_[static_cast<std::size_t>(factor)] = false;
    }
  }

  /// One operand is 0 along the factor and the others are finite.
  void need_of_product(int factor) {
    std::vector<std::pair<std::size_t, std::size_t>> operands;
    for (std::size_t i = 0; i < loops_.inputs.size(); ++i) {
      if (const auto dim = dim_with(i, factor)) operands.emplace_back(i, *dim);
    }
    const auto need_of = [&](std::size_t i, std::size_t zero) {
      return i == zero ? PaddingNeed::of(0) : PaddingNeed::finite();
    };
    std::size_t best = 0;
    std::size_t least = SIZE_MAX;
    for (const auto& [zero, dim_of_zero] : operands) {
      std::size_t refills = 0;
      for (const auto& [i, dim] : operands) {
        if (!need_of(i, zero).met_by(flow_.refilled[i][dim])) ++refills;
      }
      if (refills <= least) {
        least = refills;
        best = zero;
      }
    }
    for (const auto& [i, dim] : operands) flow_.needs[i][dim] = need_of(i, best);
  }

  /// Dims that are not the range of one factor.
  void need_of_other_dim(std::size_t i, std::size_t d) {
    if (!loops_.inputs[i] || flow_.refilled[i][d].is_absent()) return;
    const DimAccess& access = loops_.inputs[i]->dims[d];
    const std::optional<int> factor = only_factor(access);
    if (factor && clean_[static_cast<std::size_t>(*factor)]) return;
    if (padding::is_window_dim(call_, i, d)) {
      flow_.needs[i][d] = padding::need_under_window(call_);
    } else if (!padding::reads_by_position(call_, loops_, i, d)) {
      flow_.needs[i][d] = PaddingNeed::exact();
    }
  }

  void refill_input(std::size_t i) {
    for (std::size_t d = 0; d < flow_.needs[i].size(); ++d) {
      const PaddingNeed& need = flow_.needs[i][d];
      if (need.is_exact() || need.met_by(flow_.refilled[i][d])) continue;
      refill(flow_.refilled[i], d, need.value);
    }
  }

  /// Whether the op reads padding of an input along a dim.
  bool is_read(std::size_t i, std::size_t d) const {
    if (!loops_.inputs[i] || flow_.refilled[i][d].is_absent()) return false;
    const std::optional<int> factor = only_factor(loops_.inputs[i]->dims[d]);
    if (factor && clean_[static_cast<std::size_t>(*factor)]) {
      return runs_[static_cast<std::size_t>(*factor)];
    }
    return padding::is_window_dim(call_, i, d) && !flow_.needs[i][d].is_exact();
  }

  /// What is read of an input, whatever the index: its elements, and padding along any dim.
  PaddingState anywhere(std::size_t i) const {
    PaddingState state = PaddingState::dirty();
    for (std::size_t d = 0; d < flow_.refilled[i].size(); ++d) {
      if (is_read(i, d)) state = either(state, flow_.refilled[i][d]);
    }
    return known(state, call_.dtype(i));
  }

  /// What is read of an input by iterations beyond the extent of a factor.
  PaddingState beyond(std::size_t i, int factor) const {
    const std::optional<std::size_t> dim = dim_with(i, factor);
    return dim ? flow_.refilled[i][*dim] : anywhere(i);
  }

  /// One per input; absent where an input is left out.
  std::vector<PaddingState> all_beyond(int factor) const {
    std::vector<PaddingState> states;
    for (std::size_t i = 0; i < loops_.inputs.size(); ++i) {
      states.push_back(loops_.inputs[i] ? beyond(i, factor) : PaddingState::absent());
    }
    return states;
  }

  PaddingState state_of_dim(std::size_t o, const DimAccess& dim) const {
    const std::optional<int> factor = only_factor(dim);
    if (!factor) return PaddingState::undef();
    const DType dtype = types_[o].dtype;
    if (!clean_[static_cast<std::size_t>(*factor)]) return state_of_window(*factor);
    if (!runs_[static_cast<std::size_t>(*factor)]) return PaddingState::undef();
    const std::vector<PaddingState> states = all_beyond(*factor);
    if (loops_.factors[static_cast<std::size_t>(*factor)].kind != FactorKind::kPass) {
      return padding::state_along_axis(call_, states, beside(*factor), dtype);
    }
    switch (padding::making_of(call_)) {
      case Making::kElements:
        return element_state(call_, states, dtype);
      case Making::kMoves:
        return padding::moved_state(call_, states);
      case Making::kProduct:
        return product_state(states);
      case Making::kOther:
        return padding::other_state(call_, states, o, dtype);
    }
    return PaddingState::undef();
  }

  /// What input 0 has elsewhere: along all dims but those of the factor.
  PaddingState beside(int factor) const {
    PaddingState state = PaddingState::dirty();
    for (std::size_t d = 0; d < flow_.refilled[0].size(); ++d) {
      if (only_factor(loops_.inputs[0]->dims[d]) != factor && is_read(0, d)) {
        state = either(state, flow_.refilled[0][d]);
      }
    }
    return state;
  }

  PaddingState product_state(const std::vector<PaddingState>& states) const {
    bool zero = false;
    bool finite = true;
    bool adds_zero = true;
    for (std::size_t i = 0; i < states.size(); ++i) {
      finite = finite && states[i].is_finite();
      const bool added = padding::is_added(call_, i);
      if (added) adds_zero = adds_zero && (states[i].is(0) || states[i].is_absent());
      if (!added) zero = zero || states[i].is(0);
    }
    if (!finite) return PaddingState::undef();
    return zero && adds_zero ? PaddingState::of(0) : PaddingState::dirty();
  }

  /// Positions of a window beyond the extent of the output, if the input is padded there.
  PaddingState state_of_window(int position) const {
    bool slides = false;
    bool zero = false;
    for (std::size_t d = 0; d < flow_.refilled[0].size(); ++d) {
      const auto& terms = loops_.inputs[0]->dims[d].terms;
      const auto has = [&](const Term& term) { return term.dim == position; };
      if (!is_read(0, d) || std::ranges::none_of(terms, has)) continue;
      slides = padding::is_window_dim(call_, 0, d);
      zero = call_.op().is("lrn") && flow_.refilled[0][d].is(0);
    }
    bool finite = true;
    for (std::size_t i = 0; i < loops_.inputs.size(); ++i) {
      if (loops_.inputs[i]) finite = finite && anywhere(i).is_finite();
    }
    if (!slides || !finite) return PaddingState::undef();
    return zero ? PaddingState::of(0) : PaddingState::dirty();
  }

  const graph::Call& call_;
  const graph::Types& types_;
  const Loops& loops_;
  std::vector<bool> clean_;  ///< per factor: the whole index of every dim that has it
  std::vector<bool> runs_;   ///< per factor: it runs beyond its extent
  PaddingFlow flow_;
};

}  // namespace

Result<PaddingFlow> padding_of(const graph::Call& call, const graph::Types& outputs,
                               const Loops& loops, const std::vector<PaddingStates>& inputs) {
  if (inputs.size() != call.inputs()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat(inputs.size(), " lists of padding for ", call.inputs(), " inputs"),
                 std::nullopt, "one per input, empty for one that is left out"};
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t rank = call.has(i) ? call.shape(i).rank() : 0;
    if (inputs[i].size() != rank) {
      return Error{ErrorCode::kShapeMismatch,
                   cat("input ", i, " has ", rank, " dims, but states for ", inputs[i].size()),
                   std::nullopt, "one state per dim"};
    }
  }
  return Flow(call, outputs, loops, inputs).run();
}

namespace {

/// The flow of a node without loops: it needs exact inputs and says nothing of its outputs.
PaddingFlow unknown_flow(const graph::Types& outputs, const std::vector<PaddingStates>& inputs) {
  PaddingFlow flow;
  flow.refilled = inputs;
  for (const PaddingStates& states : inputs) {
    flow.needs.emplace_back(states.size(), PaddingNeed::exact());
  }
  for (const graph::TensorType& type : outputs) {
    flow.outputs.emplace_back(type.shape.rank(), known(PaddingState::undef(), type.dtype));
  }
  return flow;
}

}  // namespace

Result<PaddingPlan> plan_padding(const graph::Graph& graph,
                                 const std::vector<PaddingStates>& given) {
  if (given.size() != graph.values.size()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat(given.size(), " lists of padding for ", graph.values.size(), " values"),
                 std::nullopt, "one per value, with a state per dim"};
  }
  PaddingPlan plan;
  plan.values = given;
  std::vector<PaddingStates> now = given;  // as refills have left it
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const graph::Node& node = graph.nodes[n];
    std::vector<const graph::TensorType*> types;
    std::vector<PaddingStates> states;
    for (const graph::ValueId value : node.inputs) {
      const bool absent = value == graph::kAbsent;
      types.push_back(absent ? nullptr : &graph.values[value].type);
      states.push_back(absent ? PaddingStates() : now[value]);
    }
    TESSERA_TRY(const graph::Types outputs, graph::infer(graph, node));
    const graph::Call call(node.op, types, node.attributes, node.outputs.size());
    PaddingFlow flow;
    const Result<Loops> loops = loops_of(call, outputs);
    if (loops) {
      TESSERA_TRY(flow, padding_of(call, outputs, *loops, states));
    } else if (loops.error().code == ErrorCode::kNotSupported) {
      flow = unknown_flow(outputs, states);
    } else {
      return loops.error();
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      for (std::size_t d = 0; d < flow.needs[i].size(); ++d) {
        const PaddingNeed& need = flow.needs[i][d];
        const graph::ValueId value = node.inputs[i];
        if (need.met_by(known(now[value][d], graph.values[value].type.dtype))) continue;
        if (need.is_exact()) {
          plan.masked.push_back({n, i, d});
          continue;
        }
        refill(now[value], d, need.value);
        plan.refills.push_back({n, value, d, need.value});
      }
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      PaddingStates& states_of_output = now[node.outputs[o]];
      for (std::size_t d = 0; d < states_of_output.size(); ++d) {
        if (!states_of_output[d].is_absent()) states_of_output[d] = flow.outputs[o][d];
      }
      plan.values[node.outputs[o]] = states_of_output;
    }
  }
  return plan;
}

}  // namespace tessera::ops
