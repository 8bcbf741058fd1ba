// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "interrupts.h"
#include "native.h"
#include "tessera/plan/choose/read_problem.h"
#include "tessera/plan/choose/solve.h"
#include "tessera/plan/choose/validate.h"

namespace tessera::python {
namespace {

py::dict solve(const std::string& json, double seconds, std::optional<std::int64_t> rounds,
               std::uint64_t seed, int threads) {
  choose::SolveOptions options;
  options.seconds = seconds;
  if (rounds) options.rounds = *rounds;
  options.seed = seed;
  options.threads = threads < 2 ? 1 : 2;
  Interrupts interrupts;
  options.progress_context = &interrupts;
  options.progress = [](void* context, const choose::Progress&) {
    return static_cast<Interrupts*>(context)->go_on();
  };
  choose::Solution solution;
  std::vector<choose::Finding> findings;
  {
    const Unlocked unlocked;
    const choose::Problem problem = unwrap(choose::read_problem(json), json);
    solution = unwrap(choose::solve(problem, options));
    if (solution.outcome == choose::Outcome::kChosen) {
      findings =
          choose::validate(problem, solution.choices, {solution.cost, solution.lower_bound}, 1);
    }
  }
  interrupts.rethrow();
  if (!findings.empty()) {
    raise(ErrorCode::kContradiction,
          "the choice that was found is invalid: " + findings.front().message);
  }
  py::dict answer;
  answer["outcome"] = std::string(outcome_name(solution.outcome));
  answer["choices"] =
      py::array_t<std::int64_t>(std::ssize(solution.choices), solution.choices.data());
  answer["cost"] = solution.cost;
  answer["lower_bound"] = solution.lower_bound;
  answer["gap"] = solution.gap();
  answer["optimal"] = solution.optimal;
  answer["seconds"] = solution.seconds;
  answer["rounds"] = solution.rounds;
  answer["found_by"] = std::string(solution.found_by);
  return answer;
}

}  // namespace

void bind_choose(py::module_& module) {
  module.attr("forbidden_cost") = choose::kForbidden;
  module.def("solve_choices", &solve, py::arg("json"), py::arg("seconds"), py::arg("rounds"),
             py::arg("seed"), py::arg("threads"));
}

}  // namespace tessera::python
