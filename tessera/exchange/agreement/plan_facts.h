// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/exchange/agreement.h"
#include "tessera/exchange/resharder.h"
#include "tessera/reshard/reshard.h"

namespace tessera::exchange {

/// The inputs that must be the same on all ranks, so that each rank sends what the other expects:
/// the tensor, where A and B keep it, the physical mesh, the ranks of places, and `agreed`, a text
/// that contains every relevant option.
std::vector<Fact> facts_of(const reshard::Reshard& reshard, const RankMap& from, const RankMap& to,
                           const std::string& agreed);

/// One hash for all of them.
std::uint64_t plan_hash(const std::vector<Fact>& facts);

}  // namespace tessera::exchange
