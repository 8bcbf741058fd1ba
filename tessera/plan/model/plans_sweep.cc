// SPDX-License-Identifier: Apache-2.0
// Plans of random graphs, against every choice of the same candidates, against the naive evaluator,
// against plans for which all divisions of the work are candidates, and with moves simulated.
//   plans_sweep --quick   what each build runs
//   plans_sweep --full    more graphs, and all divisions on 4x4 places
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tessera/target/machine.h"
#include "tessera/testing/ops/random_calls.h"
#include "tessera/testing/plan/plan_law.h"

namespace tessera::test {
namespace {

constexpr int kMostFailures = 5;

int sweep(const char* what, std::uint64_t graphs,
          std::string (*law)(std::uint64_t seed, PlanLawCounts& counts)) {
  PlanLawCounts counts;
  int failures = 0;
  for (std::uint64_t seed = 0; seed < tries(graphs) && failures < kMostFailures; ++seed) {
    const std::string mistake = law(seed, counts);
    if (mistake.empty()) continue;
    ++failures;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), mistake.c_str());
  }
  std::printf("%s: %d broken of %lld graphs, %lld choices\n", what, failures,
              static_cast<long long>(counts.graphs), static_cast<long long>(counts.choices));
  return failures > 0 ? 1 : 0;
}

/// How far plans of the candidates are from plans of all divisions of the work.
int compare_candidates(std::uint64_t graphs, bool is_quick) {
  std::vector<std::pair<std::int64_t, std::int64_t>> meshes = {{2, 2}, {2, 3}, {3, 3}};
  if (!is_quick) meshes.insert(meshes.end(), {{3, 4}, {4, 4}});
  std::int64_t compared = 0;
  std::int64_t equal = 0;
  double worst = 1;
  double sum = 0;
  int broken = 0;
  for (std::uint64_t seed = 0; seed < tries(graphs); ++seed) {
    const auto [rows, cols] = meshes[seed % meshes.size()];
    const auto found = compared_candidates(seed, small_wafer(rows, cols, 1 << 20));
    if (!found) continue;
    ++compared;
    const double ratio = found->planned / std::max(found->of_all, 1.0);
    if (ratio < 1.0001) ++equal;
    worst = std::max(worst, ratio);
    sum += ratio;
    // More candidates cannot make a plan worse.
    if (ratio < 0.9999) ++broken;
  }
  std::printf("against all divisions: %lld of %lld graphs as good, on average %.4f, at most %.3f\n",
              static_cast<long long>(equal), static_cast<long long>(compared),
              sum / static_cast<double>(std::max<std::int64_t>(compared, 1)), worst);
  return broken > 0 || compared == 0 ? 1 : 0;
}

double median(std::vector<double>& numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

/// How far predicted cycles of plans are from those with their moves simulated.
int simulate_plans(std::uint64_t graphs) {
  constexpr double kMostMedian = 0.1;
  struct Case {
    Machine machine;
    LayeredSize size;
    std::uint64_t part = 1;  ///< of ten
  };
  const std::vector<Case> cases = {{small_wafer(4, 4), {}, 3},
                                   {small_wafer(3, 5, 8192), {}, 3},
                                   {small_wafer(8, 8, 16384), {}, 3},
                                   {**find_machine("wormhole"), {3, 1024, 2048}, 1}};
  int broken = 0;
  for (const auto& [machine, size, part] : cases) {
    std::vector<double> errors;
    std::vector<double> of_moves;
    std::int64_t moves = 0;
    std::int64_t simulated = 0;
    const std::uint64_t wanted = tries(graphs) * part / 10;
    for (std::uint64_t seed = 0; seed < 4 * wanted && errors.size() < wanted; ++seed) {
      const auto found = simulated_plan(seed, machine, size);
      if (!found) continue;
      const double apart = std::fabs(found->predicted - found->simulated);
      errors.push_back(apart / found->simulated);
      of_moves.push_back(apart / std::max(found->simulated - found->compute, 1.0));
      moves += found->moves;
      simulated += found->simulated_moves;
    }
    if (errors.empty()) {
      std::printf("simulated on %s: no plan has moves\n", machine.shape().to_string().c_str());
      ++broken;
      continue;
    }
    const double of_all = median(errors);
    std::printf(
        "simulated on %s of %s: %zu plans, %lld of %lld moves, median error %.2f %% (of the moves "
        "%.2f %%), at most %.1f %%\n",
        machine.shape().to_string().c_str(), machine.name.c_str(), errors.size(),
        static_cast<long long>(simulated), static_cast<long long>(moves), 100 * of_all,
        100 * median(of_moves), 100 * errors.back());
    if (of_all > kMostMedian) ++broken;
  }
  return broken > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tessera::test

int main(int argc, char** argv) {
  using namespace tessera::test;  // NOLINT: the whole program is a test
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (quick || (argc == 2 && std::strcmp(argv[1], "--full") == 0)) {
    int broken = sweep("against all choices", quick ? 60 : 2500, best_plan_mistake);
    broken |= sweep("run", quick ? 60 : 2000, running_plan_mistake);
    broken |= compare_candidates(quick ? 30 : 300, quick);
    return broken | simulate_plans(quick ? 200 : 1000);
  }
  std::fprintf(stderr, "usage: %s --quick | --full\n", argv[0]);
  return 2;
}
