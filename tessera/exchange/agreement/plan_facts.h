// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/exchange/agreement.h"
#include "tessera/exchange/rank_map.h"
#include "tessera/reshard/reshard.h"

namespace tessera::exchange {

/// All that ranks must have been given alike, so that what one sends is what the other expects: the
/// tensor, where A and B keep it, the physical mesh, the ranks of places, and `agreed`, a word for
/// each option that counts.
std::vector<Fact> facts_of(const reshard::Reshard& reshard, const RankMap& from, const RankMap& to,
                           const std::string& agreed);

/// One number for all of them.
std::uint64_t plan_hash(const std::vector<Fact>& facts);

}  // namespace tessera::exchange
