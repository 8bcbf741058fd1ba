// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solve.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <span>

#include "tessera/base/thread_pool.h"
#include "tessera/plan/choose/solver/ascent.h"
#include "tessera/plan/choose/solver/branch.h"
#include "tessera/plan/choose/solver/reduction.h"
#include "tessera/plan/choose/solver/round.h"
#include "tessera/plan/choose/solver/walker.h"

namespace tessera::choose {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kRoundWork = 40'000'000;     // numbers that each search looks at per round
constexpr std::int64_t kFirstWork = 20'000;         // the same in the first round; it doubles
constexpr int kRoundsBetween = 16;                  // until walks learn from each other
constexpr int kFirstPasses = 4;                     // before the first rounding
constexpr int kStartPasses = 60;                    // before a walk starts
constexpr double kBoundShare = 0.2;                 // of the search for the bound of a large model
constexpr std::size_t kMostBranchSize = 1'000'000;  // numbers of a model to branch on
constexpr std::uint32_t kFewNodes = 24;             // branch at once

class Search {
 public:
  Search(const Problem& problem, const SolveOptions& options)
      : options_(options), begin_(Clock::now()), reduction_(problem), model_(reduction_.model()) {}

  Solution run() {
    if (reduction_.shortage() || reduction_.impossible_node()) return infeasible();
    if (model_.nodes() == 0) {
      offer({}, model_.constant, "reductions");
      bound_ = model_.constant;
      return finished();
    }
    tables_ = std::make_unique<FloatTables>(model_);
    ascent_ = std::make_unique<Ascent>(model_, *tables_);
    walkers_.emplace_back(model_, *tables_, options_.seed * 2);
    walkers_.emplace_back(model_, *tables_, options_.seed * 2 + 1);
    first_choice();
    if (model_.nodes() <= kFewNodes) is_ascent_over_ = true;
    exchange();
    ThreadPool pool(std::clamp(options_.threads, 1, 2));
    while (!is_over()) {
      const Status status = pool.run([&](int worker) {
        for (int job = worker; job < 2; job += pool.threads()) {
          if (job == 0) {
            raise_bound();
          } else if (is_started_) {
            walkers_[1].run(work_, stop_);
          }
        }
      });
      if (!status) break;
      ++rounds_;
      work_ = std::min(2 * work_, kRoundWork);
      exchange();
    }
    return finished();
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  /// Of the rounds, or of the time if rounds are not limited.
  double share_left() const {
    if (options_.rounds != INT64_MAX) {
      return 1 - static_cast<double>(rounds_) /
                     static_cast<double>(std::max<std::int64_t>(1, options_.rounds));
    }
    return std::max(0.0, 1 - seconds() / std::max(1e-9, options_.seconds));
  }

  bool is_over() {
    if (cost_ <= bound_ || is_infeasible_ || rounds_ >= options_.rounds) return true;
    if (options_.progress != nullptr) {
      Progress progress;
      progress.seconds = seconds();
      progress.rounds = rounds_;
      if (cost_ < kForbidden) progress.cost = cost_;
      progress.lower_bound = bound_;
      if (!options_.progress(options_.progress_context, progress)) return true;
    }
    return seconds() >= options_.seconds;
  }

  void offer(const Choice& choice, std::int64_t cost, std::string_view found_by) {
    if (cost >= cost_) return;
    if (cost_ >= kForbidden) first_seconds_ = seconds();
    cost_ = cost;
    best_ = choice;
    found_by_ = found_by;
  }

  void offer_walk(const Walker& walker, std::string_view found_by) {
    if (walker.walk().has_best()) {
      offer(walker.walk().best(), walker.walk().best_cost(), found_by);
    }
  }

  /// Something to show soon: roundings of the first messages.
  void first_choice() {
    for (int pass = 0; pass < kFirstPasses; ++pass) ascent_->advance();
    bound_ = std::max<std::int64_t>(bound_, ascent_->certified_bound());
    for (Walker& walker : walkers_) {
      const bool forward = &walker == &walkers_[0];
      walker.start(ascent_->prices(), ascent_->dual().estimate(),
                   rounded(model_, *tables_, ascent_->dual(), forward));
      offer_walk(walker, "rounding");
    }
  }

  /// The first search: passes of the dual, then parts of the branching, then a walk of its own.
  void raise_bound() {
    if (branch_) {
      branch_->run(work_, cost_, stop_);
      return;
    }
    if (is_ascent_over_) {
      walkers_[0].run(work_, stop_);
      return;
    }
    std::int64_t work = 0;
    while (work < work_ && !stop_()) {
      ascent_->advance();
      work += ascent_->work_per_pass();
      if (ascent_->passes() % 8 == 0) {
        bound_ = std::max(bound_, ascent_->certified_bound());
        if (bound_ >= cost_) return;
      }
      if (ascent_->has_stalled()) {
        is_ascent_over_ = true;
        break;
      }
    }
    bound_ = std::max(bound_, ascent_->certified_bound());
  }

  bool is_small() const { return model_.tables.size() + model_.usages.size() <= kMostBranchSize; }

  /// What the two searches learn from each other, between rounds.
  void exchange() {
    offer_walk(walkers_[1], "walk");
    if (branch_) {
      if (branch_->best()) offer(*branch_->best(), branch_->best_cost(), "branching");
      bound_ = std::max(bound_, branch_->lower_bound());
      if (branch_->is_done() && cost_ >= kForbidden) is_infeasible_ = true;
      if (branch_->is_done()) bound_ = std::max(bound_, cost_);
      return;
    }
    if (is_ascent_over_) {
      if (is_walking_) {
        offer_walk(walkers_[0], "walk");
        if (rounds_ % kRoundsBetween == 0) share();
        return;
      }
      if (is_small()) {
        branch_ = std::make_unique<Branch>(model_, bound_, ascent_->prices());
      } else {
        is_walking_ = true;
        start_walk(walkers_[0]);
      }
      if (!is_started_) start_walk(walkers_[1]);
      is_started_ = true;
      return;
    }
    if (!is_small() && share_left() < 1 - kBoundShare) is_ascent_over_ = true;
    if (!is_started_ && ascent_->passes() >= kStartPasses) {
      start_walk(walkers_[1]);
      is_started_ = true;
    } else if (is_started_) {
      walkers_[1].guide(ascent_->prices(), static_cast<double>(bound_),
                        rounds_ % kRoundsBetween == 0 ? rounding() : Choice());
    }
  }

  Choice rounding() {
    is_forward_ = !is_forward_;
    return rounded(model_, *tables_, ascent_->dual(), is_forward_);
  }

  void start_walk(Walker& walker) {
    walker.start(ascent_->prices(), static_cast<double>(bound_), rounding());
  }

  /// Each walk mixes the best choice of the other into its own.
  void share() {
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      const Walk& other = walkers_[1 - k].walk();
      if (other.has_best()) walkers_[k].learn(other.best());
    }
  }

