// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/mixing.h"
#include "tessera/base/text.h"
#include "tessera/plan/choose/solve.h"
#include "tessera/plan/choose/validate.h"
#include "tessera/plan/model/baselines.h"
#include "tessera/plan/model/candidates.h"
#include "tessera/plan/model/decisions.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/run/default_layouts.h"
#include "tessera/run/memory_plan.h"
#include "tessera/run/predict.h"

namespace tessera::plan {
namespace {

constexpr std::int64_t kMostRounds = 24;
constexpr int kNarrowRounds = 12;  ///< that price nothing but the choice itself
constexpr int kMostPricings = 28;  ///< then everything is priced
constexpr double kSecondsOfRound = 0.25;
constexpr double kFirstGap = 0.02;  ///< while prices of what is chosen are still unknown

using Clock = std::chrono::steady_clock;

Status check_pins(const graph::Graph& graph, const PlanOptions& options) {
  for (std::size_t v = 0; v < graph.values.size() && v < options.pins.size(); ++v) {
    if (!options.pins[v]) continue;
    const graph::Value& value = graph.values[v];
    const Layout& pin = *options.pins[v];
    if (pin.shape() == value.type.shape && pin.dtype() == value.type.dtype) continue;
    return Error{
        pin.shape() == value.type.shape ? ErrorCode::kBadDType : ErrorCode::kShapeMismatch,
        cat("value '", value.name, "' is ", value.type.to_string(), ", its pinned layout is of ",
            dtype_name(pin.dtype()), "[", pin.shape().to_string(), "]")};
  }
  return ok_status();
}

/// A choice that fits, with its execution.
struct Fitting {
  Choice choice;
  run::Execution execution;
  double lower_bound_cycles = 0;  ///< for choices without copies, so for all of them
  std::int64_t rounds = 0;
};

/// Finds choices that fit, with one set of decisions and prices.
class Search {
 public:
  Search(Decisions& decisions, const PlanOptions& options)
      : decisions_(decisions),
        options_(options),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(options.seconds))) {}

  /// The best choice for a machine with `limit` bytes for data in the data_space of each place;
  /// empty: as many as it has.
  Result<Fitting> within(std::optional<std::int64_t> limit);

 private:
  Result<choose::Solution> search(const choose::Problem& problem, double enough_gap,
                                  double seconds) const;
  /// The best choice with all of its own prices known. Others may have bounds instead of prices.
  Result<choose::Solution> solve(choose::Problem& problem);
  /// Costs as far as they are known; what is charged to a problem stays.
  void take_costs(choose::Problem& problem) const;
  Result<run::Execution> execution_of(const Choice& choice,
                                      std::optional<std::int64_t> limit) const;
  /// Charges every work map the copies that it needs beside the layouts of a choice. False if that
  /// changes nothing.
  bool charge_copies(const Choice& choice, choose::Problem& problem);

  Decisions& decisions_;
  const PlanOptions& options_;
  Clock::time_point end_;
};

Result<choose::Solution> Search::search(const choose::Problem& problem, double enough_gap,
                                        double seconds) const {
  choose::SolveOptions options;
  options.seconds = seconds;
  options.progress = [](void* enough, const choose::Progress& progress) {
    if (!progress.cost) return true;
    const auto cost = static_cast<double>(*progress.cost);
    return cost - static_cast<double>(progress.lower_bound) > *static_cast<double*>(enough) * cost;
  };
  options.progress_context = &enough_gap;
  options.rounds = options_.rounds;
  options.seed = options_.seed;
  options.threads = options_.threads;
  return choose::solve(problem, options);
}

