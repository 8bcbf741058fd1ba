// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/machines/propagate_on.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/ops/alternatives.h"
#include "tessera/ops/machines/kernels_of.h"
#include "tessera/ops/machines/spyre_sticks.h"

namespace tessera::ops {
namespace {

using machines::Asked;
using machines::Ways;
using Layouts = std::vector<std::optional<Layout>>;

constexpr std::size_t kMostTried = 1024;  // combinations of layouts of inputs
constexpr std::size_t kMostAlternatives = 8;

class Machinery {
 public:
  Machinery(MachineFamily family, std::int64_t places, const Question& question, graph::Types types)
      : family_(family),
        places_(places),
        question_(question),
        types_(std::move(types)),
        ways_(machines::ways_of(family)) {
    given_ = question.inputs;
    given_.resize(question.call->inputs());
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (!question.call->has(i)) given_[i].reset();
    }
  }

  Result<OnMachine> answer();

 private:
  Result<OnMachine> judge(const Layouts& inputs) const;
  Result<OnMachine> judge_with(const Layouts& inputs, const Layouts& outputs) const;
  Asked asked(const Operands& operands) const { return {*question_.call, types_, operands}; }
  bool asks_outputs() const {
    return std::ranges::any_of(question_.outputs, [](const auto& o) { return o.has_value(); });
  }
  bool is_missing(std::size_t i) const { return question_.call->has(i) && !given_[i]; }
  void each_choice(bool change, const std::function<bool(const Layouts&)>& visit) const;
  void find_alternatives(Answer& answer) const;

