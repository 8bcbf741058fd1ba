// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/predict.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "tessera/base/sort_stably.h"
#include "tessera/layout/view.h"
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

std::optional<std::pair<moves::Stored, moves::Stored>> sides_of(const Execution& execution,
                                                                const Move& move) {
  const Buffer& from = execution.buffers[move.from];
  const Buffer& to = execution.buffers[move.to];
  Placement source = move.from_part.value_or(Placement(from.layout));
  Placement destination = move.to_part.value_or(Placement(to.layout));
  if (move.slice) {
    const int dim = static_cast<int>(move.slice->dim);
    const Result<View> a = View::of(from.layout).slice(dim, move.slice->start, move.slice->count);
    const Result<View> b = View::of(to.layout).slice(dim, 0, move.slice->count);
    if (!a || !b) return std::nullopt;
    source = Placement(*a);
    destination = Placement(*b);
  }
  return std::pair(moves::Stored{std::move(source), from.space},
                   moves::Stored{std::move(destination), to.space});
}

std::optional<MovePrices::Number> number_of(const Execution& execution, const Move& move,
                                            MovePrices& prices) {
  const auto sides = sides_of(execution, move);
  if (!sides) return std::nullopt;
  return prices.number_of(sides->first, sides->second);
}

std::optional<double> move_cycles(const Execution& execution, const std::vector<Move>& moves,
                                  MovePrices& prices) {
  double sum = 0;
  for (const Move& move : moves) {
    const std::optional<MovePrices::Number> number = number_of(execution, move, prices);
    const std::optional<double> cycles = number ? prices.cycles(*number) : std::nullopt;
    if (!cycles) return std::nullopt;
    sum += *cycles;
  }
  return sum;
}

namespace {

/// What a panel takes to arrive: the price of its moves or, where parts of a memory have no price,
/// its part of the whole operands.
std::optional<double> panel_cycles(const Execution& execution, const Panels& panels,
                                   MovePrices& prices) {
  if (const auto cycles = move_cycles(execution, panels.bring.front(), prices)) return cycles;
  double sum = 0;
  for (const Panels::Operand& operand : panels.operands) {
    const Buffer& from = execution.buffers[operand.source];
    const std::optional<double> cycles =
        prices.cycles(prices.number_of({Placement(from.layout), from.space},
                                       {Placement(operand.whole), execution.machine.data_space}));
    if (!cycles) return std::nullopt;
    sum += *cycles / static_cast<double>(panels.bring.size());
  }
  return sum;
}

/// How long kernels wait for panels: for the first, and for others as far as they arrive later than
/// the one before is computed.
void add_panels(const Execution& execution, const Panels& panels, MovePrices& prices,
                StepCycles& cycles) {
  const std::optional<double> each = panel_cycles(execution, panels, prices);
  if (!each || !cycles.bring || !cycles.compute) {
    cycles.bring.reset();
    return;
  }
  const auto count = static_cast<double>(panels.bring.size());
  *cycles.bring += *each + (count - 1) * std::max(0.0, *each - *cycles.compute / count);
}

}  // namespace

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
    if (step.panels) add_panels(execution, *step.panels, prices, each);
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
