// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/ops/padding_law.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/graph/data.h"

namespace tessera::test {
namespace {

using ops::Loops;
using ops::PaddingNeed;
using ops::PaddingState;
using ops::PaddingStates;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The factor that is all of a dim's index, if its extent is the dim's.
std::optional<int> factor_of(const Loops& loops, const ops::DimAccess& dim, std::int64_t extent) {
  std::vector<Term> terms = dim.terms;
  if (terms.size() > 1) {
    std::erase_if(terms, [&](const Term& term) {
      return loops.factors[static_cast<std::size_t>(term.dim)].extent <= 1;
    });
  }
  if (terms.size() != 1 || terms[0].coef != 1 || dim.start != 0) return std::nullopt;
  if (loops.factors[static_cast<std::size_t>(terms[0].dim)].extent != extent) return std::nullopt;
  return terms[0].dim;
}

long double element_in(Dice& dice, const PaddingState& state, DType dtype) {
  if (state.kind == PaddingState::Kind::kValue) return state.value;
  if (dtype == DType::kBool) return static_cast<long double>(dice.below(2));
  if (state.kind == PaddingState::Kind::kUndef && graph::is_float(dtype)) {
    static constexpr std::array<long double, 4> kWild = {NAN, INFINITY, -INFINITY, 1e30L};
    return kWild[static_cast<std::size_t>(dice.below(4))];
  }
  const bool is_signed = graph::is_float(dtype) || graph::is_signed(dtype);
  return as_element(static_cast<long double>(dice.between(is_signed ? -50 : 0, 50)), dtype);
}

/// The larger extents of output dims that are the range of a padded factor.
std::vector<std::int64_t> padded_extents(const OpCase& made, const Loops& loops,
                                         const PadSizes& sizes, const Shape& out) {
  std::vector<std::int64_t> extents = out.extents();
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const auto factor = factor_of(loops, loops.outputs[0].dims[d], out[d]);
    if (!factor) continue;
    std::int64_t most = 0;
    for (std::size_t i = 0; i < made.inputs.size(); ++i) {
      for (std::size_t e = 0; e < sizes[i].size(); ++e) {
        const Shape& shape = made.inputs[i]->type.shape;
        if (factor_of(loops, loops.inputs[i]->dims[e], shape[e]) == factor) {
          most = std::max(most, sizes[i][e]);
        }
      }
    }
    extents[d] += most;
  }
  return extents;
}

std::vector<std::int64_t> integers(const OpCase& made, std::string_view name) {
  const auto list = made.types();
  return graph::Call(made.op, list, made.attributes, made.outputs).integers(name);
}

void state_extents(OpCase& padded, const OpCase& made, const Loops& loops, const PadSizes& sizes) {
  const std::string_view op = made.op.name();
  if (op == "reshape" || op == "expand" || op == "resize") {
    const Shape out = (*made.infer())[0].shape;
    padded.attributes.set("shape", padded_extents(made, loops, sizes, out));
  } else if (op == "slice") {
    std::vector<std::int64_t> ends = integers(made, "ends");
    for (std::size_t d = 0; d < ends.size(); ++d) {
      const std::int64_t extent = made.inputs[0]->type.shape[d];
      if (ends[d] < 0) ends[d] = -1000;  // down to the first element
      if (factor_of(loops, loops.inputs[0]->dims[d], extent)) ends[d] += sizes[0][d];
    }
    padded.attributes.set("ends", ends);
  } else if (op == "group_norm" || op == "conv" || op == "conv_transpose") {
    const auto list = made.types();
    const std::int64_t groups = graph::Call(made.op, list, made.attributes, 1).integer("groups");
    const bool one_each = groups == made.inputs[0]->type.shape[1];
    if (one_each && (op == "group_norm" || groups > 1)) {
      padded.attributes.set("groups", groups + sizes[0][1]);
    }
  }
}

std::vector<PaddingStates> random_states(Dice& dice, const OpCase& made, const PadSizes& sizes) {
  std::vector<PaddingStates> states;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    static constexpr std::array<double, 5> kValues = {0, 0, 1, 2, -kInfinity};
    double value = kValues[static_cast<std::size_t>(dice.below(5))];
    const bool is_float = made.inputs[i] && graph::is_float(made.inputs[i]->type.dtype);
    if (!is_float || made.is_index(i)) value = 0;
    states.emplace_back();
    for (const std::int64_t size : sizes[i]) {
      const std::int64_t way = size == 0 ? 3 : dice.below(3);
      // No element of a corner is infinite along one dim and finite along another.
      states.back().push_back(way == 0                           ? PaddingState::of(value)
                              : way == 1 && std::isfinite(value) ? PaddingState::dirty()
                              : way <= 2                         ? PaddingState::undef()
                                                                 : PaddingState::absent());
    }
  }
  return states;
}