  MachineFamily family_;
  std::int64_t places_;
  const Question& question_;
  graph::Types types_;
  Ways ways_;
  Layouts given_;
};

/// Every element in the same slot of the same places, however the layouts are written.
bool is_stored_alike(const Layout& a, const Layout& b) {
  if (a == b) return true;
  const bool alike = a.mesh() == b.mesh() && a.spec().device_map == b.spec().device_map &&
                     a.spec().space == b.spec().space && a.atom() == b.atom() &&
                     a.slots() == b.slots();
  if (!alike) return false;
  const Result<Comparison> same = same_function(a, b);
  return same && same->equal;
}

std::string text_of(const Kernels::Brings& brings, const Layout& layout) {
  if (brings.everywhere) {
    const bool divided = layout.places() > 1;
    if (divided) return "read by all places, wherever it is";
    return layout.spec().space.empty() ? "read by all places"
                                       : cat("read by all places from ", layout.spec().space);
  }
  std::vector<std::int64_t> axes(brings.axes.begin(), brings.axes.end());
  return axes.empty() ? "" : cat("multicast along mesh axis ", join(axes, " and "));
}

/// The answer for these layouts; outputs may be unknown.
Result<OnMachine> Machinery::judge_with(const Layouts& inputs, const Layouts& outputs) const {
  Kernels kernels = ways_.kernels(asked({inputs, outputs}));
  const Question question{question_.call, inputs, outputs};
  OnMachine made;
  Result<Answer> answer = propagate(question, kernels);
  if (answer) {
    made.answer = *std::move(answer);
  } else if (answer.error().code == ErrorCode::kMeshMismatch) {
    TESSERA_TRY(made.answer.loops, loops_of(*question_.call, types_));
    made.answer.inputs = inputs;
    made.answer.halos.resize(inputs.size());
    made.answer.reason = answer.error().message;
  } else {
    return answer.error();
  }
  Operands operands{made.answer.inputs, {}};
  for (std::size_t i = 0; i < operands.inputs.size(); ++i) {
    if (i < inputs.size() && inputs[i]) operands.inputs[i] = inputs[i];
    if (!question_.call->has(i)) operands.inputs[i].reset();
  }
  if (made.answer.legal) {
    operands.outputs.assign(made.answer.outputs.begin(), made.answer.outputs.end());
  } else {
    operands.outputs = outputs;
  }
  TESSERA_TRY(const Allowed allowed, allowed_on(family_, *question_.call, types_, operands));
  made.rule = allowed.rule;
  made.refused_by_rule = !allowed.legal;
  if (!allowed.legal) {
    made.answer.legal = false;
    made.answer.outputs.clear();
    made.answer.reason =
        cat("predicate '", allowed.rule, "' of ", family_name(family_), ": ", allowed.reason);
  }
  bool decides = false;  // whether some operand decides where work is done
  for (std::size_t i = 0; i < operands.inputs.size(); ++i) {
    const Kernels::Brings brings = kernels.of_input(i);
    made.brought.push_back(operands.inputs[i] ? text_of(brings, *operands.inputs[i]) : "");
    decides = decides || (operands.inputs[i] && !brings.everywhere);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    decides = decides || (outputs[o] && !kernels.is_anywhere(o));
  }
  made.kernels = std::move(kernels);
  if (decides || family_ == MachineFamily::kWafer || !made.answer.legal) return made;
  made.answer.work.reset();
  if (family_ == MachineFamily::kSpyre) {
    made.answer.work = machines::core_division(*question_.call, types_, made.answer.loops,
                                               made.answer.outputs[0], places_);
  }
  return made;
}

/// The same, with outputs that the kernels choose where none are asked.
Result<OnMachine> Machinery::judge(const Layouts& inputs) const {
  if (asks_outputs() || ways_.outputs == nullptr) {
    return judge_with(inputs, question_.outputs);
  }
  std::vector<std::vector<Layout>> choices;
  std::size_t most = 1;
  for (std::size_t o = 0; o < types_.size(); ++o) {
    choices.push_back(ways_.outputs(asked({inputs, {}}), o));
    most = std::max(most, choices.back().size());
  }
  std::optional<OnMachine> first;
  for (std::size_t k = 0; k < most; ++k) {
    Layouts outputs;
    for (const std::vector<Layout>& list : choices) {
      outputs.emplace_back();
      if (!list.empty()) outputs.back() = list[std::min(k, list.size() - 1)];
    }
    TESSERA_TRY(OnMachine made, judge_with(inputs, outputs));
    if (made.answer.legal) return made;
    // What forbids it whatever the output is says more than what forbids one output.
    if (!first) first = std::move(made);
  }
  TESSERA_TRY(OnMachine without, judge_with(inputs, {}));
  if (without.refused_by_rule) return without;
  return *std::move(first);
}

/// Calls `visit` with layouts for all inputs until it returns true: those that are missing, and
/// with `change` also those that are given, get layouts that the kernels know.
void Machinery::each_choice(bool change, const std::function<bool(const Layouts&)>& visit) const {
  std::vector<std::vector<std::optional<Layout>>> options;
  std::size_t all = 1;
  const Operands operands{given_, question_.outputs};
  for (std::size_t i = 0; i < given_.size(); ++i) {
    options.emplace_back();
    if (given_[i] || !question_.call->has(i)) options[i].emplace_back(given_[i]);
    // A division of the work gives a missing input what it needs.
    const bool by_work = is_missing(i) && family_ == MachineFamily::kWafer;
    if (by_work) options[i].emplace_back(std::nullopt);
    const bool more = question_.call->has(i) && (change || (is_missing(i) && !by_work));
    if (more) {
      for (Layout& layout : ways_.inputs(asked(operands), i)) {
        const bool is_known = std::ranges::any_of(options[i], [&](const auto& other) {
          return other && is_stored_alike(*other, layout);
        });
        if (!is_known) options[i].emplace_back(std::move(layout));
      }
    }
    if (options[i].empty()) options[i].emplace_back(std::nullopt);
    all = (Checked(static_cast<std::int64_t>(all)) * static_cast<std::int64_t>(options[i].size()))
                      .saturated() > static_cast<std::int64_t>(kMostTried)
              ? kMostTried + 1
              : all * options[i].size();
  }
  if (all > kMostTried) {  // all inputs take the same of their options
    std::size_t most = 0;
    for (const auto& list : options) most = std::max(most, list.size());
    for (std::size_t k = 0; k < most; ++k) {
      Layouts inputs;
      for (const auto& list : options) inputs.push_back(list[std::min(k, list.size() - 1)]);
      if (visit(inputs)) return;
    }
    return;
  }
  std::vector<std::size_t> pick(options.size());
  for (bool more = true; more;) {
    Layouts inputs;
    for (std::size_t i = 0; i < pick.size(); ++i) inputs.push_back(options[i][pick[i]]);
    if (visit(inputs)) return;
    more = false;
    for (std::size_t i = pick.size(); i-- > 0 && !more;) {
      more = ++pick[i] < options[i].size();
      if (!more) pick[i] = 0;
    }
  }
}

void Machinery::find_alternatives(Answer& answer) const {
  std::vector<Layouts> candidates;
  for (const Alternative& other : answer.alternatives) candidates.push_back(other.inputs);
  answer.alternatives.clear();
  each_choice(true, [&](const Layouts& inputs) {
    candidates.push_back(inputs);
    return false;
  });
  const auto is_known = [&](const Layouts& inputs) {
    return std::ranges::find(answer.alternatives, inputs, &Alternative::inputs) !=
           answer.alternatives.end();
  };
  for (const Layouts& inputs : candidates) {
    Alternative other;
    other.inputs = inputs;
    Checked bytes(0);
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const bool changed = given_[i] && inputs[i] && !(*given_[i] == *inputs[i]);
      other.changed.push_back(changed);
      if (changed) bytes += held_bytes(*inputs[i]);
    }
    other.bytes = bytes.saturated();
    if (std::ranges::find(other.changed, true) == other.changed.end()) continue;
    if (is_known(inputs)) continue;
    Result<OnMachine> made = judge(inputs);
    if (!made || !made->answer.legal) continue;
    other.inputs = made->answer.inputs;
    if (!is_known(other.inputs)) answer.alternatives.push_back(std::move(other));
  }
  const auto changes = [](const Alternative& a) { return std::ranges::count(a.changed, true); };
  sort_stably(answer.alternatives, [&](const Alternative& a, const Alternative& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : changes(a) < changes(b);
  });
  if (answer.alternatives.size() > kMostAlternatives) {
    answer.alternatives.resize(kMostAlternatives);
  }
}

