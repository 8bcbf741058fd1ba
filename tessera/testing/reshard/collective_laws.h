// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/reshard/collectives/collective.h"
#include "tessera/testing/reshard/naive_reshard.h"
#include "tessera/testing/reshard/reshard_pairs.h"

/// The laws of reshard/collectives/. A law returns an empty string when it holds, otherwise what
/// broke.
namespace tessera::test {

/// Carries out the steps element by element, by the definition of each kind: an all_gather, for
/// example, requires that each element is on exactly one member of its group, and leaves it on all
/// of them. Every place must hold as many elements as the step says, and at last what B requires.
std::string steps_mistake(const reshard::Collectives& collectives, const NaiveReshard& moves);

/// collectives_of, if it recognises the pair at all.
std::string collectives_mistake(const ReshardPair& pair, const NaiveReshard& moves);

}  // namespace tessera::test
