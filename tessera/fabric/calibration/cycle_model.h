// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/fabric/calibration/flows.h"
#include "tessera/fabric/calibration/relative_fit.h"

namespace tessera::fabric {

// =================================================================================================
// What a measurement should take
//
// A master issues n transactions of b bytes each to d others, in packets of at most `packet_bytes`;
// p is the number of packets of a transaction. All terms but constants of links and banks belong to
// the mechanism or to its network.
//
// unicast
//     overhead + hop·(hops there and back)
//       + the largest of
//           (n - 1)·issue + d·receiver            the processor; it goes through a list of
//           addresses
//                                                 if d > 1, else there is no such term
//           n·b / bytes_per_cycle                 one processor's data
//           what a link or port carries           of several masters: data with their headers, and
//                                                 requests or acknowledgements of one header per
//                                                 packet. Of one master, bytes_per_cycle says it.
//           what a bank reads or writes
//
// multicast: a packet reserves its route, there and back to the farthest receiver, before the next
// one may start. Masters whose routes share a link take turns: t is the most streams over one link.
//     overhead + hop·(hops there and back) + t·(n·p·(issue + 2·hop·hops there) + n·b /
//     bytes_per_cycle)
//
// multicast_linked: only the last transaction, which ends the link, reserves its route again.
//     overhead + hop·(hops there and back) + t·p·2·hop·(hops there)
//       + the largest of
//           t·(n - 1)·issue
//           for a link or port with s streams of data and a acknowledgements per packet:
//             s·n·b / bytes_per_cycle + a·n·p·receiver
//
// A read over the ring of a one-way torus and its answer go once around every ring that they use.
// What they take between processors and routers is part of the overhead.
// =================================================================================================

/// The terms of one mechanism, as numbers of terms of a CycleForm.
struct ModelTerms {
  std::int32_t overhead = 0;
  std::int32_t issue = 0;
  std::int32_t cycles_per_byte = 0;  ///< 1 / Mechanism::bytes_per_cycle
  std::int32_t receiver = 0;
  std::int32_t hop = 0;  ///< of its network
};

/// The cycles of a measurement as a function of its terms. `bank_bytes_per_cycle`: how fast one
/// bank of the far memory reads or writes; empty: not known, or not a bank.
CycleForm cycle_form(const Measurement& measurement, const Flows& flows, const ModelTerms& terms,
                     std::optional<double> bank_bytes_per_cycle);

}  // namespace tessera::fabric
