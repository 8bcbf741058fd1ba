// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "tessera/base/result.h"
#include "tessera/exchange/exchange.h"

/// What every kind of exchange asks of its callers (exchange.h), so that all ask the same.
namespace tessera::exchange {

/// The longest packet of any lane: lengths of MPI messages are ints.
inline constexpr std::int64_t kMostPacketBytes = std::int64_t{1} << 30;
/// The most packets of one rank that a lane has on their way, or expects, at once.
inline constexpr int kMostPackets = 1 << 16;

/// kOutOfRange for a size that no lane can have.
Status check_lane_size(const LaneSize& size);
/// kOutOfRange for a rank that is not there.
Status check_rank(int rank, int ranks);
/// kOutOfRange for a packet between `mine` and `other` that is too long, or goes nowhere.
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