Result<ops::PaddingFlow> flow_of(const OpCase& made, const Loops& loops,
                                 const std::vector<PaddingStates>& states) {
  const auto list = made.types();
  const graph::Call call(made.op, list, made.attributes, made.outputs);
  return ops::padding_of(call, *made.infer(), loops, states);
}

/// Takes away padding that must not be there.
void drop_exact(const ops::PaddingFlow& flow, PadSizes& sizes, std::vector<PaddingStates>& states,
                const OpCase& made, const Loops& loops) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::size_t d = 0; d < sizes[i].size(); ++d) {
      if (sizes[i][d] == 0 || !flow.needs[i][d].is_exact()) continue;
      sizes[i][d] = 0;
      const auto factor = factor_of(loops, loops.inputs[i]->dims[d], made.inputs[i]->type.shape[d]);
      for (std::size_t j = 0; j < sizes.size(); ++j) {
        for (std::size_t e = 0; e < sizes[j].size(); ++e) {
          const Shape& shape = made.inputs[j]->type.shape;
          const bool same =
              factor && factor_of(loops, loops.inputs[j]->dims[e], shape[e]) == factor;
          if (same) sizes[j][e] = 0;
          if (sizes[j][e] == 0) states[j][e] = PaddingState::absent();
        }
      }
    }
  }
}

bool is_near(long double a, long double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         std::fabs(a - b) <= 1e-5L * (1 + std::fabs(b));
}

/// Whether positions point into the tensor that they choose from.
bool positions_fit(const OpCase& call) {
  const auto list = call.types();
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i] || !call.is_index(i) || call.op.is("one_hot")) continue;
    const Shape& table = call.inputs[0]->type.shape;
    const graph::Call with(call.op, list, call.attributes, call.outputs);
    const bool several = call.op.is("gather_nd") || call.op.is("scatter_nd");
    const Shape& shape = call.inputs[i]->type.shape;
    const std::int64_t width = several ? shape[shape.rank() - 1] : 1;
    std::size_t first = 0;  // the dim of the table that the first coordinate is in
    if (call.op.is("gather_nd")) first = static_cast<std::size_t>(with.integer("batch_dims"));
    if (with.given("axis")) first = dim_at(with.integer("axis"), table.rank());
    if (static_cast<std::int64_t>(first) + width > static_cast<std::int64_t>(table.rank())) {
      return false;
    }
    if (call.op.is("gather_elements") || call.op.is("scatter_elements")) {
      for (std::size_t d = 0; d < shape.rank(); ++d) {
        if (d != first && shape[d] > table[d]) return false;
      }
    }
    for (std::size_t e = 0; e < call.inputs[i]->elements.size(); ++e) {
      const std::int64_t extent = table[first + e % static_cast<std::size_t>(width)];
      const std::int64_t most = call.op.is("reverse_sequence") ? extent : extent - 1;
      const long double position = call.inputs[i]->elements[e];
      if (position < 0 || position > static_cast<long double>(most)) return false;
    }
  }
  return true;
}

}  // namespace

PadSizes random_padding(Dice& dice, const OpCase& made, const Loops& loops) {
  std::vector<std::int64_t> of_factor;
  for (std::size_t f = 0; f < loops.factors.size(); ++f) {
    of_factor.push_back(dice.chance(60) ? dice.between(1, 3) : 0);
  }
  PadSizes sizes(made.inputs.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!made.inputs[i]) continue;
    const Shape& shape = made.inputs[i]->type.shape;
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      const bool is_read = loops.inputs[i] && !loops.inputs[i]->dims[d].terms.empty();
      const auto factor =
          is_read ? factor_of(loops, loops.inputs[i]->dims[d], shape[d]) : std::optional<int>();
      sizes[i].push_back(factor    ? of_factor[static_cast<std::size_t>(*factor)]
                         : is_read ? dice.below(3)
                                   : 0);
    }
  }
  return sizes;
}