  Solution infeasible() const {
    Solution solution;
    solution.outcome = Outcome::kInfeasible;
    solution.seconds = seconds();
    solution.found_by = "reductions";
    Obstacle& obstacle = solution.obstacle.emplace();
    if (reduction_.shortage()) {
      obstacle.when = reduction_.shortage()->when;
      obstacle.needed = reduction_.shortage()->needed;
      obstacle.is_bound = true;
    } else {
      obstacle.node = reduction_.impossible_node();
    }
    return solution;
  }

  /// Where memory is exceeded by the attempt that exceeds it least.
  Obstacle obstacle() const {
    Obstacle found;
    std::int64_t least = INT64_MAX;
    for (const Walker& walker : walkers_) {
      const LoadTree& loads = walker.walk().state().loads();
      if (loads.largest() <= 0 || loads.largest() >= least) continue;
      least = loads.largest();
      const std::uint32_t moment = loads.fullest();
      found.when = reduction_.time_of(moment);
      found.needed = reduction_.limit() + least;
    }
    return found;
  }

  Solution finished() const {
    Solution solution;
    solution.seconds = seconds();
    solution.rounds = rounds_;
    solution.found_by = found_by_;
    solution.lower_bound = std::min(bound_, cost_);
    if (cost_ >= kForbidden) {
      solution.outcome = is_infeasible_ ? Outcome::kInfeasible : Outcome::kUnknown;
      solution.found_by = is_infeasible_ ? "branching" : "";
      solution.obstacle = obstacle();
      return solution;
    }
    solution.outcome = Outcome::kChosen;
    solution.cost = cost_;
    solution.choices = reduction_.restore(best_);
    solution.optimal = solution.lower_bound == cost_;
    solution.first_seconds = first_seconds_;
    return solution;
  }

  SolveOptions options_;
  Clock::time_point begin_;
  Reduction reduction_;
  const Model& model_;
  std::unique_ptr<FloatTables> tables_;
  std::unique_ptr<Ascent> ascent_;
  std::vector<Walker> walkers_;
  std::unique_ptr<Branch> branch_;
  std::function<bool()> stop_ = [this] { return seconds() >= options_.seconds; };
  Choice best_;
  std::int64_t cost_ = kForbidden;
  std::int64_t bound_ = INT64_MIN;
  std::string_view found_by_;
  std::int64_t rounds_ = 0;
  std::int64_t work_ = kFirstWork;  ///< of the next round
  double first_seconds_ = 0;
  bool is_started_ = false;
  bool is_forward_ = false;  ///< the direction of the last rounding
  bool is_ascent_over_ = false;
  bool is_walking_ = false;
  bool is_infeasible_ = false;
};

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kChosen:
      return "chosen";
    case Outcome::kInfeasible:
      return "infeasible";
    case Outcome::kUnknown:
      return "unknown";
  }
  return "unknown";
}

double Solution::gap() const {
  if (cost == lower_bound) return 0;
  return static_cast<double>(cost - lower_bound) /
         static_cast<double>(std::max<std::int64_t>(1, cost));
}

Result<Solution> solve(const Problem& problem, const SolveOptions& options) {
  TESSERA_CHECK_OK(check(problem));
  return Search(problem, options).run();
}

}  // namespace tessera::choose