Result<OnMachine> Machinery::answer() {
  std::optional<Result<OnMachine>> first;
  std::optional<OnMachine> legal;
  each_choice(false, [&](const Layouts& inputs) {
    Result<OnMachine> made = judge(inputs);
    if (made && made->answer.legal) {
      legal = *std::move(made);
    } else if (!first || !*first) {
      first = std::move(made);
    }
    return legal.has_value();
  });
  if (legal) return *std::move(legal);
  if (!*first) return first->error();
  OnMachine made = **std::move(first);
  find_alternatives(made.answer);
  return made;
}

}  // namespace

namespace machines {

Ways ways_of(MachineFamily family) {
  switch (family) {
    case MachineFamily::kTtnn:
      return ttnn_ways();
    case MachineFamily::kSpyre:
      return spyre_ways();
    case MachineFamily::kWafer:
      break;
  }
  return wafer_ways();
}

const Layout* first_divided(const Asked& asked) {
  for (const Asked::Named& operand : asked.all()) {
    for (std::size_t d = 0; d < operand.layout->shape().rank(); ++d) {
      if (is_divided(*operand.layout, d)) return operand.layout;
    }
  }
  return nullptr;
}

}  // namespace machines

Result<OnMachine> propagate_on(MachineFamily family, std::int64_t places,
                               const Question& question) {
  TESSERA_TRY(graph::Types types, graph::infer(*question.call));
  return Machinery(family, places, question, std::move(types)).answer();
}

}  // namespace tessera::ops
