// SPDX-License-Identifier: Apache-2.0
// Any bytes are read as a problem of choices. An error must point into the text; a problem that is
// read and small must obey
//   the choice that is found has no flaw, and its cost and bound are as reported;
//   its outcome, its bound and `optimal` agree with the best of all choices;
//   the same problem has the same choice again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/laws.h"
#include "tessera/plan/choose/read_problem.h"
#include "tessera/plan/choose/solve.h"
#include "tessera/plan/choose/validate.h"
#include "tessera/testing/plan/naive_choose.h"

namespace tessera::choose {
namespace {

constexpr std::size_t kMostChoices = 4000;  // that are all tried
constexpr std::int64_t kRounds = 8;

bool is_small(const Problem& problem) {
  std::size_t choices = 1;
  for (const Node& node : problem.nodes) {
    choices *= node.costs.size();
    if (choices > kMostChoices) return false;
  }
  return problem.edges.size() < 64;
}

void check_problem(const Problem& problem, std::string_view text) {
  SolveOptions options;
  options.seconds = 1e6;  // rounds are the limit, so that a finding is reproducible
  options.rounds = kRounds;
  options.threads = 1;
  const Result<Solution> solution = solve(problem, options);
  require(solution.ok(), "a problem that is read is solved", text);
  const auto naive = test::naive_choice(problem);
  if (solution->outcome == Outcome::kChosen) {
    const Claim claim{solution->cost, solution->lower_bound};
    require(validate(problem, solution->choices, claim).empty(), "a choice has no flaw", text);
    require(naive.has_value(), "a choice is found only where there is one", text);
    require(solution->lower_bound <= naive->cost, "no bound is above the best choice", text);
    require(solution->cost >= naive->cost, "no choice is better than the best", text);
  }
  if (solution->outcome == Outcome::kInfeasible) {
    require(!naive.has_value(), "infeasible problems have no choice", text);
  }
  require(solve(problem, options)->choices == solution->choices, "choices are reproducible", text);
}

}  // namespace
}  // namespace tessera::choose

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto problem = tessera::choose::read_problem(text);
  if (!problem) {
    tessera::check_refusal(problem.error(), text);
  } else if (tessera::choose::is_small(*problem)) {
    tessera::choose::check_problem(*problem, text);
  }
  return 0;
}
