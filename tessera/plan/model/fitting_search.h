// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "tessera/base/result.h"
#include "tessera/plan/choose/problem.h"
#include "tessera/plan/choose/solve.h"
#include "tessera/plan/model/decisions.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/plan/model/priced_memory.h"
#include "tessera/run/execution.h"

namespace tessera::plan {

/// A choice that fits, with its execution.
struct Fitting {
  Choice choice;
  run::Execution execution;
  double lower_bound_cycles = 0;  ///< for choices without copies, so for all of them
  std::int64_t rounds = 0;
};

/// Finds choices that fit, with one set of decisions and prices.
class FittingSearch {
 public:
  FittingSearch(Decisions& decisions, const PlanOptions& options);

  /// The best choice for a machine with `limit` bytes for data in the data_space of each place;
  /// empty: as many as it has.
  Result<Fitting> within(std::optional<std::int64_t> limit);
  /// The least memory for which a plan is found, between what is certainly too little and what
  /// `best` needs.
  Result<Fitting> with_least_memory(Fitting best);

 private:
  using Clock = std::chrono::steady_clock;

  Result<choose::Solution> search(const choose::Problem& problem, const SearchEffort& effort);
  /// The best choice with all of its own prices known. Others may have bounds instead of prices.
  Result<choose::Solution> solve(choose::Problem& problem);
  /// Costs as far as they are known; what is charged to a problem stays.
  void take_costs(choose::Problem& problem) const;
  Result<run::Execution> execution_of(const Choice& choice,
                                      std::optional<std::int64_t> limit) const;
  /// Charges the chosen work maps the copies that they need where these are too many beside what is
  /// live. False if that changes nothing.
  bool charge_where_too_many(const Choice& choice, choose::Problem& problem);
  /// Charges every work map the copies that it needs beside the layouts of a choice. False if that
  /// changes nothing.
  bool charge_copies(const Choice& choice, choose::Problem& problem);

  Decisions& decisions_;
  const PlanOptions& options_;
  Clock::time_point end_;
  PricedMemory priced_memory_;
};

}  // namespace tessera::plan
