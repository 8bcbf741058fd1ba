// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "tessera/base/result.h"
#include "tessera/exchange/exchange.h"

/// The requirements of every kind of exchange on its callers (exchange.h), checked in the same way.
namespace tessera::exchange {

/// The longest packet of any lane: MPI message lengths are ints.
inline constexpr std::int64_t kMostPacketBytes = std::int64_t{1} << 30;
/// The most packets that a lane of one rank has in flight, or expects, at once.
inline constexpr int kMostPackets = 1 << 16;

/// kOutOfRange for a size that no lane can have.
Status check_lane_size(const LaneSize& size);
/// kOutOfRange for a rank that does not exist.
Status check_rank(int rank, int ranks);
/// kOutOfRange for a packet between `mine` and `other` that is too long, or has no valid
/// destination.
Status check_packet(const LaneSize& size, int mine, int other, std::int64_t bytes);
/// kOutOfRange for a note that is too long.
Status check_note(std::span<const std::byte> bytes);

/// Counts the packets that a rank expects and has not released.
class Expected {
 public:
  /// kOutOfRange when `most` are expected already.
  Status add(int from, int most);
  void take(int from);
  int of(int from) const;

 private:
  std::unordered_map<int, int> of_;
  int all_ = 0;
};

}  // namespace tessera::exchange
