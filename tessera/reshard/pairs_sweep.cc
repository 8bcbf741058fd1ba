// SPDX-License-Identifier: Apache-2.0
// Every law of reshard on random pairs, larger and more than in the tests.
//   reshard_pairs_sweep --quick   some larger pairs, in a few seconds
//   reshard_pairs_sweep --full    10^5 pairs of the tests' sizes, and thousands of larger ones
//   reshard_pairs_sweep --seed N [--large]   one pair, printed
// Prints how many pairs were tried and their properties. Returns 1 when a law breaks, after
// printing up to 5 cases.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tessera/testing/process.h"
#include "tessera/testing/reshard/reshard_laws.h"
#include "tessera/testing/reshard/reshard_runs.h"

namespace tessera::test {
namespace {

constexpr ReshardLimits kLarge = {
    .max_rows = 13, .max_cols = 17, .max_elements = 700, .max_copies = 20000};
constexpr ReshardLimits kHuge = {
    .max_rows = 40, .max_cols = 50, .max_elements = 4000, .max_copies = 100000};
constexpr int kMaxFailures = 5;

std::string any_mistake(const ReshardPair& pair, const NaiveReshard& moves) {
  for (const auto law :
       {transfer_mistake, pairs_mistake, cost_mistake, loads_mistake, kind_mistake}) {
    if (std::string mistake = law(pair, moves); !mistake.empty()) return mistake;
  }
  return make_mistake(pair);
}

int sweep(const char* what, std::uint64_t first, std::int64_t cases, ReshardSource source,
          const ReshardLimits& limits) {
  if (kSanitized) cases = (cases + 9) / 10;
  ReshardFeatures features;
  int failures = 0;
  for (std::uint64_t seed = first;
       seed < first + static_cast<std::uint64_t>(cases) && failures < kMaxFailures; ++seed) {
    const ReshardFailure failure = try_reshard(seed, source, limits, any_mistake, features);
    if (failure.message.empty()) continue;
    ++failures;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), failure.message.c_str());
  }
  std::printf("%s: %d broken of %s", what, failures, features.table().c_str());
  return failures > 0 ? 1 : 0;
}

int one(std::uint64_t seed, const ReshardLimits& limits) {
  Dice dice(seed);
  const ReshardPair pair = random_reshard(dice, limits);
  std::printf("%s\n", describe(pair).c_str());
  const NaiveReshard moves = naive_reshard(pair.from, pair.to, pair.physical);
  std::printf("%s\n", cost_text(naive_cost(moves, pair.from, pair.physical)).c_str());
  const std::string mistake = any_mistake(pair, moves);
  if (!mistake.empty()) std::printf("%s\n", mistake.c_str());
  return mistake.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tessera::test

int main(int argc, char** argv) {
  using namespace tessera::test;  // NOLINT: the whole program is a test
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (quick || (argc == 2 && std::strcmp(argv[1], "--full") == 0)) {
    int broken = sweep("large pairs", 0, quick ? 400 : 20'000, ReshardSource::kForms, kLarge);
    if (quick) return broken;
    broken |= sweep("huge pairs", 0, 1000, ReshardSource::kForms, kHuge);
    broken |= sweep("pairs", 1'000'000, 100'000, ReshardSource::kForms, {});
    return broken | sweep("texts", 1'000'000, 30'000, ReshardSource::kTexts, {});
  }
  if (argc >= 3 && std::strcmp(argv[1], "--seed") == 0) {
    return one(std::strtoull(argv[2], nullptr, 10), argc > 3 ? kLarge : ReshardLimits{});
  }
  std::fprintf(stderr, "usage: %s --quick | --full | --seed N [--large]\n", argv[0]);
  return 2;
}
