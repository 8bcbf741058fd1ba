// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tessera/testing/reshard/naive_reshard.h"
#include "tessera/testing/reshard/reshard_pairs.h"

namespace tessera::test {

/// Where pairs come from.
enum class ReshardSource : std::uint8_t {
  kForms,  ///< random_reshard
  kTexts,  ///< random_reshard_texts
  kUnfit,  ///< random_unfit_reshard: most of them are invalid
};

using ReshardLaw = std::function<std::string(const ReshardPair& pair, const NaiveReshard& moves)>;

/// A pair that breaks a law, as simple as its seed allows.
struct ReshardFailure {
  std::uint64_t seed = 0;
  std::int64_t budget = 0;  ///< number of dice rolls that it needs
  std::string message;      ///< the pair and what broke
};

/// Draws the pair of one seed and checks the law; where it breaks, searches for the fewest rolls
/// that still break it. Empty message when it holds.
ReshardFailure try_reshard(std::uint64_t seed, ReshardSource source, const ReshardLimits& limits,
                           const ReshardLaw& law, ReshardFeatures& features);

/// Tries that many seeds, fewer under sanitizers; a gtest failure for each of the first 3 that
/// break.
ReshardFeatures reshard_law_holds(int cases, ReshardSource source, const ReshardLaw& law);

}  // namespace tessera::test
