// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/topology.h"
#include "tessera/moves/counted.h"
#include "tessera/moves/stored.h"
#include "tessera/reshard/reshard.h"

namespace tessera::moves {

/// What a move sends, message by message, and what it copies without sending.
struct Traffic {
  /// One message per ordered pair of different endpoints, by source and then destination.
  std::vector<fabric::Message> messages;
  std::int64_t bytes = 0;            ///< of all messages
  std::int64_t local_bytes = 0;      ///< copied inside endpoints
  std::int64_t max_local_bytes = 0;  ///< inside one endpoint
  std::int64_t max_sent_bytes = 0;   ///< by one endpoint
  std::int64_t max_received_bytes = 0;
  /// Every message is one contiguous run on both sides.
  bool in_one_piece() const;
};

/// The messages of a reshard on the machine's mesh. Transactions are the runs of elements that are
/// contiguous on both sides. kTooLarge beyond kMostTransfers.
/// Law: the bytes of every pair are those of pairs_of.
Result<Traffic> mesh_traffic(const reshard::Reshard& reshard);

/// The messages of a move between any memories, counted without listing pages: the place of a page
/// is its number modulo the number of banks, so the numbers that dims add to it are counted modulo
/// that, dim by dim, and multiplied. Of several copies in A, each destination reads the one with
/// the fewest steps to it over the first network, on a tie the first; without routes always the
/// first. Transactions are as many as the longest common run of both layouts makes necessary:
/// ceil(elements / run). Law: the bytes of every pair equal those counted element by element.
/// Errors: those of on_endpoints and Reshard::make; kTooLarge.
Result<Traffic> endpoint_traffic(const Machine& machine, const Stored& a, const Stored& b,
                                 const fabric::Topology* routes);

}  // namespace tessera::moves
