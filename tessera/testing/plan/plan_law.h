// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/plan/model/model_plan.h"
#include "tessera/testing/plan/layered_graphs.h"

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

/// What a plan of a random layered graph takes, as predicted and with its moves simulated.
struct SimulatedPlan {
  double predicted = 0;
  double simulated = 0;
  double compute = 0;                ///< of both
  std::int64_t moves = 0;            ///< that cross between places
  std::int64_t simulated_moves = 0;  ///< the others count as predicted
};
/// Empty where the plan has no move that can be simulated.
std::optional<SimulatedPlan> simulated_plan(std::uint64_t seed, const Machine& machine,
                                            const LayeredSize& size);

/// The cycles of a plan of a random layered graph of up to two ops, and of the plan of the same
/// graph for which every division of its work is a candidate: each axis of the mesh divides any
/// factor over any number of places.
struct ComparedCandidates {
  double planned = 0;
  double of_all = 0;
};
/// Empty where the graph cannot be planned on so little memory.
std::optional<ComparedCandidates> compared_candidates(std::uint64_t seed, const Machine& machine);

}  // namespace tessera::test
