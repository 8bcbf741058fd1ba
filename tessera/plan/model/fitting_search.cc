// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/model/fitting_search.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/plan/choose/validate.h"
#include "tessera/plan/model/baselines.h"
#include "tessera/run/memory_plan.h"

namespace tessera::plan {
namespace {

constexpr std::int64_t kMostRounds = 24;
constexpr std::int64_t kGentleRounds = 12;  ///< that charge only what is too much
// Rounds that price nothing but the choice itself, more for small problems, whose choices take less
// time than prices; then rounds that price more. If the gap is still large, everything is priced.
constexpr std::int64_t kLeastNarrowRounds = 12;
constexpr std::int64_t kMostNarrowRounds = 200;
constexpr std::int64_t kCostsOfNarrowRounds = std::int64_t{1} << 22;
constexpr std::int64_t kWideRounds = 16;
constexpr double kSecondsOfRound = 0.25;
constexpr double kFirstGap = 0.02;    ///< while prices of what is chosen are still unknown
constexpr double kStepOfSeconds = 4;  ///< where none is found in that time
constexpr double kPartOfPrice = 8;    ///< seconds of a search in those for one price of memory

choose::SolveOptions solve_options(const PlanOptions& options) {
  choose::SolveOptions made;
  made.rounds = options.rounds;
  made.seed = options.seed;
  made.threads = options.threads;
  return made;
}

std::int64_t narrow_rounds(const choose::Problem& problem) {
  std::int64_t costs = 1;
  for (const choose::Edge& edge : problem.edges) costs += std::ssize(edge.costs);
  return std::clamp(kCostsOfNarrowRounds / costs, kLeastNarrowRounds, kMostNarrowRounds);
}

/// When a search has found enough, beside what is known already.
struct Enough {
  double gap = 0;
  std::optional<std::int64_t> cost;
  std::int64_t lower_bound = 0;

  static bool goes_on(void* context, const choose::Progress& progress) {
    const Enough& enough = *static_cast<const Enough*>(context);
    if (!progress.cost && !enough.cost) return true;
    const std::int64_t least =
        std::min(progress.cost.value_or(INT64_MAX), enough.cost.value_or(INT64_MAX));
    const auto cost = static_cast<double>(least);
    const auto bound = static_cast<double>(std::max(progress.lower_bound, enough.lower_bound));
    return cost - bound > enough.gap * cost;
  }
};

}  // namespace

FittingSearch::FittingSearch(Decisions& decisions, const PlanOptions& options)
    : decisions_(decisions),
      options_(options),
      end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(options.seconds))),
      priced_memory_(solve_options(options)) {}

Result<choose::Solution> FittingSearch::search(const choose::Problem& problem,
                                               const SearchEffort& effort) {
  SearchEffort of_price = effort;
  of_price.seconds /= kPartOfPrice;
  TESSERA_TRY(choose::Solution known, priced_memory_.search(problem, of_price));
  const bool is_known = known.outcome == choose::Outcome::kChosen;
  if (known.outcome == choose::Outcome::kInfeasible) return known;
  if (is_known && (!effort.is_thorough || known.gap() <= effort.enough_gap)) return known;
  Enough enough{effort.enough_gap, std::nullopt, known.lower_bound};
  if (is_known) enough.cost = known.cost;
  choose::SolveOptions options = solve_options(options_);
  options.seconds = effort.seconds;
  options.progress = Enough::goes_on;
  options.progress_context = &enough;
  TESSERA_TRY(choose::Solution found, choose::solve(problem, options));
  if (is_known && (found.outcome != choose::Outcome::kChosen || known.cost < found.cost)) {
    std::swap(found, known);
  }
  found.lower_bound = std::max(found.lower_bound, known.lower_bound);
  if (found.outcome == choose::Outcome::kChosen) {
    found.lower_bound = std::min(found.lower_bound, found.cost);
  }
  return found;
}

