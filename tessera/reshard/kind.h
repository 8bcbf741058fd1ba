// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// The kind of a reshard, derived from the two placements alone: the first of these that applies.
enum class ReshardKind : std::uint8_t {
  kIdentity,   ///< the same slots of the same physical places; also every empty tensor
  kReduce,     ///< shares of A are combined, and B keeps none
  kScatter,    ///< all of A is on one place; B's elements are on several places
  kGather,     ///< A's elements are on several places; all of B is on one place
  kReplicate,  ///< the same tiles (sets of elements that share their places), but B keeps more
               ///< copies of them
  kTranspose,  ///< the same tiles, on places with row and column exchanged; at least one place must
               ///< differ
  kRedistribute,  ///< the same tiles on other places
  kReshard,       ///< anything else; also a change of slots alone
};
/// "IDENTITY", "REDUCE", "SCATTER", ..
std::string_view kind_name(ReshardKind kind);

/// kTranspose exchanges the coordinates of the virtual meshes when both have two axes.
/// Example: [8, 8] on Grid(2, 4) to Grid(4, 2, dim_to_pe=[1, 0]) is a TRANSPOSE.
Result<ReshardKind> kind_of(const Reshard& reshard);

}  // namespace tessera::reshard
