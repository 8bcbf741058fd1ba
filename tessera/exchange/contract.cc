// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/contract.h"

#include "tessera/base/text.h"

namespace tessera::exchange {

Status check_lane_size(const LaneSize& size) {
  if (size.packet_bytes < 1 || size.packet_bytes > kMostPacketBytes) {
    return Error{ErrorCode::kOutOfRange, cat("packets of ", size.packet_bytes, " bytes"),
                 std::nullopt, cat("a packet has 1 to ", kMostPacketBytes, " bytes")};
  }
  for (const int packets : {size.sending, size.receiving}) {
    if (packets < 1 || packets > kMostPackets) {
      return Error{ErrorCode::kOutOfRange, cat("a lane with ", packets, " packets at once"),
                   std::nullopt, cat("a lane has 1 to ", kMostPackets, " each way")};
    }
  }
  return ok_status();
}

Status check_rank(int rank, int ranks) {
  if (rank >= 0 && rank < ranks) return ok_status();
  return Error{ErrorCode::kOutOfRange, cat("rank ", rank, " of ", ranks), std::nullopt,
               cat("ranks are 0 to ", ranks - 1)};
}

Status check_packet(const LaneSize& size, int mine, int other, std::int64_t bytes) {
  if (other == mine) {
    return Error{ErrorCode::kOutOfRange, cat("a packet between rank ", mine, " and itself"),
                 std::nullopt, "copy bytes of the same rank directly"};
  }
  if (bytes < 0 || bytes > size.packet_bytes) {
    return Error{ErrorCode::kOutOfRange, cat("a packet of ", bytes, " bytes"), std::nullopt,
                 cat("packets of this lane have 0 to ", size.packet_bytes, " bytes")};
  }
  return ok_status();
}

Status check_note(std::span<const std::byte> bytes) {
  if (bytes.size() <= static_cast<std::size_t>(Exchange::kNoteBytes)) return ok_status();
  return Error{ErrorCode::kOutOfRange, cat("a note of ", bytes.size(), " bytes"), std::nullopt,
               cat("a note has at most ", Exchange::kNoteBytes, " bytes; send data as packets")};
}

Status Expected::add(int from, int most) {
  if (all_ >= most) {
    return Error{ErrorCode::kOutOfRange,
                 cat("more than ", most, " packets are expected at once, one from rank ", from),
                 std::nullopt, "release a packet first, or open a lane that receives more"};
  }
  ++of_[from];
  ++all_;
  return ok_status();
}

void Expected::take(int from) {
  --of_[from];
  --all_;
}

int Expected::of(int from) const {
  const auto found = of_.find(from);
  return found == of_.end() ? 0 : found->second;
}

}  // namespace tessera::exchange
