// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "tessera/reshard/collectives/collective.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/reshard/reshard_pairs.h"

namespace tessera::test {

/// A pair that was made from collectives.
struct CollectiveCase {
  ReshardPair pair;
  std::set<reshard::CollectiveKind> kinds;  ///< those it was made from
  /// Every cut divides its dim evenly, so no shard is empty or shorter than others. Otherwise
  /// shards may be so few that, for example, an all_gather has only one member with data.
  bool even = false;
};

/// One to four grid axes, some of which are parts of one mesh axis; cuts of several dims, nested
/// cuts, copies, shares and fixed coordinates along axes that do not change; and one to three
/// changes. Places are those of the mesh, moved and mirrored, in a table of devices, or numbers.
/// Dims that A cuts along changing axes are not those that B does.
CollectiveCase random_collective(Dice& dice);

}  // namespace tessera::test
