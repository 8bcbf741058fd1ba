// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/mesh.h"
#include "tessera/fabric/traffic.h"

namespace tessera::fabric {

// clang-format off
// =================================================================================================
// The simulated machine
//
// A wavelet is one 32-bit word and the number of its message. Each router has five ports: east,
// west, south, north, and a ramp to its processor.
//
//   link      One wavelet per cycle in each direction; a hop takes one cycle.
//   ramp      One wavelet per cycle in each direction; each direction takes T_R = ramp_cycles. A
//             processor accepts every wavelet that the ramp delivers.
//   queues    An input has one queue per output that its wavelets may take, and in static mode one
//             per output and colour, so wavelets wait only for wavelets that go the same way. A
//             queue holds `queue_depth` wavelets. A wavelet moves if the next queue had room at
//             the start of the cycle, so a stream moves every second cycle through queues of
//             depth 1, and every cycle through deeper ones.
//   outputs   Each output passes at most one wavelet per cycle, round-robin over the queues that
//             can move: from the ramp, east-, west-, south-, northbound; in static mode by colour.
//   copies    A multicast wavelet is copied where its tree forks, and moves when all the queues
//             that receive a copy have room.
//
// Time. A wavelet that leaves its processor in cycle t reaches a processor d hops away in cycle
// t + 2·T_R + d if nothing delays it. The cycles of a simulation are
//
//     last delivery - first departure + 1
//
// so B words over d hops take B + d + 2·T_R cycles. An add takes one cycle if its result is sent
// on, and none at the last processor. patterns.h compares this convention with published ones.
//
// Two modes.
//   kIdeal    A wavelet carries its destination; any message may leave at any time.
//   kStatic   Routers know only colours: `mesh.colours` of them, of which at most 32 are used.
//             Messages are assigned to phases. Within a phase, no router sees one colour used by
//             messages that differ in source or destinations. A message goes to the first phase in
//             which some colour is free on its whole route, but not before the phase of the
//             previous message of its source or of a message that it waits for. A phase begins
//             `switch_cycles` after the previous one has drained.
//
// Named colours. In static mode, messages may name their colours (FabricMessage::colour) instead.
// Then there is one phase, and routers have switches: messages of one colour that cross the same
// router take turns there, in the order of the list. A wavelet enters the router only after every
// word of the earlier messages of its colour there has entered; until then it waits where it is. A
// processor sends the messages of each colour in the listed order, but different colours
// independently, one word per cycle in round-robin order.
//
// Why it is deadlock-free. Order the queues by what can follow: eastward or westward, then
// southward or northward, then the ramp, and along each direction by position. A wavelet only moves
// to queues later in that order, because routes are XY (in static mode: further from the root of
// one tree). So all queues after the last non-empty queue are empty, and its head can move: while
// wavelets are in flight, at least one moves each cycle. A message that waits is held in memory,
// not in the network, and messages that wait for each other are rejected. With named colours, the
// first unfinished message of the list can always move: it waits for nothing that is unfinished,
// and the queues of its colour hold only its own wavelets.
// =================================================================================================
// clang-format on

enum class FabricMode : std::uint8_t { kIdeal, kStatic };

/// The function that combines words (FabricMessage::after): any pure function of two words.
using Combine = std::uint32_t (*)(std::uint32_t own, std::uint32_t received);
std::uint32_t add_u32(std::uint32_t own, std::uint32_t received);  ///< modulo 2^32
std::uint32_t add_f32(std::uint32_t own, std::uint32_t received);  ///< the bits of two floats

struct SimulateOptions {
  FabricMode mode = FabricMode::kIdeal;
  std::int32_t queue_depth = 32;   ///< 1 to 128 wavelets; cost of small depths: docs/fabric.md
  std::int64_t switch_cycles = 0;  ///< between phases of static mode
  Combine combine = add_u32;
  /// The limit of the work, checked in advance: Σ over messages of words · links of the tree. Below
  /// 2^32.
  std::int64_t max_hops = std::int64_t{1} << 31;
};

/// One word that reached one processor.
struct Delivery {
  std::int64_t message = 0;
  std::int64_t destination = 0;  ///< which destination of the message, from 0
  std::int64_t index = 0;        ///< of the word in its message
  std::uint32_t word = 0;
  std::int64_t cycle = 0;
};

/// The times of a message. Cycles count from 0.
struct MessageTimes {
  std::int64_t first_departure = 0;  ///< of a word from the source's processor
  std::int64_t last_departure = 0;
  std::int64_t first_delivery = 0;  ///< of a word at any destination's processor
  std::int64_t last_delivery = 0;
  std::int32_t phase = 0;   ///< static mode; else 0
  std::int32_t colour = 0;  ///< static mode; else 0
  friend bool operator==(const MessageTimes&, const MessageTimes&) = default;
};

struct Simulation {
  std::int64_t cycles = 0;   ///< last delivery - first departure + 1; 0 without messages
  std::int64_t hops = 0;     ///< wavelets over links: the sum of `links`
  std::int64_t phases = 0;   ///< of static mode; else 1, or 0 without messages
  std::int64_t colours = 0;  ///< the most colours that one phase uses; 0 in ideal mode
  std::vector<MessageTimes> messages;
  /// Wavelets that left router n by link p at [4·n + p], p < 4 in the order of Port.
  std::vector<std::int64_t> links;
  std::vector<std::int64_t> ramp_out;  ///< wavelets that left the processor of each router
  std::vector<std::int64_t> ramp_in;   ///< wavelets that reached it
  friend bool operator==(const Simulation&, const Simulation&) = default;

  std::int64_t link(std::int32_t node, Port port) const {
    return links[static_cast<std::size_t>(node) * 4 + static_cast<std::size_t>(port)];
  }
};

/// Called once per word at each destination; words of one message reach one destination in order.
/// May be empty.
using Sink = std::function<void(const Delivery&)>;

/// Simulates all messages, wavelet by wavelet. A pure function of its arguments: the same traffic
/// gives the same Simulation and the same calls of `sink` in the same order.
/// Laws: each word reaches each destination exactly once; `links` equals the loads counted along
/// the routes; cycles >= the largest link or ramp load, and >= words + distance + 2·T_R of each
/// message.
/// Errors: those of Traffic::check; kOutOfRange for options outside their range; kNotSupported for
/// wavelets that are not 32 bits, or static mode without a colour; kOutOfRange for a named colour
/// that the mesh does not have, kContradiction where only some messages name one or where a message
/// that names one waits for a later message; kTooLarge beyond max_hops, or if phases or turns take
/// too much memory.
Result<Simulation> simulate(const FabricMesh& mesh, const Traffic& traffic,
                            const SimulateOptions& options = {}, const Sink& sink = {});

}  // namespace tessera::fabric
