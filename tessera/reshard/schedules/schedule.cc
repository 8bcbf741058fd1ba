// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/schedules/schedule.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/reshard/flows/flow_tables.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/schedules/carries.h"
#include "tessera/reshard/schedules/direct.h"
#include "tessera/reshard/schedules/multicast_trees.h"
#include "tessera/reshard/schedules/shifts.h"
#include "tessera/reshard/schedules/streams.h"
#include "tessera/reshard/schedules/table_loads.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxListed = std::int64_t{1} << 22;

constexpr std::string_view kTrees = "multicast_trees";
constexpr std::string_view kStreams = "row_then_column_streams";
constexpr std::string_view kDirect = "direct";
constexpr std::string_view kShifts = "shifts";

/// A reshard as schedules see it: tables, or a list.
class Moves {
 public:
  static Result<Moves> make(const Reshard& reshard) {
    Moves moves;
    moves.mesh_ = *reshard.physical().fabric;
    moves.rate_ = reshard.wavelet_rate();
    if (reshard.parts().empty()) return moves;
    TESSERA_TRY(std::optional<FlowTables> tables, flow_tables(reshard));
    if (tables) {
      moves.tables_ = std::make_unique<FlowTables>(*std::move(tables));
      moves.rows_ = std::make_unique<TableLoads>(*moves.tables_, moves.mesh_, Axis::kAlongRows);
      moves.columns_ =
          std::make_unique<TableLoads>(*moves.tables_, moves.mesh_, Axis::kAlongColumns);
      return moves;
    }
    TESSERA_TRY(Dispatches dispatches,
                dispatches_of(reshard, {.boxes = false, .most = kMaxListed}));
    moves.list(std::move(dispatches));
    return moves;
  }

  const LineLoads* loads(Axis axis) const {
    return (axis == Axis::kAlongRows ? rows_ : columns_).get();
  }
  const fabric::FabricMesh& mesh() const { return mesh_; }
  const Reshard::Rate& rate() const { return rate_; }

  /// Cycles of multicast_trees; empty if there are too many.
  struct Trees {
    std::int64_t cycles = 0;
    std::int64_t count = 0;
  };
  std::optional<Trees> trees() const {
    const std::int64_t most = std::min<std::int64_t>(mesh_.colours, 32);
    if (tables_) {
      const auto trees = multicast_trees(*tables_, most);
      if (!trees) return std::nullopt;
      return Trees{tree_cycles(*trees, rate_, mesh_), std::ssize(*trees)};
    }
    if (!dispatches_) return Trees{};
    if (std::ssize(dispatches_->list) > most) return std::nullopt;
    return Trees{tree_cycles(*dispatches_, rate_, mesh_), std::ssize(dispatches_->list)};
  }

 private:
  void list(Dispatches dispatches) {
    dispatches_ = std::make_unique<Dispatches>(std::move(dispatches));
    row_carries_ = std::make_unique<Carries>(carries_of(*dispatches_, mesh_, Axis::kAlongRows));
    column_carries_ =
        std::make_unique<Carries>(carries_of(*dispatches_, mesh_, Axis::kAlongColumns));
    rows_ = std::make_unique<CarriedLoads>(*row_carries_, *dispatches_);
    columns_ = std::make_unique<CarriedLoads>(*column_carries_, *dispatches_);
  }

  fabric::FabricMesh mesh_;
  Reshard::Rate rate_;
  std::unique_ptr<FlowTables> tables_;
  std::unique_ptr<Dispatches> dispatches_;
  std::unique_ptr<Carries> row_carries_;
  std::unique_ptr<Carries> column_carries_;
  std::unique_ptr<LineLoads> rows_;
  std::unique_ptr<LineLoads> columns_;
};

/// A phase along either axis by `cost_of`, which returns cycles, rounds and colours.
template <typename CostOf>
ScheduleCost in_two_phases(const Moves& moves, std::string_view name, const CostOf& cost_of) {
  ScheduleCost cost;
  cost.move = name;
  for (const Axis axis : {Axis::kAlongRows, Axis::kAlongColumns}) {
    if (moves.loads(axis) == nullptr) continue;
    SchedulePhase phase = cost_of(*moves.loads(axis));
    if (phase.cycles == 0) continue;
    phase.name = axis == Axis::kAlongRows ? "along rows" : "along columns";
    cost.cycles += phase.cycles;
    cost.phases.push_back(std::move(phase));
  }
  return cost;
}

