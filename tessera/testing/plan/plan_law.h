// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tessera/plan/model/model_plan.h"

namespace tessera::test {

/// wse2 with fewer places, so many bytes for data on each, no memory but these, and a rate for
/// every type.
Machine small_wafer(std::int64_t rows, std::int64_t cols, std::int64_t bytes = 36864);

/// Candidates and rounds instead of seconds: the same plan on every machine.
plan::PlanOptions plan_options(std::size_t candidates);

struct PlanLawCounts {
  std::int64_t graphs = 0;   ///< that were compared or run
  std::int64_t choices = 0;  ///< that were compiled and predicted
};

/// The law of plan_model: a plan of a small random graph takes as little as the best of all choices
/// of the same candidates, and the bound is not above that. Every choice is compiled by run/ and
/// predicted as a whole; no price or sum of the planner is used. Graphs with very many choices are
/// left out. Returns what is wrong, or "".
std::string best_plan_mistake(std::uint64_t seed, PlanLawCounts& counts);

/// A plan of a random graph passes the validator, needs no more memory than there is, and a checked
/// device that carries it out gives what the naive evaluator gives. Graphs that do not fit, and
/// those that the evaluator does not know, are left out. Returns what is wrong, or "".
std::string running_plan_mistake(std::uint64_t seed, PlanLawCounts& counts);

}  // namespace tessera::test