Result<choose::Solution> Search::solve(choose::Problem& problem) {
  Choice best = greedy_forward(decisions_);
  std::optional<double> least;  // cycles of `best`
  bool is_settled = false;
  if (choose::validate(problem, best, {}, 1).empty()) least = cycles_of(decisions_, best);
  for (int round = 1;; ++round) {
    const bool is_last = round > kMostPricings;
    const Clock::time_point begin = Clock::now();
    if (is_last) TESSERA_CHECK_OK(decisions_.price_all());
    end_ += Clock::now() - begin;  // the limit is that of searching
    take_costs(problem);
    const std::chrono::duration<double> left = end_ - Clock::now();
    // A model that does not fit at once is chosen again, and out of time it still gets a choice.
    const bool is_thorough = is_last || is_settled;
    const double seconds = is_thorough ? std::max(left.count() / 3, 0.05) : kSecondsOfRound;
    const double enough_gap =
        is_thorough ? options_.enough_gap : std::max(options_.enough_gap, kFirstGap);
    TESSERA_TRY(choose::Solution solution, search(problem, enough_gap, seconds));
    if (is_last && solution.outcome != choose::Outcome::kChosen) return solution;
    if (solution.outcome == choose::Outcome::kInfeasible) return solution;
    if (solution.outcome != choose::Outcome::kChosen) {
      round = kMostPricings;  // all that is known makes it easier
      continue;
    }
    const Clock::time_point found = Clock::now();
    TESSERA_TRY(const bool is_changed, decisions_.price(solution.choices, round > kNarrowRounds));
    end_ += Clock::now() - found;
    const std::optional<double> cycles = cycles_of(decisions_, solution.choices);
    if (cycles && cycles < least.value_or(*cycles + 1)) {
      least = cycles;
      best = solution.choices;
    }
    const double bound = static_cast<double>(solution.lower_bound) / decisions_.units_per_cycle();
    const bool is_near = least && *least - bound <= options_.enough_gap * *least;
    if (is_last || is_near || (is_settled && !is_changed)) {
      if (least) solution.choices = best;
      return solution;
    }
    // What is chosen has its prices and is not proven: a longer search is what is left to do.
    is_settled = !is_changed;
  }
}

void Search::take_costs(choose::Problem& problem) const {
  const choose::Problem& priced = decisions_.problem();
  problem.edges = priced.edges;
  for (std::size_t d = 0; d < problem.nodes.size(); ++d) {
    problem.nodes[d].costs = priced.nodes[d].costs;
  }
}

Result<run::Execution> Search::execution_of(const Choice& choice,
                                            std::optional<std::int64_t> limit) const {
  TESSERA_TRY(const std::vector<Layout> layouts, decisions_.layouts_of(choice));
  run::CompileOptions options;
  options.work = decisions_.work_of(choice);
  Machine machine = decisions_.machine();
  for (target::MemorySpace& space : machine.memory) {
    if (space.name == machine.data_space && limit) space.usable_bytes = limit;
  }
  return run::compile(decisions_.graph(), machine, layouts, options);
}

bool Search::charge_copies(const Choice& choice, choose::Problem& problem) {
  bool changed = false;
  for (std::size_t n = 0; n < decisions_.graph().nodes.size(); ++n) {
    choose::Node& node = problem.nodes[decisions_.values() + n];
    for (std::size_t w = 0; w < node.usages.size(); ++w) {
      const std::int64_t bytes = decisions_.copied_bytes(n, static_cast<std::int64_t>(w), choice);
      if (bytes <= node.usages[w]) continue;
      node.usages[w] = bytes;
      changed = true;
    }
  }
  return changed;
}

Result<Fitting> Search::within(std::optional<std::int64_t> limit) {
  choose::Problem problem = decisions_.problem();
  if (limit) problem.usage_limit = limit;
  double bound = 0;
  std::optional<Error> does_not_fit;
  for (std::int64_t round = 1; round <= kMostRounds; ++round) {
    TESSERA_TRY(const choose::Solution solution, solve(problem));
    if (solution.outcome != choose::Outcome::kChosen) {
      if (does_not_fit) return *does_not_fit;
      if (solution.obstacle && solution.obstacle->when) {
        return Error{
            ErrorCode::kDoesNotFit,
            cat(solution.obstacle->is_bound ? "every choice of layouts needs"
                                            : "the best choice of layouts found needs",
                " ", solution.obstacle->needed, " bytes of ", decisions_.machine().data_space,
                " on a place at step ", solution.obstacle->when->from / 4, ", which has ",
                problem.usage_limit.value_or(0)),
            std::nullopt, "use more places, smaller batches, or fewer pinned layouts"};
      }
      return Error{
          ErrorCode::kNotSupported,
          cat("no choice of layouts for this model has a price on ", decisions_.machine().name),
          std::nullopt, "pin fewer layouts"};
    }
    if (round == 1) {
      bound = static_cast<double>(solution.lower_bound) / decisions_.units_per_cycle();
    }
    Result<run::Execution> execution = execution_of(solution.choices, limit);
    if (execution) return Fitting{solution.choices, *std::move(execution), bound, round};
    if (execution.error().code != ErrorCode::kDoesNotFit) return execution.error();
    does_not_fit = execution.error();
    if (charge_copies(solution.choices, problem)) continue;
    // What is live fits; what fails is finding offsets for it.
    if (!problem.usage_limit) return *does_not_fit;
    problem.usage_limit = *problem.usage_limit - ceil_div(*problem.usage_limit, 16);
  }
  return *does_not_fit;
}

