// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/target/machine.h"

namespace tessera::fabric {

// =================================================================================================
// Endpoints, links and routes of any machine
//
// Endpoints send and receive: every place, every bank, every shared memory. They are numbered in
// this order:
//
//     places           row-major over all levels, as everywhere
//     banks            of each memory per bank, in the order of Machine::memory; for each memory
//                      device by device, and within a device bank by bank
//     shared memories  in the order of Machine::memory, one endpoint each
//
// A bank or shared memory is an endpoint only if the machine says where it is reached (`at`).
//
// Links. Each network of the innermost level has one link per device, router, axis and direction
// (a ring has one axis; all to all: one link per device and ordered pair of routers). Parallel
// links of the innermost level are one link that is as many times as wide. An outer level uses its
// first network: `links` parallel links per place of the level, axis and direction. Every endpoint
// has a port out and a port in for each network of the innermost level, which carry as much as one
// link. A memory has such ports at each of its routers.
//
// Routes of a message p → q over one network of the innermost level:
//
//     inside a device   from p's router along one axis after the other (Network::route); along an
//                       axis by Network::ways. Several endpoints may share a router.
//     to another device one step of the outer levels at a time, outermost level first, each by the
//                       rules of its first network: through the inner network from where the
//                       message is to the gateway of that direction, over one of the parallel
//                       links, on to the gateway of the opposite direction on the next device. Of n
//                       parallel links a message takes number (p + the digits of q in
//                       base n, without the last one) mod n: shifts, scatters, gathers, transposes
//                       and pages in turn use all links about equally. All to all: out by the
//                       gateway up, in by the gateway down, of the first axis with more than one
//                       device.
//     alternatives      A memory with several routers takes the one with the fewest steps from (or
//                       to) the other endpoint, on a tie the first that is listed. A shared memory
//                       that every device has is reached on the device of the other endpoint.
//
// The request or acknowledgement of a message travels between the same two routers in the opposite
// direction: on a network whose links have one way only, around the rest of the rings.
//
// More than two levels: the links of boxes begin at a device of the box, and the route to that
// device is found by the same rules, one level further in. They meet its routers at the device's
// own gateway of the same direction (axis and link modulo their numbers there), which a device at
// the border of the box has to spare.
//
// Example: on a ring of 8 one-way routers, 6 → 1 takes the links 6, 7, 0; the answer takes the
// other five.
// =================================================================================================

/// What an endpoint is.
struct Endpoint {
  enum class Kind : std::uint8_t { kPlace, kBank, kShared };
  Kind kind = Kind::kPlace;
  std::int32_t memory = -1;  ///< of banks and shared memories: index in Machine::memory
  std::int64_t number = 0;   ///< the place's number, or the bank's (device-major); else 0
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// One directed link, or the port of an endpoint.
struct LinkFacts {
  double cycles_per_byte = 0;
  double hop_cycles = 0;          ///< ports: Network::ramp_cycles, or 0
  std::int64_t packet_bytes = 0;  ///< 0: transactions are not cut into packets
  std::int64_t header_bytes = 0;  ///< of each packet: what the link carries in a cycle, rounded up
  friend bool operator==(const LinkFacts&, const LinkFacts&) = default;
};

/// The most links of a topology, ports included: those of a wafer, and some.
inline constexpr std::int64_t kMaxTopologyLinks = std::int64_t{1} << 23;

/// The routes of a machine. A value; cheap to copy.
class Topology {
 public:
  /// For machines that `Machine::check` accepts. kNotSupported, with the missing figure in the
  /// message, where routes, widths or latencies are not described of any network of the innermost
  /// level, or of another level; kTooLarge for more than kMaxTopologyLinks links.
  static Result<Topology> of(const Machine& machine);

  std::int64_t endpoints() const;
  Endpoint endpoint(std::int64_t number) const;
  /// The number of an endpoint. Errors: kUnknownName for a memory without one; kOutOfRange.
  Result<std::int64_t> bank(std::int64_t memory, std::int64_t device, std::int64_t number) const;
  Result<std::int64_t> shared(std::int64_t memory) const;
  /// "place [0, 3]", "dram bank 5", "dram bank 5 of device [1]", "system".
  std::string endpoint_name(std::int64_t number) const;

