// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tessera/reshard/collectives/algorithms.h"
#include "tessera/reshard/collectives/collective.h"

namespace tessera::moves {

/// Algorithms worth trying; those that a collective does not have are refused by schedule_of.
std::vector<reshard::AlgorithmChoice> choices_for(const reshard::Collective& collective);

/// Where members send directly, they may multicast.
bool is_direct(const reshard::AlgorithmChoice& choice);

/// "ring", "two_phase (direct)"; with multicasts "two_phase (multicast)".
std::string choice_name(const reshard::AlgorithmChoice& choice, bool multicasts);

}  // namespace tessera::moves
