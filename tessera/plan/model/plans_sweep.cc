// SPDX-License-Identifier: Apache-2.0
// Plans of random graphs, against every choice of the same candidates and against the naive
// evaluator.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

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

}  // namespace
}  // namespace tessera::test

int main(int argc, char** argv) {
  using namespace tessera::test;  // NOLINT: the whole program is a test
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (quick || (argc == 2 && std::strcmp(argv[1], "--full") == 0)) {
    const int broken = sweep("against all choices", quick ? 60 : 2500, best_plan_mistake);
    return broken | sweep("run", quick ? 60 : 2000, running_plan_mistake);
  }
  std::fprintf(stderr, "usage: %s --quick | --full\n", argv[0]);
  return 2;
}
