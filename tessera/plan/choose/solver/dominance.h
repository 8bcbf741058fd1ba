// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/plan/choose/solver/simplify.h"

namespace tessera::choose {

/// Which strategies of a node are dominated: another one that stays costs at most as much for every
/// choice of the neighbours, and uses at most as much in every piece of the node's life.
/// Law: no cycle of strategies dominates itself away; of equal strategies exactly one stays.
std::vector<bool> dominated_strategies(const Simplified& problem, std::size_t node);

}  // namespace tessera::choose