/// Collects schedules, and the reasons of those that do not apply.
class Collector {
 public:
  explicit Collector(const fabric::FabricMesh& mesh) : mesh_(mesh) {}

  void add(ScheduleCost cost) {
    if (cost.phases.empty()) return;
    if (cost.colours() > mesh_.colours) {
      leave_out(cost.name(),
                cat("it needs ", cost.colours(), " colours, and routers have ", mesh_.colours));
      return;
    }
    made_.costs.push_back(std::move(cost));
  }
  void leave_out(std::string name, std::string why) {
    made_.left_out.push_back({std::move(name), std::move(why)});
  }
  Schedules take() {
    sort_stably(made_.costs, [](const auto& x, const auto& y) { return x.cycles < y.cycles; });
    return std::move(made_);
  }

 private:
  const fabric::FabricMesh& mesh_;
  Schedules made_;
};

Schedules moving_schedules(const Moves& moves) {
  const fabric::FabricMesh& mesh = moves.mesh();
  Collector found(mesh);
  if (const auto trees = moves.trees()) {
    ScheduleCost cost;
    cost.move = kTrees;
    cost.cycles = trees->cycles;
    if (trees->count > 0) cost.phases = {{"multicasts", trees->cycles, 1, trees->count}};
    found.add(std::move(cost));
  } else {
    found.leave_out(std::string(kTrees),
                    cat("there are more multicasts than the ", mesh.colours, " colours"));
  }
  found.add(in_two_phases(moves, kStreams, [&](const LineLoads& loads) -> SchedulePhase {
    return {"", stream_cycles(loads, moves.rate(), mesh.ramp_cycles), 1, kStreamColours};
  }));
  bool is_known = true;
  ScheduleCost direct = in_two_phases(moves, kDirect, [&](const LineLoads& loads) -> SchedulePhase {
    const DirectCost cost = direct_cost(loads, moves.rate(), mesh);
    is_known = is_known && cost.is_known;
    return {"", cost.cycles, cost.rounds, cost.colours};
  });
  if (is_known) {
    found.add(std::move(direct));
  } else {
    found.leave_out(std::string(kDirect), "too many routes on too many different lines");
  }
  found.add(in_two_phases(moves, kShifts, [&](const LineLoads& loads) -> SchedulePhase {
    const ShiftCost cost = shift_cost(loads, moves.rate(), mesh.ramp_cycles);
    return {"", cost.cycles, cost.rounds, kShiftColours};
  }));
  return found.take();
}

/// Sums along lines, then the cheapest way to move them.
Result<Schedules> with_reductions(const Reshard& reshard, Schedules plain) {
  const fabric::FabricMesh& mesh = *reshard.physical().fabric;
  Collector found(mesh);
  TESSERA_TRY(const auto answer, reduction_plan(reshard));
  if (const auto* why = std::get_if<std::string>(&answer)) {
    for (const ReductionKind kind : kReductions) {
      plain.left_out.push_back({std::string(reduction_schedule_name(kind)), *why});
    }
    return plain;
  }
  const ReductionPlan& plan = std::get<ReductionPlan>(answer);
  TESSERA_TRY(const Reshard sums, Reshard::make(plan.result, reshard.to(), reshard.physical()));
  TESSERA_TRY(const Moves moves, Moves::make(sums));
  const Schedules then = moving_schedules(moves);
  for (const ReductionKind kind : kReductions) {
    ScheduleCost cost;
    if (!then.costs.empty()) cost = then.costs.front();
    cost.reduction = kind;
    std::vector<SchedulePhase> phases;
    for (const ShareLine& line : plan.lines) {
      const LineReduction taken = line_reduction(kind, line, plan.words, mesh.ramp_cycles);
      phases.push_back({cat(reduction_schedule_name(kind),
                            line.axis == Axis::kAlongRows ? " along rows" : " along columns"),
                        taken.cycles, taken.rounds, taken.colours});
      cost.cycles += taken.cycles;
    }
    cost.phases.insert(cost.phases.begin(), phases.begin(), phases.end());
    const bool is_chain = std::all_of(plan.lines.begin(), plan.lines.end(), [&](const auto& line) {
      return segment_of(line, mesh.ramp_cycles) == 1;
    });
    if (kind == ReductionKind::kTwoPhase && is_chain) {
      found.leave_out(cost.name(), "lines are too short for two phases");
      continue;
    }
    found.add(std::move(cost));
  }
  for (ScheduleCost& cost : plain.costs) found.add(std::move(cost));
  for (LeftOut& left : plain.left_out) found.leave_out(std::move(left.name), std::move(left.why));
  return found.take();
}

