// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/topology.h"
#include "tessera/target/machine.h"

namespace tessera::fabric {

// =================================================================================================
// Messages on any network, packet by packet
//
// What network_cost estimates, this simulates: virtual cut-through with queues that are never full.
//
//   issue     A processor issues its transactions one after the other, Mechanism::issue_cycles
//             apart and no faster than Mechanism::bytes_per_cycle, the first after overhead_cycles.
//             It takes one transaction of each of its messages in turn, in an IssueOrder. Without a
//             mechanism every source has everything ready in cycle 0, in this order.
//   reads     What a processor reads, it requests: the request reaches the source after the latency
//             of the way back, and the data follow. A write ends when the acknowledgement is back.
//             Both are one header on a channel of their own: they wait for nothing and delay
//             nothing.
//   packets   A transaction is cut into packets of at most packet_bytes, each with a header. On
//             links of another packet size, it has the headers of those.
//   stations  A packet passes stations one after the other: [the memory that is read], the port
//             out, the links of its route, the port in, [the memory that is written]; before the
//             port out of a write or after the port in of a read, the processor that issued it,
//             which moves Mechanism::bytes_per_cycle. A station serves one packet at a time, in the
//             order in which their heads arrive, ties by number (issuer by issuer in the order of
//             issue), and is occupied for bytes · cycles per byte. The head goes on after
//             hop_cycles and the tail follows; before a faster station the head waits until the
//             tail can keep up.
//   memories  Machine::memory_cycles. With a mixed bandwidth reads and writes share one station,
//             where a packet takes what it adds to the cycles of all so far; else each has its own,
//             or none if its bandwidth is not known.
//
// All issue times are known in advance: nothing waits for an answer before it issues the next
// transaction. Buffers are unlimited, so there is no back-pressure and no deadlock.
// =================================================================================================

/// The order in which a processor takes its messages.
enum class IssueOrder : std::uint8_t {
  /// By the other endpoint, beginning after itself: place n begins with n + 1, so that not all
  /// begin with the same.
  kNext,
  /// The same list of n, every s-th in turn: s the largest number not above 0.618 n, and at least
  /// 1, without common divisor. In kNext all first use one axis, then the other; here any few
  /// messages use both.
  kSpread,
};

struct PacketOptions {
  IssueOrder issue_order = IssueOrder::kSpread;
  /// The limit of the work, checked in advance: Σ over packets of their stations.
  std::int64_t max_packet_hops = std::int64_t{1} << 27;
};

/// Times of a message, in cycles from 0.
struct PacketTimes {
  double first_issue = 0;
  double completed = 0;  ///< its last byte arrived, or the acknowledgement of its last write
  friend bool operator==(const PacketTimes&, const PacketTimes&) = default;
};

struct PacketSimulation {
  double cycles = 0;  ///< until the last message is completed; 0 without messages
  std::int64_t packets = 0;
  std::int64_t packet_hops = 0;          ///< packets over stations
  std::vector<std::int64_t> link_bytes;  ///< by link number, headers and ports included
  std::vector<PacketTimes> messages;     ///< zero where source and destination are the same
  friend bool operator==(const PacketSimulation&, const PacketSimulation&) = default;
};

/// A pure function of its arguments.
/// Laws: link_bytes equals fabric::link_bytes; cycles are at least every term of network_cost, and
/// at least the latency of each message.
/// Errors: those of network_cost; kTooLarge beyond max_packet_hops.
Result<PacketSimulation> simulate_packets(const Topology& topology, const Machine& machine,
                                          std::span<const Message> messages, const Travel& travel,
                                          const PacketOptions& options = {});

}  // namespace tessera::fabric
