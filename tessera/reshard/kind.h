// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// What a reshard is, by the two placements alone: the first of these that fits.
enum class ReshardKind : std::uint8_t {
  kIdentity,   ///< the same slots of the same physical places; also every empty tensor
  kReduce,     ///< shares of A are combined, and B keeps none
  kScatter,    ///< all of A is on one place, B's elements are on several
  kGather,     ///< A's elements are on several places, all of B is on one
  kReplicate,  ///< the tiles (sets of elements that share their places) are the same, and B keeps
               ///< more copies of them
  kTranspose,  ///< the same tiles, on places with row and column exchanged, which must differ
               ///< somewhere
  kRedistribute,  ///< the same tiles on other places
  kReshard,       ///< anything else; also a change of slots alone
};
/// "IDENTITY", "REDUCE", "SCATTER", ..
std::string_view kind_name(ReshardKind kind);

/// Coordinates that kTranspose exchanges are those of the virtual meshes where both have two axes.
/// Example: [8, 8] on Grid(2, 4) to Grid(4, 2, dim_to_pe=[1, 0]) is a TRANSPOSE.
Result<ReshardKind> kind_of(const Reshard& reshard);

}  // namespace tessera::reshard
