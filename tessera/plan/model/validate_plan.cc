// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/model/validate_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/run/common_mesh.h"
#include "tessera/run/memory_plan.h"
#include "tessera/run/predict.h"

namespace tessera::plan {
namespace {

/// Sums of doubles in another order.
bool is_close(double a, double b) { return std::abs(a - b) <= 1e-6 * (1 + std::abs(b)); }

/// The end of memories whose size is not known.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

class Findings {
 public:
  explicit Findings(std::size_t most) : most_(most) {}
  void add(PlanFlaw flaw, std::string message) {
    if (list_.size() < most_) list_.push_back({flaw, std::move(message)});
  }
  bool empty() const { return list_.empty(); }
  std::vector<PlanFinding> take() { return std::move(list_); }

 private:
  std::size_t most_;
  std::vector<PlanFinding> list_;
};

void check_layouts(const ModelPlan& plan, const graph::Graph& graph, const Machine& machine,
                   Findings& findings) {
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const graph::Value& value = graph.values[v];
    const Layout& layout = plan.layouts[v];
    if (!(layout.shape() == value.type.shape) || layout.dtype() != value.type.dtype) {
      findings.add(PlanFlaw::kWrongLayout,
                   cat("'", value.name, "' is ", value.type.to_string(), ", its layout is of ",
                       dtype_name(layout.dtype()), "[", layout.shape().to_string(), "]"));
      continue;
    }
    const Result<Layout> placed = run::on_coordinates(layout, machine);
    if (!placed) {
      findings.add(PlanFlaw::kWrongLayout, cat("'", value.name, "': ", placed.error().message));
    }
    const std::string& space =
        layout.spec().space.empty() ? machine.data_space : layout.spec().space;
    if (plan.buffers[v].name != value.name || plan.buffers[v].space != space) {
      findings.add(PlanFlaw::kWrongLayout,
                   cat("'", value.name, "' is in ", space, ", its buffer '", plan.buffers[v].name,
                       "' in ", plan.buffers[v].space));
    }
  }
}

/// Whether some place has both: along every axis, coordinates of both. A buffer without axes is
/// everywhere.
bool meet_on_a_place(const PlannedBuffer& a, const PlannedBuffer& b) {
  const std::size_t axes = std::min(
      {a.places.from.size(), a.places.to.size(), b.places.from.size(), b.places.to.size()});
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (a.places.to[axis] <= b.places.from[axis] || b.places.to[axis] <= a.places.from[axis]) {
      return false;
    }
  }
  return true;
}

/// Whether places are enough for those that are needed.
bool has_places(const Box& planned, const Box& needed) {
  if (planned.from.empty()) return true;
  bool has_all = planned.from.size() == needed.from.size();
  for (std::size_t axis = 0; has_all && axis < needed.from.size(); ++axis) {
    has_all = planned.from[axis] <= needed.from[axis] && needed.to[axis] <= planned.to[axis];
  }
  return has_all;
}

void check_buffers(const ModelPlan& plan, const Machine& machine, Findings& findings) {
  std::map<std::string, std::vector<const PlannedBuffer*>> by_space;
  for (const PlannedBuffer& each : plan.buffers) {
    const target::MemorySpace* const space = machine.find_space(each.space);
    if (space == nullptr) {
      findings.add(PlanFlaw::kTooMuchMemory,
                   cat("'", each.name, "' is in memory '", each.space, "', which is not there"));
      continue;
    }
    const std::int64_t capacity = space->data_bytes().value_or(kMostBytes);
    if (each.offset < 0 || each.bytes < 0 || each.bytes > capacity ||
        each.offset > capacity - each.bytes) {
      findings.add(PlanFlaw::kTooMuchMemory,
                   cat("'", each.name, "': ", each.bytes, " bytes from ", each.offset, " on, ",
                       space->name, " has ", capacity));
      continue;
    }
    if (each.offset % std::max<std::int64_t>(space->align_bytes, 1) != 0) {
      findings.add(PlanFlaw::kOverlap, cat("'", each.name, "': offset ", each.offset,
                                           " is no multiple of ", space->align_bytes));
    }
    if (each.bytes > 0) by_space[each.space].push_back(&each);
  }
  // Of each memory, in the order of their beginnings.
  for (auto& [name, list] : by_space) {
    std::ranges::sort(list, {}, [](const PlannedBuffer* each) { return each->from; });
    for (std::size_t a = 0; a < list.size(); ++a) {
      for (std::size_t b = a + 1; b < list.size() && list[b]->from < list[a]->to; ++b) {
        const bool apart = list[a]->offset + list[a]->bytes <= list[b]->offset ||
                           list[b]->offset + list[b]->bytes <= list[a]->offset;
        if (apart || list[b]->from >= list[b]->to || !meet_on_a_place(*list[a], *list[b])) continue;
        findings.add(PlanFlaw::kOverlap,
                     cat("'", list[a]->name, "' and '", list[b]->name, "' share bytes of ", name,
                         " at moment ", list[b]->from));
      }
    }
  }
}