/// The least memory for which a plan is found, between what is certainly too little and `most`.
Result<Fitting> with_least_memory(Search& search, Fitting best, const std::string& space) {
  const auto peak = [&](const Fitting& found) {
    for (const run::SpaceNeed& need : found.execution.spaces) {
      if (need.space == space) return need.peak_bytes;
    }
    return std::int64_t{0};
  };
  std::int64_t too_little = 0;
  std::int64_t enough = peak(best);
  while (enough - too_little > std::max<std::int64_t>(enough / 64, 1)) {
    const std::int64_t middle = too_little + (enough - too_little) / 2;
    Result<Fitting> found = search.within(middle);
    if (!found && found.error().code != ErrorCode::kDoesNotFit) return found.error();
    if (!found) {
      too_little = middle;
      continue;
    }
    found->lower_bound_cycles = best.lower_bound_cycles;
    best = *std::move(found);
    enough = std::min(peak(best), middle);
  }
  return best;
}

/// What the steps take and move; the plan's own sums.
Status describe(Decisions& decisions, const Fitting& found, ModelPlan& plan) {
  const run::Execution& execution = found.execution;
  const std::vector<run::StepCycles> cycles = run::predict(execution, decisions.prices());
  const auto others = runners_up(decisions, found.choice);
  const auto work = decisions.work_of(found.choice);
  Checked moved(0);
  for (std::size_t k = 0; k < execution.steps.size(); ++k) {
    const run::Step& step = execution.steps[k];
    const OpClass& op = decisions.class_of(step.node);
    PlannedOp each;
    each.node = step.node;
    each.work = work[step.node];
    each.work_text = work_text(op.loops(), *each.work);
    each.bring_cycles = cycles[k].bring.value_or(0);
    each.settle_cycles = cycles[k].settle.value_or(0);
    each.compute_cycles =
        decisions.compute(step.node, found.choice[decisions.values() + step.node]);
    for (const std::vector<run::Move>* moves : {&step.bring, &step.settle, &step.deliver}) {
      for (const run::Move& move : *moves) {
        const run::Buffer& from = execution.buffers[move.from];
        const run::Buffer& to = execution.buffers[move.to];
        PlannedMove planned{from.name, to.name, "copy", {}};
        run::MovePrices& prices = decisions.prices();
        if (const auto number = run::number_of(execution, move, prices)) {
          planned.cycles = prices.cycles(*number);
          for (const moves::Step& part : prices.steps(*number)) {
            if (part.kind != moves::Step::Kind::kExchange) continue;
            planned.algorithm = part.algorithm;
            moved += part.bytes;
          }
        }
        each.moves.push_back(std::move(planned));
      }
    }
    plan.moves += static_cast<std::int64_t>(each.moves.size());
    if (others[step.node]) {
      const auto strategy = static_cast<std::size_t>(others[step.node]->strategy);
      const std::size_t candidate = decisions.work(step.node)[strategy];
      each.runner_up = RunnerUp{work_text(op.loops(), op.candidates()[candidate].work),
                                others[step.node]->more_cycles};
    }
    plan.cycles += each.cycles();
    plan.ops.push_back(std::move(each));
  }
  plan.moved_bytes = moved.saturated();
  plan.spaces = execution.spaces;
  for (const run::Buffer& buffer : execution.buffers) {
    plan.buffers.push_back(planned(buffer, execution.machine));
  }
  return ok_status();
}

}  // namespace

PlannedBuffer planned(const run::Buffer& buffer, const Machine& machine) {
  return {buffer.name,
          buffer.space,
          buffer.from,
          buffer.to,
          buffer.bytes,
          buffer.offset,
          run::is_in_places(buffer, machine) ? buffer.places : Box{}};
}