bool reduces(const Reshard& reshard) {
  return std::any_of(reshard.parts().begin(), reshard.parts().end(),
                     [](const ReshardPart& part) { return part.shares.reduces(); });
}

Error not_known(const Reshard& reshard) {
  return Error{ErrorCode::kNotSupported,
               cat("schedules are unknown: ", reshard.physical().why_no_fabric), std::nullopt,
               "name a target whose places are a mesh, such as wse2"};
}

/// The moves of a schedule, for a list of what moves.
Program moves_of(const Dispatches& items, std::string_view name, const Reshard::Rate& rate,
                 const fabric::FabricMesh& mesh) {
  Program program;
  if (name == kTrees) {
    program.rounds.push_back(tree_round(items, rate));
    return program;
  }
  std::int32_t first_colour = 0;
  for (const Axis axis : {Axis::kAlongRows, Axis::kAlongColumns}) {
    const Carries carries = carries_of(items, mesh, axis);
    if (carries.list.empty()) continue;
    if (name == kStreams) {
      program.rounds.push_back(stream_round(carries, items, rate, first_colour));
    } else if (name == kDirect) {
      add_direct_rounds(carries, items, rate, mesh, program);
    } else {
      add_shift_rounds(carries, items, rate, first_colour, program);
    }
  }
  return program;
}

}  // namespace

std::string ScheduleCost::name() const {
  if (!reduction) return move;
  const std::string_view first = reduction_schedule_name(*reduction);
  return move.empty() ? std::string(first) : cat(first, "+", move);
}

std::int64_t ScheduleCost::rounds() const {
  std::int64_t sum = 0;
  for (const SchedulePhase& phase : phases) sum += phase.rounds;
  return sum;
}

std::int64_t ScheduleCost::colours() const {
  std::int64_t most = 0;
  for (const SchedulePhase& phase : phases) most = std::max(most, phase.colours);
  return most;
}

Result<Schedules> schedules_of(const Reshard& reshard) {
  if (!reshard.physical().fabric) return not_known(reshard);
  TESSERA_TRY(const Moves moves, Moves::make(reshard));
  Schedules plain = moving_schedules(moves);
  if (!reduces(reshard) || plain.costs.empty()) return plain;
  return with_reductions(reshard, std::move(plain));
}

Result<ScheduleProgram> program_of(const Reshard& reshard, const ScheduleCost& schedule,
                                   std::int64_t most) {
  if (!reshard.physical().fabric) return not_known(reshard);
  const fabric::FabricMesh& mesh = *reshard.physical().fabric;
  ScheduleProgram program;
  if (schedule.reduction) {
    TESSERA_TRY(const auto answer, reduction_plan(reshard));
    if (const auto* why = std::get_if<std::string>(&answer)) {
      return Error{ErrorCode::kNotSupported, cat(schedule.name(), " does not apply: ", *why),
                   std::nullopt, "use a schedule of schedules_of"};
    }
    const ReductionPlan& plan = std::get<ReductionPlan>(answer);
    TESSERA_TRY(program.reduction, reduction_rounds(reshard, plan, *schedule.reduction, most));
    TESSERA_TRY(program.moved, Reshard::make(plan.result, reshard.to(), reshard.physical()));
  } else {
    program.moved = reshard;
  }
  if (schedule.move.empty()) return program;
  TESSERA_TRY(program.items, dispatches_of(*program.moved, {.boxes = false, .most = most}));
  program.moves = moves_of(program.items, schedule.move, reshard.wavelet_rate(), mesh);
  return program;
}

std::vector<fabric::Traffic> rounds_of(const ScheduleProgram& program) {
  std::vector<fabric::Traffic> rounds;
  for (const ReductionRound& round : program.reduction) rounds.push_back(traffic_of(round).traffic);
  for (const Round& round : program.moves.rounds) rounds.push_back(traffic_of(round).traffic);
  return rounds;
}

}  // namespace tessera::reshard
