// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/flows/part_facts.h"

namespace tessera::reshard {

/// True when A and B group the elements in the same way. A tile is a set of elements whose shares
/// are all on the same places.
Result<bool> same_tiles(const std::vector<PartFacts>& parts);

/// The single physical place that holds all of a side; empty when there are several.
Result<std::optional<std::int64_t>> only_place(const std::vector<PartFacts>& parts,
                                               const SideFacts PartFacts::* which);

}  // namespace tessera::reshard