  /// Networks of the innermost level, numbered as there; at least one. Those that are not described
  /// well enough for routes, widths and latencies are left out: nothing travels over them.
  std::int64_t networks() const;
  /// Why a network is left out; empty for those that are not.
  const std::string& why_left_out(std::int64_t network) const;
  /// The number of a network by its name, or empty if there is none or it is left out.
  std::optional<std::int64_t> network(std::string_view name) const;
  /// The first network that is not left out.
  std::int64_t first_network() const;

  std::int64_t links() const;  ///< ports included
  const LinkFacts& link(std::int64_t number) const;
  /// "noc0, router [3, 9] to [3, 0]", "into place [1, 2] from noc0", "out of host at router [15, 0]
  /// to mesh" (of several), "ethernet link 1 of device [0] up axis 0". A mesh has numbers for links
  /// that would leave it; "to nothing" is their name.
  std::string link_name(std::int64_t number) const;

  // Arguments below are in range: 0 <= network < networks(), not left out; 0 <= from, to <
  // endpoints().

  /// Appends the links of the route from p to q: p's port out, the links, q's port in. Nothing if
  /// p = q.
  void route(std::int64_t network, std::int64_t from, std::int64_t to,
             std::vector<std::int32_t>& links) const;
  /// Links between the two ports.
  std::int64_t distance(std::int64_t network, std::int64_t from, std::int64_t to) const;
  /// Σ of the hop cycles of the route, ports included.
  double latency_cycles(std::int64_t network, std::int64_t from, std::int64_t to) const;
  /// Σ of the hop cycles of the request or acknowledgement of a message p → q: from q's router back
  /// to p's. Differs from latency_cycles(q, p) only where a memory has alternatives.
  double return_cycles(std::int64_t network, std::int64_t from, std::int64_t to) const;

  struct Parts;  // networks/parts.h
  const Parts& parts() const { return *parts_; }

