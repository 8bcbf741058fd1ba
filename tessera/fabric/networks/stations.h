// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/fabric/networks/parts.h"
#include "tessera/fabric/topology.h"

namespace tessera::fabric {

/// What serves packets one at a time: a link or port, a processor that issues, a memory.
struct Station {
  double cycles_per_byte = 0;
  double hop_cycles = 0;
  std::int64_t packet_bytes = 0;  ///< of links with packets; else 0
  std::int64_t header_bytes = 0;
  std::int64_t link = -1;    ///< the number of a link
  std::int32_t memory = -1;  ///< in MessageWays::memories
  bool reads = false;        ///< of a memory
  double free = 0;           ///< when the last packet so far has passed; of mixed memories not used

  /// The bytes of a packet here, with its headers: those of packets of this station's size that
  /// begin in [begin, end) of its transaction. One for an empty transaction.
  std::int64_t bytes(std::int64_t begin, std::int64_t end) const {
    if (packet_bytes == 0) return end - begin;
    const std::int64_t before = begin == 0 ? 0 : (begin - 1) / packet_bytes + 1;
    const std::int64_t upto = end == 0 ? 1 : (end - 1) / packet_bytes + 1;
    return end - begin + (upto - before) * header_bytes;
  }
};

/// What a memory whose reads and writes share a bandwidth has served so far.
struct MixedMemory {
  const target::MemorySpace* space = nullptr;
  double read = 0;
  double written = 0;
  double cycles = 0;  ///< memory_cycles of both
  double free = 0;
};

/// The stations of one message, and what happens before and after.
struct MessageWay {
  std::size_t first = 0;          ///< in MessageWays::route
  std::size_t count = 0;          ///< 0: source and destination are the same
  std::int64_t issuer = 0;        ///< whose turn it is: a processor, or the source
  bool by_processor = false;      ///< which issues transactions one after the other
  double request_cycles = 0;      ///< before the first station
  double acknowledge_cycles = 0;  ///< after the last
};

/// The ways of messages that are valid.
struct MessageWays {
  MessageWays(const Topology& topology, const Machine& machine, std::span<const Message> all,
              const Travel& travel);

  std::vector<Station> stations;
  std::vector<std::uint32_t> route;  ///< stations, message by message
  std::vector<MessageWay> messages;
  std::vector<MixedMemory> memories;
};

}  // namespace tessera::fabric
