// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/multicast.h"
#include "tessera/fabric/packets.h"
#include "tessera/fabric/topology.h"
#include "tessera/target/machine.h"

namespace tessera::fabric {

// =================================================================================================
// Multicasts, packet by packet
//
// What multicast_cost estimates, this simulates.
//
//   tree      A multicast passes the links of its routes, each once: where routes part, a router
//             sends a copy over each of the next links.
//   reserve   Before data, a request goes down the tree, hop by hop, and reserves each link; when
//             it has reached a receiver, the answer goes back the same way. Data start when all
//             answers are there. A link belongs to one multicast at a time, in the order in which
//             the multicasts began to request their trees: so the first in this order never waits
//             for a later one, and there is no deadlock. The tail of the last packet releases each
//             link as it passes.
//   multicast         Every packet reserves the tree. Its source issues it (issue_cycles) after the
//                     tail of the previous one has left.
//   multicast_linked  The tree stays reserved from the first packet to the last. Packets of the
//                     first transaction wait for an answer each; the following transactions are
//                     issued issue_cycles apart, or as fast as data leave.
//   links     A link or port passes one packet at a time, at Mechanism::bytes_per_cycle or at its
//             own width, in the order of arrival. Copies go on after hop_cycles, and the tail
//             follows. Ports take no hop cycles: the overhead has them.
//   answers   Each receiver acknowledges each packet over its own route back. With multicast_linked
//             an acknowledgement occupies every link there for receiver_cycles, also those that
//             others reserved: it has a channel of its own, but the same wires.
//
// All multicasts start after overhead_cycles. Buffers are unlimited.
// =================================================================================================

struct MulticastSimulation {
  double cycles = 0;  ///< until the last acknowledgement is back; 0 without multicasts
  std::int64_t packets = 0;
  std::int64_t packet_hops = 0;          ///< copies of packets, and acknowledgements, over links
  std::vector<std::int64_t> link_bytes;  ///< of data, by link number, ports included
  std::vector<PacketTimes> multicasts;   ///< zero where there are no receivers or no bytes
  friend bool operator==(const MulticastSimulation&, const MulticastSimulation&) = default;
};

/// A pure function of its arguments. `max_packet_hops` limits the work, checked in advance.
/// Laws: every link of a tree carries the bytes of its multicast once; a multicast alone, whose
/// transactions are packets of equal size, takes multicast_cost().cycles by `multicast`.
/// Errors: those of multicast_cost; kTooLarge beyond max_packet_hops.
Result<MulticastSimulation> simulate_multicasts(
    const Topology& topology, const Machine& machine, std::span<const Multicast> multicasts,
    const Travel& travel, std::int64_t max_packet_hops = PacketOptions{}.max_packet_hops);

}  // namespace tessera::fabric