Result<PaddingRead> padding_read(const OpCase& made, const Loops& loops, PadSizes sizes,
                                 const PaddingRule& rule) {
  std::vector<std::int64_t> least(loops.factors.size(), INT64_MAX);  // of padding, per factor
  const auto each_dim = [&](const auto& visit) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (std::size_t d = 0; loops.inputs[i] && d < sizes[i].size(); ++d) {
        const ops::DimAccess& dim = loops.inputs[i]->dims[d];
        if (const auto factor = factor_of(loops, dim, made.inputs[i]->type.shape[d])) {
          visit(sizes[i][d], least[static_cast<std::size_t>(*factor)]);
        } else if (dim.terms.empty()) {
          sizes[i][d] = 0;
        }
      }
    }
  };
  each_dim([](std::int64_t size, std::int64_t& most) { most = std::min(most, size); });
  each_dim([](std::int64_t& size, std::int64_t most) { size = most; });
  std::vector<PaddingStates> states;
  for (const auto& list : sizes) {
    states.emplace_back();
    for (const std::int64_t size : list) {
      states.back().push_back(size > 0 ? PaddingState::undef() : PaddingState::absent());
    }
  }
  const auto types = made.types();
  const graph::Call call(made.op, types, made.attributes, made.outputs);
  TESSERA_TRY(const graph::Types outputs, made.infer());
  TESSERA_TRY(ops::PaddingFlow flow, rule(call, outputs, loops, states));
  drop_exact(flow, sizes, states, made, loops);
  TESSERA_TRY(flow, rule(call, outputs, loops, states));
  return PaddingRead{std::move(sizes), std::move(flow.refilled)};
}

OpCase padded_call(Dice& dice, const OpCase& made, const Loops& loops, const PadSizes& sizes,
                   const std::vector<PaddingStates>& states) {
  OpCase padded = made;
  state_extents(padded, made, loops, sizes);
  for (std::size_t i = 0; i < made.inputs.size(); ++i) {
    if (!made.inputs[i]) continue;
    const graph::TensorType& type = made.inputs[i]->type;
    std::vector<std::int64_t> extents = type.shape.extents();
    for (std::size_t d = 0; d < extents.size(); ++d) extents[d] += sizes[i][d];
    NaiveTensor& tensor = *padded.inputs[i];
    tensor.type.shape = *Shape::make(extents);
    tensor.elements.clear();
    each_index(tensor.type.shape, [&](const Index& x) {
      if (type.shape.contains(x)) {
        const auto at = static_cast<std::size_t>(row_major(type.shape, x));
        tensor.elements.push_back(made.inputs[i]->elements[at]);
        return;
      }
      PaddingState state = PaddingState::undef();
      for (std::size_t d = 0; d < x.size(); ++d) {
        if (x[d] >= type.shape[d] && states[i][d].kind < state.kind) state = states[i][d];
      }
      tensor.elements.push_back(element_in(dice, state, type.dtype));
    });
  }
  return padded;
}

std::string difference(const OpCase& made, const OpCase& padded) {
  if (!positions_fit(padded)) return "a position outside its tensor";
  const auto expected = made.evaluate();
  const auto got = padded.evaluate();
  if (!expected) return "the evaluator does not know the op";
  if (!got) return "the padded call is not valid";
  for (std::size_t o = 0; o < expected->size(); ++o) {
    const Shape& shape = (*expected)[o].type.shape;
    const Shape& larger = (*got)[o].type.shape;
    if (larger.rank() != shape.rank()) return "another rank";
    std::string wrong;
    each_index(shape, [&](const Index& y) {
      if (!wrong.empty()) return;
      if (!larger.contains(y)) {
        wrong = cat("output ", o, " lacks ", bracketed(y));
        return;
      }
      const long double want =
          (*expected)[o].elements[static_cast<std::size_t>(row_major(shape, y))];
      const long double is = (*got)[o].elements[static_cast<std::size_t>(row_major(larger, y))];
      if (!is_near(is, want)) {
        wrong = cat("output ", o, bracketed(y), " is ", std::to_string(static_cast<double>(is)),
                    ", expected ", std::to_string(static_cast<double>(want)));
      }
    });
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string padding_law(Dice& dice, const OpCase& made, const Loops& loops) {
  PadSizes sizes = random_padding(dice, made, loops);
  std::vector<PaddingStates> states = random_states(dice, made, sizes);
  Result<ops::PaddingFlow> flow = flow_of(made, loops, states);
  if (!flow) return flow.error().message;
  drop_exact(*flow, sizes, states, made, loops);
  flow = flow_of(made, loops, states);
  if (!flow) return flow.error().message;
  const auto text = [&] {
    std::string line;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (std::size_t d = 0; d < sizes[i].size(); ++d) {
        line += cat(" ", i, ".", d, ": +", sizes[i][d], " ", states[i][d].to_string(), " needs ",
                    flow->needs[i][d].to_string(), " is ", flow->refilled[i][d].to_string(), ";");
      }
    }
    return line;
  };
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::size_t d = 0; d < sizes[i].size(); ++d) {
      if (!flow->needs[i][d].met_by(flow->refilled[i][d])) return "a refill did not help" + text();
    }
  }
  const OpCase padded = padded_call(dice, made, loops, sizes, flow->refilled);
  const std::string wrong = difference(made, padded);
  if (!wrong.empty()) return wrong + text();
  const auto expected = made.evaluate();
  const auto got = padded.evaluate();
  for (std::size_t o = 0; o < got->size(); ++o) {
    const Shape& shape = (*expected)[o].type.shape;
    std::string left;
    each_index((*got)[o].type.shape, [&](const Index& y) {
      const long double element =
          (*got)[o].elements[static_cast<std::size_t>(row_major((*got)[o].type.shape, y))];
      for (std::size_t d = 0; d < y.size(); ++d) {
        if (y[d] < shape[d]) continue;
        const PaddingState& state = flow->outputs[o][d];
        const bool holds = state.kind == PaddingState::Kind::kUndef ||
                           (state.kind == PaddingState::Kind::kDirty && std::isfinite(element)) ||
                           (state.kind == PaddingState::Kind::kValue &&
                            is_near(element, static_cast<long double>(state.value)));
        if (!holds) {
          left =
              cat("output ", o, bracketed(y), " is ", std::to_string(static_cast<double>(element)),
                  ", but dim ", d, " was to leave ", state.to_string());
        }
      }
    });
    if (!left.empty()) return left + text();
  }
  return "";
}