void check_run(const ModelPlan& plan, const graph::Graph& graph, const Machine& machine,
               Findings& findings) {
  const Result<run::Execution> execution = execution_of(plan, graph, machine);
  if (!execution) {
    findings.add(PlanFlaw::kDoesNotRun, execution.error().message);
    return;
  }
  if (execution->buffers.size() != plan.buffers.size()) {
    findings.add(PlanFlaw::kWrongCount, cat("the plan has ", plan.buffers.size(),
                                            " buffers, a run needs ", execution->buffers.size()));
    return;
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlannedBuffer& planned = plan.buffers[b];
    const run::Buffer& needed = execution->buffers[b];
    if (run::is_in_places(needed, machine) && !has_places(planned.places, needed.places)) {
      findings.add(PlanFlaw::kTooMuchMemory,
                   cat("'", planned.name, "' has no memory on some places that a run needs"));
    }
    if (planned.bytes == needed.bytes && planned.from == needed.from && planned.to == needed.to) {
      continue;
    }
    findings.add(
        PlanFlaw::kTooMuchMemory,
        cat("'", planned.name, "' has ", planned.bytes, " bytes at moments ", planned.from, " to ",
            planned.to, ", a run needs ", needed.bytes, " at ", needed.from, " to ", needed.to));
  }
  const Result<std::vector<run::StepCycles>> cycles = run::predict(*execution);
  if (!cycles) {
    findings.add(PlanFlaw::kDoesNotRun, cycles.error().message);
    return;
  }
  for (std::size_t k = 0; k < cycles->size(); ++k) {
    const run::StepCycles& found = (*cycles)[k];
    const PlannedOp& op = plan.ops[k];
    const auto differs = [&](const std::optional<double>& a, double b) {
      return a && !is_close(*a, b);  // without a figure the plan states what it assumed
    };
    if (!differs(found.bring, op.bring_cycles) && !differs(found.compute, op.compute_cycles) &&
        !differs(found.settle, op.settle_cycles)) {
      continue;
    }
    findings.add(PlanFlaw::kWrongPrice, cat(graph::node_text(graph, graph.nodes[op.node]),
                                            " takes ", std::to_string(found.total().value_or(0)),
                                            " cycles, not ", std::to_string(op.cycles())));
  }
}

void check_sums(const ModelPlan& plan, const Machine& machine, Findings& findings) {
  double sum = machine.op_gap_seconds.value_or(0) *
               static_cast<double>(machine.clock_hz.value_or(0)) *
               static_cast<double>(plan.ops.empty() ? 0 : plan.ops.size() - 1);
  for (const PlannedOp& op : plan.ops)
    sum += op.bring_cycles + op.compute_cycles + op.settle_cycles;
  if (!is_close(plan.cycles, sum)) {
    findings.add(PlanFlaw::kWrongSum, cat("the ops take ", std::to_string(sum),
                                          " cycles, the plan says ", std::to_string(plan.cycles)));
  }
  const double gap =
      plan.cycles > 0 ? (plan.cycles - plan.lower_bound_cycles) / plan.cycles : plan.gap;
  if (plan.lower_bound_cycles > plan.cycles * (1 + 1e-9) || std::abs(gap - plan.gap) > 1e-6) {
    findings.add(PlanFlaw::kWrongBound, cat("the bound ", std::to_string(plan.lower_bound_cycles),
                                            " and the total ", std::to_string(plan.cycles),
                                            " do not give a gap of ", std::to_string(plan.gap)));
  }
}

}  // namespace

std::string_view flaw_name(PlanFlaw flaw) {
  switch (flaw) {
    case PlanFlaw::kOtherModel:
      return "other_model";
    case PlanFlaw::kOtherTarget:
      return "other_target";
    case PlanFlaw::kWrongCount:
      return "wrong_count";
    case PlanFlaw::kWrongLayout:
      return "wrong_layout";
    case PlanFlaw::kOverlap:
      return "overlap";
    case PlanFlaw::kTooMuchMemory:
      return "too_much_memory";
    case PlanFlaw::kDoesNotRun:
      return "does_not_run";
    case PlanFlaw::kWrongPrice:
      return "wrong_price";
    case PlanFlaw::kWrongSum:
      return "wrong_sum";
    case PlanFlaw::kWrongBound:
      return "wrong_bound";
  }
  return "";
}

std::vector<PlanFinding> validate(const ModelPlan& plan, const graph::Graph& graph,
                                  const Machine& machine, std::size_t most) {
  Findings findings(most);
  const std::string model = graph::hash(graph).to_string();
  if (plan.model_hash != model) {
    findings.add(PlanFlaw::kOtherModel,
                 cat("the plan is of model ", plan.model_hash, ", this one is ", model));
  }
  if (plan.target_hash != target_hash(machine)) {
    findings.add(PlanFlaw::kOtherTarget,
                 cat("the plan is for ", plan.target, " ", plan.target_hash, ", this machine is ",
                     machine.name, " ", target_hash(machine)));
  }
  if (!findings.empty()) return findings.take();
  if (plan.layouts.size() != graph.values.size() || plan.buffers.size() < graph.values.size() ||
      plan.ops.size() != graph.nodes.size()) {
    findings.add(PlanFlaw::kWrongCount,
                 cat(plan.layouts.size(), " layouts and ", plan.buffers.size(), " buffers for ",
                     graph.values.size(), " values, ", plan.ops.size(), " ops for ",
                     graph.nodes.size(), " nodes"));
    return findings.take();
  }
  check_layouts(plan, graph, machine, findings);
  check_buffers(plan, machine, findings);
  check_sums(plan, machine, findings);
  check_run(plan, graph, machine, findings);
  return findings.take();
}

}  // namespace tessera::plan