Result<choose::Solution> FittingSearch::solve(choose::Problem& problem) {
  Choice best = greedy_forward(decisions_);
  std::optional<double> least;  // cycles of `best`
  bool is_settled = false;
  double seconds_of_round = kSecondsOfRound;
  double gap = 1;  // of `best`, by the last bound
  const std::int64_t narrow = narrow_rounds(problem);
  const std::int64_t most = narrow + kWideRounds;
  if (choose::validate(problem, best, {}, 1).empty()) least = cycles_of(decisions_, best);
  for (std::int64_t round = 1;; ++round) {
    const bool is_last = round > most;
    const Clock::time_point begin = Clock::now();
    if (is_last && gap > kFirstGap) TESSERA_CHECK_OK(decisions_.price_all());
    end_ += Clock::now() - begin;  // the limit is that of searching
    take_costs(problem);
    const std::chrono::duration<double> left = end_ - Clock::now();
    // A model that does not fit at once is chosen again, and out of time it still gets a choice.
    const bool is_thorough = is_last || is_settled;
    const double seconds = is_thorough ? std::max(left.count() / 3, 0.05) : seconds_of_round;
    const double enough_gap =
        is_thorough ? options_.enough_gap : std::max(options_.enough_gap, kFirstGap);
    TESSERA_TRY(choose::Solution solution, search(problem, {enough_gap, seconds, is_thorough}));
    if (solution.outcome == choose::Outcome::kInfeasible) return solution;
    if (solution.outcome != choose::Outcome::kChosen && is_last) {
      if (!least) return solution;
      solution.outcome = choose::Outcome::kChosen;
      solution.choices = best;
      return solution;
    }
    if (solution.outcome != choose::Outcome::kChosen) {
      // More time, and in the end all that can be known, make it easier.
      seconds_of_round *= kStepOfSeconds;
      if (seconds_of_round > options_.seconds / 2) round = most;
      continue;
    }
    const Clock::time_point found = Clock::now();
    TESSERA_TRY(const bool is_changed, decisions_.price(solution.choices, round > narrow));
    end_ += Clock::now() - found;
    const std::optional<double> cycles = cycles_of(decisions_, solution.choices);
    if (cycles && cycles < least.value_or(*cycles + 1)) {
      least = cycles;
      best = solution.choices;
    }
    const double bound = static_cast<double>(solution.lower_bound) / decisions_.units_per_cycle();
    const bool is_near = least && *least - bound <= options_.enough_gap * *least;
    if (least) gap = (*least - bound) / std::max(*least, 1.0);
    if (is_last || is_near || (is_settled && !is_changed)) {
      if (least) solution.choices = best;
      return solution;
    }
    // What is chosen has its prices and is not proven: a longer search is what is left to do.
    is_settled = !is_changed;
  }
}

void FittingSearch::take_costs(choose::Problem& problem) const {
  const choose::Problem& priced = decisions_.problem();
  problem.edges = priced.edges;
  for (std::size_t d = 0; d < problem.nodes.size(); ++d) {
    problem.nodes[d].costs = priced.nodes[d].costs;
  }
}

Result<run::Execution> FittingSearch::execution_of(const Choice& choice,
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

bool FittingSearch::charge_where_too_many(const Choice& choice, choose::Problem& problem) {
  if (!problem.usage_limit) return false;
  std::vector<std::int64_t> live(decisions_.graph().nodes.size());
  for (std::size_t v = 0; v < decisions_.values(); ++v) {
    const choose::Node& value = problem.nodes[v];
    const std::int64_t bytes = value.usages[static_cast<std::size_t>(choice[v])];
    // Step n brings at moment 4n, and its kernel runs at 4n + 1.
    for (std::int64_t n = (value.life.from + 2) / 4; 4 * n < value.life.to; ++n) {
      if (n < std::ssize(live)) live[static_cast<std::size_t>(n)] += bytes;
    }
  }
  bool changed = false;
  for (std::size_t n = 0; n < live.size(); ++n) {
    const std::int64_t work = choice[decisions_.values() + n];
    const std::int64_t bytes = decisions_.copied_bytes(n, work, choice);
    std::int64_t& usage =
        problem.nodes[decisions_.values() + n].usages[static_cast<std::size_t>(work)];
    if (live[n] + bytes <= *problem.usage_limit || bytes <= usage) continue;
    usage = bytes;
    changed = true;
  }
  return changed;
}

bool FittingSearch::charge_copies(const Choice& choice, choose::Problem& problem) {
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

Result<Fitting> FittingSearch::within(std::optional<std::int64_t> limit) {
  choose::Problem problem = decisions_.problem();
  if (limit) problem.usage_limit = limit;
  priced_memory_ = PricedMemory(solve_options(options_));
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
      bound =
          std::max(0.0, static_cast<double>(solution.lower_bound)) / decisions_.units_per_cycle();
    }
    Result<run::Execution> execution = execution_of(solution.choices, limit);
    if (execution) return Fitting{solution.choices, *std::move(execution), bound, round};
    if (execution.error().code != ErrorCode::kDoesNotFit) return execution.error();
    does_not_fit = execution.error();
    if (round <= kGentleRounds && charge_where_too_many(solution.choices, problem)) continue;
    if (charge_copies(solution.choices, problem)) continue;
    // What is live fits; what fails is finding offsets for it.
    if (!problem.usage_limit) return *does_not_fit;
    problem.usage_limit = *problem.usage_limit - ceil_div(*problem.usage_limit, 16);
  }
  return *does_not_fit;
}

Result<Fitting> FittingSearch::with_least_memory(Fitting best) {
  const std::string& space = decisions_.machine().data_space;
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
    Result<Fitting> found = within(middle);
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

}  // namespace tessera::plan
