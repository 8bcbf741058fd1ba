// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/reshard_runs.h"

#include <gtest/gtest.h>

#include "tessera/base/text.h"
#include "tessera/testing/process.h"

namespace tessera::test {
namespace {

ReshardPair draw(Dice& dice, ReshardSource source, const ReshardLimits& limits) {
  if (source == ReshardSource::kTexts) return random_reshard_texts(dice);
  if (source == ReshardSource::kUnfit) return random_unfit_reshard(dice, limits);
  return random_reshard(dice, limits);
}

/// The naive result to compare with; empty for invalid pairs.
NaiveReshard moves_of(const ReshardPair& pair, ReshardSource source) {
  if (source == ReshardSource::kUnfit) return {};
  return naive_reshard(pair.from, pair.to, pair.physical);
}

}  // namespace

ReshardFailure try_reshard(std::uint64_t seed, ReshardSource source, const ReshardLimits& limits,
                           const ReshardLaw& law, ReshardFeatures& features) {
  const auto ask = [&](std::int64_t budget, bool count) -> std::string {
    Dice dice(seed, budget);
    const ReshardPair pair = draw(dice, source, limits);
    const NaiveReshard moves = moves_of(pair, source);
    if (count && source != ReshardSource::kUnfit) features.add(pair, moves);
    std::string mistake = law(pair, moves);
    return mistake.empty() ? mistake : cat(describe(pair), "\n  ", mistake);
  };
  ReshardFailure failure{seed, INT64_MAX, ask(INT64_MAX, true)};
  // Texts may need many rolls to be valid at all.
  if (failure.message.empty() || source == ReshardSource::kTexts) return failure;
  for (std::int64_t budget = 0; budget < 200; ++budget) {
    std::string message = ask(budget, false);
    if (!message.empty()) return {seed, budget, std::move(message)};
  }
  return failure;
}

ReshardFeatures reshard_law_holds(int cases, ReshardSource source, const ReshardLaw& law) {
  if (kSanitized) cases /= 10;
  ReshardFeatures features;
  int failures = 0;
  for (int seed = 0; seed < cases && failures < 3; ++seed) {
    const ReshardFailure failure =
        try_reshard(static_cast<std::uint64_t>(seed), source, {}, law, features);
    if (failure.message.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ", " << failure.budget << " rolls: " << failure.message;
  }
  return features;
}

}  // namespace tessera::test
