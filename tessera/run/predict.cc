// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/predict.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "tessera/base/sort_stably.h"
#include "tessera/moves/price.h"
#include "tessera/ops/shares.h"

namespace tessera::run {
namespace {

/// The slowest rate of the first of these units that handles the type.
std::optional<double> rate_of(const Machine& machine, std::initializer_list<std::string_view> units,
                              DType dtype) {
  for (const std::string_view unit : units) {
    std::optional<double> slowest;
    for (const target::ComputeRate& rate : machine.compute) {
      const bool handles = rate.dtype.empty() || rate.dtype == dtype_name(dtype);
      if (rate.unit != unit || !handles) continue;
      slowest = std::min(slowest.value_or(rate.per_cycle), rate.per_cycle);
    }
    if (slowest) return slowest;
  }
  return std::nullopt;
}

/// What moves between buffers take, one after the other; empty if one cannot be priced.
std::optional<double> move_cycles(const Execution& execution, const std::vector<Move>& moves,
                                  MovePrices& prices) {
  double sum = 0;
  for (const Move& move : moves) {
    const std::optional<double> cycles = prices.cycles(
        prices.number_of(source_of(execution, move), destination_of(execution, move)));
    if (!cycles) return std::nullopt;
    sum += *cycles;
  }
  return sum;
}

}  // namespace

void add_compute(const Execution& execution, const Step& step, StepCycles& cycles) {
  const graph::Node& node = execution.graph.nodes[step.node];
  std::vector<const graph::TensorType*> types;
  for (const graph::ValueId v : node.inputs) {
    types.push_back(v == graph::kAbsent ? nullptr : &execution.graph.values[v].type);
  }
  graph::Types outputs;
  for (const graph::ValueId v : node.outputs) outputs.push_back(execution.graph.values[v].type);
  const graph::Call call(node.op, types, node.attributes, outputs.size());
  const Result<std::vector<ops::Share>> shares =
      ops::shares_of(call, outputs, step.loops, step.work);
  if (!shares) return;
  const graph::Family family = node.op.rule().family;
  const bool is_product =
      family == graph::Family::kContraction || node.op.is("conv") || node.op.is("conv_transpose");
  const DType dtype = outputs[0].dtype;
  std::optional<double> rate;
  if (is_product) {
    rate = rate_of(execution.machine, {"matrix", "vector"}, dtype);
  } else if (family == graph::Family::kReduction) {
    rate = rate_of(execution.machine, {"reduce", "elementwise", "vector"}, dtype);
  } else {
    rate = rate_of(execution.machine, {"elementwise", "vector"}, dtype);
  }
  // A multiplication and an addition are one step of a unit that does products.
  const double per_flop = is_product ? 0.5 : 1;
  double slowest = 0;
  for (const ops::Share& share : *shares) {
    if (share.iterations == 0) continue;
    if (share.flops > 0 && !rate) {
      cycles.classes.clear();
      return;
    }
    const double time = share.flops == 0 ? 0 : static_cast<double>(share.flops) * per_flop / *rate;
    cycles.classes.push_back({share.count(), share.example, share.flops, time});
    slowest = std::max(slowest, time);
  }
  cycles.compute = slowest;
  sort_stably(cycles.classes,
              [](const ClassCycles& a, const ClassCycles& b) { return a.cycles > b.cycles; });
}

moves::Stored source_of(const Execution& execution, const Move& move) {
  const Buffer& from = execution.buffers[move.from];
  return {move.from_part.value_or(Placement(from.layout)), from.space};
}

moves::Stored destination_of(const Execution& execution, const Move& move) {
  const Buffer& to = execution.buffers[move.to];
  return {move.to_part.value_or(Placement(to.layout)), to.space};
}

std::optional<double> StepCycles::total() const {
  if (!bring || !compute || !settle) return std::nullopt;
  return *bring + *compute + *settle;
}

std::vector<StepCycles> predict(const Execution& execution, MovePrices& prices) {
  std::vector<StepCycles> cycles;
  for (const Step& step : execution.steps) {
    StepCycles each;
    each.bring = move_cycles(execution, step.bring, prices);
    add_compute(execution, step, each);
    std::vector<Move> outward = step.settle;
    outward.insert(outward.end(), step.deliver.begin(), step.deliver.end());
    each.settle = move_cycles(execution, outward, prices);
    cycles.push_back(each);
  }
  return cycles;
}

Result<std::vector<StepCycles>> predict(const Execution& execution) {
  TESSERA_TRY(moves::MoveModel model, moves::MoveModel::make(execution.machine));
  MovePrices prices(std::move(model));
  return predict(execution, prices);
}

std::optional<double> total_cycles(const std::vector<StepCycles>& steps) {
  double sum = 0;
  for (const StepCycles& step : steps) {
    const std::optional<double> total = step.total();
    if (!total) return std::nullopt;
    sum += *total;
  }
  return sum;
}

}  // namespace tessera::run