std::string target_hash(const Machine& machine) {
  std::uint64_t hash = 0;
  for (const char c : target::to_json(machine)) {
    hash = mixed(hash ^ static_cast<unsigned char>(c));
  }
  char text[17];
  (void)std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

Result<ModelPlan> plan_model(const graph::Graph& graph, const Machine& machine,
                             const PlanOptions& options) {
  const auto begin = Clock::now();
  TESSERA_CHECK_OK(machine.check());
  TESSERA_CHECK_OK(graph::check(graph));
  TESSERA_CHECK_OK(check_pins(graph, options));
  const Result<run::Execution> standard = run::compile_with_defaults(graph, machine, options.pins);
  TESSERA_TRY(Decisions decisions,
              Decisions::make(graph, machine, options, standard ? &*standard : nullptr));
  Search search(decisions, options);
  TESSERA_TRY(Fitting found, search.within(std::nullopt));
  if (options.objective == Objective::kMemory) {
    TESSERA_TRY(found, with_least_memory(search, std::move(found), machine.data_space));
  }
  ModelPlan plan;
  plan.model_hash = graph::hash(graph).to_string();
  plan.target = machine.name;
  plan.target_hash = target_hash(machine);
  TESSERA_TRY(plan.layouts, decisions.layouts_of(found.choice));
  TESSERA_CHECK_OK(describe(decisions, found, plan));
  // Ops run one after the other, so the gaps between them are the same for every plan.
  const auto clock = static_cast<double>(machine.clock_hz.value_or(0));
  const double gaps = machine.op_gap_seconds.value_or(0) * clock *
                      static_cast<double>(graph.nodes.empty() ? 0 : graph.nodes.size() - 1);
  const auto with_gaps = [&](std::optional<double> cycles) {
    return cycles ? std::optional(*cycles + gaps) : std::nullopt;
  };
  plan.cycles += gaps;
  plan.lower_bound_cycles = std::min(found.lower_bound_cycles + gaps, plan.cycles);
  plan.gap = plan.cycles > 0 ? (plan.cycles - plan.lower_bound_cycles) / plan.cycles : 0;
  // Costs are rounded to units before the choice is made.
  plan.is_optimal = plan.gap < 1e-6;
  if (machine.clock_hz) plan.seconds = plan.cycles / clock;
  std::optional<double> max_grid;
  if (standard) {
    max_grid = run::total_cycles(run::predict(*standard, decisions.prices()));
  }
  plan.baselines = {{"max_grid", with_gaps(max_grid)},
                    {"each_op_alone", with_gaps(cycles_of(decisions, each_op_alone(decisions)))},
                    {"greedy_forward", with_gaps(cycles_of(decisions, greedy_forward(decisions)))}};
  plan.assumed = decisions.assumed();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    plan.work_candidates += static_cast<std::int64_t>(decisions.work(n).size());
  }
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    plan.layout_candidates +=
        static_cast<std::int64_t>(decisions.layouts(static_cast<graph::ValueId>(v)).size());
  }
  plan.moves_priced = static_cast<std::int64_t>(decisions.moves_priced());
  plan.memory_rounds = found.rounds;
  plan.plan_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return plan;
}

Result<run::Execution> execution_of(const ModelPlan& plan, const graph::Graph& graph,
                                    const Machine& machine) {
  if (plan.model_hash != graph::hash(graph).to_string()) {
    return Error{ErrorCode::kContradiction, "the plan is of another model", std::nullopt,
                 "plan this model: tessera plan MODEL --target T --out plan.json"};
  }
  if (plan.target_hash != target_hash(machine)) {
    return Error{
        ErrorCode::kContradiction,
        cat("the plan is for ", plan.target, ", described differently from ", machine.name),
        std::nullopt, "plan for this machine"};
  }
  run::CompileOptions options;
  options.work.resize(graph.nodes.size());
  for (const PlannedOp& op : plan.ops) {
    if (op.node >= graph.nodes.size()) {
      return Error{ErrorCode::kContradiction,
                   cat("the plan has an op ", op.node, ", the model ", graph.nodes.size(), " ops")};
    }
    options.order.push_back(op.node);
    options.work[op.node] = op.work;
  }
  return run::compile(graph, machine, plan.layouts, options);
}

}  // namespace tessera::plan
