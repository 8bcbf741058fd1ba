// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/notation/dtensor/chunks.h"

/// What a placement looks like along one dim, read off its description. These are guesses: whoever
/// uses them lowers what they lead to and compares.
namespace tessera::notation {

enum class Guess {
  kPlain,   ///< no strided shards
  kDigits,  ///< a split factor is as many values as wider digits have that no earlier axis took
  kShards,  ///< split factors that fit the shards, one after the other
};

/// Sets the split factors of the levels that cut `dim`.
void guess_split_factors(const Placement& placement, int dim, Guess guess,
                         std::vector<ChunkLevel>& levels);

}  // namespace tessera::notation