void try_without(Dice& dice, const OpCase& made, const Loops& loops, Witnesses& seen) {
  const auto note = [&](const std::string& need, bool is_wrong) {
    bool& known = seen[cat(made.op.name(), " ", need)];
    known = known || is_wrong;
  };
  PadSizes sizes = random_padding(dice, made, loops);
  std::vector<PaddingStates> states;
  for (const auto& list : sizes) {
    states.emplace_back();
    for (const std::int64_t size : list) {
      states.back().push_back(size > 0 ? PaddingState::undef() : PaddingState::absent());
    }
  }
  const ops::PaddingFlow all = *flow_of(made, loops, states);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::size_t d = 0; d < sizes[i].size(); ++d) {
      if (sizes[i][d] == 0 || !all.needs[i][d].is_exact()) continue;
      // Only this dim, and others that the same loop runs over.
      const auto factor = factor_of(loops, loops.inputs[i]->dims[d], made.inputs[i]->type.shape[d]);
      static constexpr std::array<double, 4> kTried = {0, 1, -kInfinity, kInfinity};
      for (const double number : kTried) {
        PadSizes one(sizes.size());
        std::vector<PaddingStates> filled(sizes.size());
        for (std::size_t j = 0; j < sizes.size(); ++j) {
          for (std::size_t e = 0; e < sizes[j].size(); ++e) {
            const Shape& shape = made.inputs[j]->type.shape;
            const bool same =
                (i == j && d == e) ||
                (factor && factor_of(loops, loops.inputs[j]->dims[e], shape[e]) == factor);
            one[j].push_back(same ? sizes[j][e] : 0);
            const bool is_float = graph::is_float(made.inputs[j]->type.dtype);
            filled[j].push_back(PaddingState::of(is_float ? number : 0));
          }
        }
        const OpCase padded = padded_call(dice, made, loops, one, filled);
        note(cat("input ", i, " exact, not ", PaddingState::of(number).to_string()),
             !difference(made, padded).empty());
      }
    }
  }
  drop_exact(all, sizes, states, made, loops);
  const ops::PaddingFlow flow = *flow_of(made, loops, states);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::size_t d = 0; d < sizes[i].size(); ++d) {
      const PaddingNeed& need = flow.needs[i][d];
      if (need == PaddingNeed::nothing() || sizes[i][d] == 0) continue;
      std::vector<PaddingStates> without = flow.refilled;
      const bool finite = need.kind == PaddingNeed::Kind::kFinite || dice.chance(50);
      without[i][d] = finite ? PaddingState::undef() : PaddingState::dirty();
      for (PaddingState& state : without[i]) {  // corners too
        if (!state.is_absent()) state = without[i][d];
      }
      const OpCase padded = padded_call(dice, made, loops, sizes, without);
      note(cat("input ", i, " ", need.to_string()), !difference(made, padded).empty());
    }
  }
}

}  // namespace tessera::test
