// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/base/result.h"
#include "tessera/exchange/resharder.h"
#include "tessera/reshard/reshard.h"

namespace tessera::tools {

/// Which rank owns which physical place of A, and which of B.
struct RankMaps {
  exchange::RankMap from;
  exchange::RankMap to;
};
/// The meaning of --ranks-of-places:
///
///   "blocks" or ""  the places that A has, in order, the same number on each rank, or one less on
///                   some; those of B independently in the same way
///   "cyclic"        the same, assigned round-robin
///   "0,0,1,1"       one rank per place of the physical mesh, for both A and B
///
/// Errors: kUnknownName, kBadNumber, kUsage for a list of another length, those of RankMap.
Result<RankMaps> rank_maps_of(const std::string& text, const reshard::Reshard& reshard, int ranks);

}  // namespace tessera::tools
