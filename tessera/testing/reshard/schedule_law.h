// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/reshard/collectives/algorithms.h"

namespace tessera::test {

/// Carries out the rounds of a schedule on blocks that know whose contributions they contain, and
/// returns what broke, or an empty string. In a round members send only what they had when it
/// began; nothing is combined twice, and no block arrives where it already is (except in a
/// broadcast); at last every member has exactly what the collective promises. `moves` is that of a
/// permute.
std::string schedule_mistake(const reshard::Schedule& schedule,
                             const std::vector<std::int32_t>& moves = {});

}  // namespace tessera::test
