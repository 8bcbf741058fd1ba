// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/notation/dtensor/chunks.h"

/// Guesses how a placement is sharded along one dim, from its description. A guess may be wrong:
/// the caller lowers it and compares the result with the placement.
namespace tessera::notation {

enum class Guess {
  kPlain,   ///< no strided shards
  kDigits,  ///< a split factor counts the values of wider digits that no earlier axis uses
  kShards,  ///< split factors that fit the shards, one after another
};

/// Sets the split factors of the levels that cut `dim`.
void guess_split_factors(const Placement& placement, int dim, Guess guess,
                         std::vector<ChunkLevel>& levels);

}  // namespace tessera::notation