 private:
  explicit Topology(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

// =================================================================================================
// What a set of messages costs
//
//     cycles = overhead + max over the parts of the machine (work + latency)
//
//     overhead  of the mechanism
//     work      of one part: link, send, receive, issue, memory, or a message alone
//     latency   of what passes the part last: longest - min(spread / 2, √(2 · spread · each)).
//               `longest` is the longest route of the messages (there and back with a mechanism,
//               else there), `spread` what it is longer than the shortest, `each` the work of an
//               average transaction; all three of the messages that cross a link between devices,
//               and of all messages for other parts. Alone: longest.
//
//     link      the busiest link: Σ of the bytes that cross it, packet headers included, over its
//               width
//     send      the busiest port out, headers included; receive: the busiest port in; `busiest`
//               names the endpoint
//     issue     the processor that issues the most transactions: (n - 1)·issue_cycles, or its bytes
//               over Mechanism::bytes_per_cycle. A read is issued by its receiver, a write by its
//               sender; a bank or a shared memory issues nothing: what it sends is read, what it
//               receives is written.
//     memory    the busiest bank or shared memory: Machine::memory_cycles of what it sends and
//               receives; of one whose bandwidth is not known, nothing
//     alone     what a message of average size takes: its bytes over the width of a port or
//               Mechanism::bytes_per_cycle, its transactions at issue_cycles
//
// Why this latency: what passes last need not have the longest way to go. If latencies are spread
// evenly and messages pass in any order, the latest to arrive is about √(2 · spread · each) earlier
// than if it had; where each takes longer than the latencies differ, an average route decides.
// Where little is to be moved, nothing waits, and the longest route ends last: alone. packets.h
// simulates what is estimated here; docs/fabric.md has the differences.
// =================================================================================================

/// Bytes that go from one endpoint to another, in `transactions` pieces whose sizes differ by at
/// most one byte, the larger ones first. Each piece is at least one packet.
struct Message {
  std::int32_t source = 0;
  std::int32_t destination = 0;
  std::int64_t bytes = 0;
  std::int64_t transactions = 1;  ///< at least 1 for each message; contiguous runs
  friend bool operator==(const Message&, const Message&) = default;
};

/// The term that dominates a cost: latency with overhead if it is larger than the others.
enum class Term : std::uint8_t { kLatency, kLink, kSend, kReceive, kIssue, kMemory };
/// "latency", "link", "send", "receive", "issue", "memory".
std::string_view term_name(Term term);

/// All sums are over messages between different endpoints; others cost nothing.
struct NetworkCost {
  std::int64_t bytes = 0;
  std::int64_t messages = 0;
  std::int64_t transactions = 0;
  std::int64_t hops = 0;            ///< Σ bytes · distance
  std::int64_t max_link_bytes = 0;  ///< over one link, headers included; ports do not count
  std::int64_t max_send_bytes = 0;  ///< out of one endpoint, headers not included
  std::int64_t max_receive_bytes = 0;
  std::int64_t max_issued = 0;  ///< transactions of one processor
  std::int64_t longest_distance = 0;
  double cycles = 0;
  Term dominated_by = Term::kLatency;
  /// What carries the dominating term: a link_name, "place [0, 3]", "dram bank 5". Empty: latency.
  std::string busiest;
  friend bool operator==(const NetworkCost&, const NetworkCost&) = default;
};

/// How messages travel: over which network, by which mechanism.
struct Travel {
  std::int64_t network = 0;
  std::int64_t mechanism = -1;  ///< index in the innermost level's mechanisms; -1: none
  friend bool operator==(const Travel&, const Travel&) = default;
};

/// `machine` is the one that `topology` was made of.
/// Law: every field equals what walking the route of every message gives.
/// Work: O(messages + links) inside devices whose network is a mesh, torus or ring of up to two
/// axes; else messages · longest route.
/// Errors: kOutOfRange for an endpoint, network or mechanism that does not exist, bytes below 0 or
/// transactions below 1; kOverflow.
Result<NetworkCost> network_cost(const Topology& topology, const Machine& machine,
                                 std::span<const Message> messages, const Travel& travel);

/// The bytes that cross each link, by link number, headers and ports included.
/// Errors: as network_cost.
Result<std::vector<std::int64_t>> link_bytes(const Topology& topology,
                                             std::span<const Message> messages,
                                             std::int64_t network);

/// The cheapest way to send the messages: each mechanism that fits over its network. A multicast
/// never fits, a read does not where a message ends at a memory, a write does not where one begins
/// there; where none fits, all but multicasts are tried. Without mechanisms: over each network.
struct BestTravel {
  Travel travel;
  NetworkCost cost;
};
Result<BestTravel> best_travel(const Topology& topology, const Machine& machine,
                               std::span<const Message> messages);

/// Who sends to whom, whatever the size. A value; cheap to copy.
class MessagePattern {
 public:
  struct Travels;  // network_cost.cc

 private:
  friend class NetworkPricer;
  explicit MessagePattern(std::shared_ptr<const Travels> travels) : travels_(std::move(travels)) {}
  std::shared_ptr<const Travels> travels_;
};

/// What messages of one size cost, by the cheapest travel. Fields as in NetworkCost.
struct PatternCost {
  Travel travel;
  double cycles = 0;
  Term dominated_by = Term::kLatency;
  std::int64_t carrier = -1;  ///< the number of the link, or of the endpoint; -1: latency
};

struct Peaks;  // networks/peaks.h

/// The same for many sets of messages: keeps its tables of the machine between them, so that a set
/// takes as long as its messages, however large the machine is. Not for several threads at once.
/// `topology` and `machine` must outlive it.
class NetworkPricer {
 public:
  NetworkPricer(const Topology& topology, const Machine& machine);
  ~NetworkPricer();
  NetworkPricer(const NetworkPricer&) = delete;
  NetworkPricer& operator=(const NetworkPricer&) = delete;

  Result<NetworkCost> cost(std::span<const Message> messages, const Travel& travel);
  Result<BestTravel> best(std::span<const Message> messages);

  /// The pattern of messages, whose sizes are ignored: their routes are added up once, then a price
  /// for any size takes no longer than for a single message.
  Result<MessagePattern> pattern(std::vector<Message> messages);
  /// Law: the same as best() of the messages, each of so many bytes in so many transactions; empty
  /// where that is kOverflow. `bytes` is at least 0, `transactions` at least 1.
  std::optional<PatternCost> best(const MessagePattern& pattern, std::int64_t bytes,
                                  std::int64_t transactions) const;
  /// NetworkCost::busiest.
  std::string busiest(const PatternCost& cost) const;

 private:
  struct Tables;
  Result<Peaks> peaks(std::span<const Message> messages, const Travel& travel);
  const Topology& topology_;
  const Machine& machine_;
  std::unique_ptr<Tables> tables_;
};

}  // namespace tessera::fabric
