// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "tessera/plan/choose/problem.h"

/// testing/plan/: references for plan/ that share no code with it.
namespace tessera::test {

/// The best choice of a small problem, by trying all of them; nothing when none is feasible.
struct NaiveChoice {
  std::int64_t cost = 0;
  std::vector<std::int64_t> choices;
};
std::optional<NaiveChoice> naive_choice(const choose::Problem& problem);

/// The cost of a choice by the definition; nothing when it is not feasible.
std::optional<std::int64_t> naive_cost(const choose::Problem& problem,
                                       const std::vector<std::int64_t>& choices);

/// What random problems look like.
struct ChoiceFamily {
  int most_nodes = 6;
  int most_strategies = 4;
  double edges_per_node = 1.2;  ///< on average; parallel and reversed ones among them
  double forbidden = 0.1;       ///< of the edges' entries
  double matchings = 0.2;       ///< of the edges allow only a matching
  int most_cost = 20;
  int most_usage = 12;
  int most_time = 8;
};
/// A problem of a family. The limit is near the least peak, so that it is tight, and sometimes
/// below it.
choose::Problem random_choice_problem(std::mt19937_64& random, const ChoiceFamily& family = {});

}  // namespace tessera::test
