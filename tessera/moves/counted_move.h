// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/base/result.h"
#include "tessera/moves/stored.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// A move counted as a reshard: its kind, the bytes that cross, and between which endpoints.
struct CountedMove {
  reshard::ReshardKind kind = reshard::ReshardKind::kReshard;
  reshard::ReshardCost cost;  ///< without a fabric
  /// Pairs of different endpoints, by source and then destination.
  std::vector<reshard::PairBytes> pairs;
};

/// The same as kind_of, cost_of and pairs_of say of reshard_on, counted as endpoint_traffic does:
/// for tensors of more pages than can be listed. Rows and columns of pages are not told apart, so a
/// TRANSPOSE counts as a REDISTRIBUTE.
/// Errors: as endpoint_traffic; kNotSupported for tensors of several layouts, and where B keeps
/// shares.
Result<CountedMove> counted_move(const Machine& machine, const Stored& a, const Stored& b);

}  // namespace tessera::moves
