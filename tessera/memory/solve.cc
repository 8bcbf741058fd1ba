// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solve.h"

#include <algorithm>
#include <chrono>

#include "tessera/memory/greedy.h"
#include "tessera/memory/packing.h"

namespace tessera::memory {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

const std::vector<TechniqueName>& technique_names() {
  static const std::vector<TechniqueName> names = {
      {"decomposition", &Techniques::decomposition},
      {"greedy", &Techniques::greedy},
      {"repair", &Techniques::repair},
      {"exact", &Techniques::exact},
      {"preordering", &Techniques::preordering},
      {"canonical-order", &Techniques::canonical_order},
      {"section-inference", &Techniques::section_inference},
      {"dominance", &Techniques::dominance},
      {"dynamic-decomposition", &Techniques::dynamic_decomposition},
      {"symmetry", &Techniques::symmetry},
      {"memory-of-failures", &Techniques::memory_of_failures},
  };
  return names;
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFits:
      return "fits";
    case Outcome::kDoesNotFit:
      return "does_not_fit";
    case Outcome::kUnknown:
      return "unknown";
  }
  return "";
}

double Solution::gap() const {
  if (lower_bound == 0) return 0;
  return static_cast<double>(peak) / static_cast<double>(lower_bound) - 1;
}

Result<Solution> solve(const Problem& problem, const SolveOptions& options) {
  const double started = now();
  TESSERA_TRY(const Packing packing, pack(problem));
  Solution solution;
  solution.lower_bound = packing.lower_bound;
  solution.proven_bound = packing.lower_bound;
  const std::int64_t good_enough = options.capacity && !options.minimize
                                       ? std::max(*options.capacity, packing.lower_bound)
                                       : packing.lower_bound;
  Array<std::int64_t> offsets;
  TESSERA_TRY(solution.peak, greedy(packing, {good_enough, options.seconds / 2}, offsets));
  solution.found_by = "greedy";
  if (options.techniques.repair && solution.peak > good_enough) {
    TESSERA_TRY(const std::int64_t peak, repair(packing, {good_enough}, offsets));
    if (peak < solution.peak) solution.found_by = "repair";
    solution.peak = peak;
  }
  if (!spread(packing, offsets, solution.offsets)) return out_of_memory();
  solution.optimal = solution.peak == solution.proven_bound;
  solution.outcome = !options.capacity || solution.peak <= *options.capacity ? Outcome::kFits
                     : solution.proven_bound > *options.capacity             ? Outcome::kDoesNotFit
                                                                             : Outcome::kUnknown;
  solution.seconds = now() - started;
  return solution;
}

}  // namespace tessera::memory
