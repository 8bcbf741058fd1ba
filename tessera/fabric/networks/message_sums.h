// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/networks/listed_loads.h"
#include "tessera/fabric/networks/loads.h"
#include "tessera/fabric/networks/pair_table.h"
#include "tessera/fabric/networks/parts.h"
#include "tessera/fabric/topology.h"

namespace tessera::fabric {

/// The packets of a message on links with these facts, or empty if they do not fit an int64. 0
/// where transactions are not cut into packets.
inline std::optional<std::int64_t> packets_of(const LinkFacts& link, const Message& message) {
  const std::int64_t size = link.packet_bytes;
  const std::int64_t count = message.transactions;
  if (size == 0) return 0;
  if (message.bytes <= size) return count;
  if (count <= INT32_MAX && size <= INT32_MAX && message.bytes <= count * size) return count;
  // `larger` transactions of small + 1 bytes, the others of small. Each is at least one packet.
  const std::int64_t small = message.bytes / count;
  const std::int64_t larger = message.bytes % count;
  const std::int64_t of_small = small == 0 ? 1 : (small - 1) / size + 1;
  const std::int64_t of_large = small / size + 1;
  const Checked packets = Checked(larger) * of_large + Checked(count - larger) * of_small;
  if (packets.overflowed()) return std::nullopt;
  return packets.raw();
}

/// Bytes on a link: those of the message and of its headers; empty if they do not fit an int64.
inline std::optional<std::int64_t> wire_bytes(const LinkFacts& link, const Message& message) {
  if (link.header_bytes == 0) return message.bytes;
  const std::optional<std::int64_t> packets = packets_of(link, message);
  std::int64_t bytes = 0;
  if (!packets || __builtin_mul_overflow(*packets, link.header_bytes, &bytes) ||
      __builtin_add_overflow(bytes, message.bytes, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

/// Whether an endpoint issues the transactions of a message, and which one. A bank or shared memory
/// issues nothing.
inline std::optional<std::int64_t> issuer_of(const Topology::Parts& parts, const Message& message,
                                             bool reads) {
  const bool from_place = parts.is_place(message.source);
  const bool to_place = parts.is_place(message.destination);
  if (from_place && to_place) return reads ? message.destination : message.source;
  if (from_place) return message.source;
  if (to_place) return message.destination;
  return std::nullopt;
}

/// What one endpoint sends, receives and issues.
struct EndpointLoad {
  std::int64_t sent = 0;  ///< bytes without headers
  std::int64_t received = 0;
  std::int64_t issued = 0;  ///< transactions
  std::int64_t issued_bytes = 0;
  bool listed = false;
};

/// What passes one port, with headers.
struct PortLoad {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  bool listed = false;
};

/// Hop cycles of the shortest and longest of some routes, ports included.
struct CycleRange {
  double shortest = INFINITY;
  double longest = 0;

  void include(double cycles) {
    shortest = std::min(shortest, cycles);
    longest = std::max(longest, cycles);
  }
};
/// Of the ways there, and of the ways there and back.
struct RouteCycles {
  CycleRange there;
  CycleRange there_and_back;

  void include(const RouteCycles& other) {
    there.include(other.there.shortest);
    there.include(other.there.longest);
    there_and_back.include(other.there_and_back.shortest);
    there_and_back.include(other.there_and_back.longest);
  }
};

/// What crosses one link between devices.
struct OuterLoad {
  std::int64_t bytes = 0;         ///< with headers
  std::int64_t transactions = 0;  ///< saturated: only their average size is used
  RouteCycles routes;
};

/// Sums over the messages between different endpoints that travel over one network.
struct MessageSums {
  MessageSums(const Topology::Parts& topology, std::int64_t network_number);

  /// Sums up these messages, and no others; `reads` says who issues what goes from place to place.
  /// The work grows with the messages and with the lines of links that they use, not with the
  /// machine.
  /// Errors: kOutOfRange for an endpoint that does not exist, bytes below 0 or transactions below
  /// 1; kOverflow.
  Status add(std::span<const Message> all, bool reads);

  const Topology::Parts& parts;
  const std::int64_t network;
  InnerLoads inner;
  std::vector<OuterLoad> outer;  ///< of the links of outer levels, from `first_outer` on
  std::int64_t first_outer = 0;
  bool uses_outer = false;  ///< else all of `outer` are zero
  ListedLoads<EndpointLoad> ends;
  ListedLoads<PortLoad> ports;
  std::int64_t bytes = 0;
  std::int64_t wire = 0;  ///< with headers
  std::int64_t messages = 0;
  std::int64_t transactions = 0;
  std::int64_t hops = 0;  ///< Σ bytes · distance
  std::int64_t longest_distance = 0;
  RouteCycles routes;

 private:
  struct Totals;
  /// What takes one of the DeviceRoutes.
  struct RouteLoad {
    std::int64_t wire = 0;          ///< bytes as on links of the network
    std::int64_t transactions = 0;  ///< saturated
    RouteCycles routes;
    std::vector<std::int64_t> level_wire;  ///< bytes as on links of each outer level
  };
  void clear();
  bool add_message(const Message& message, bool reads, Totals& totals);
  void add_plain();
  bool add_route(const Message& message, std::int64_t wire_there, Totals& totals);
  bool add_between_devices(const Message& message, DeviceRouter first, DeviceRouter last,
                           std::int64_t wire_there, Totals& totals);
  bool add_walked(const Message& message, DeviceRouter first, DeviceRouter last,
                  std::int64_t wire_there, Totals& totals);
  /// Of one route, from the hop cycles between its routers.
  RouteCycles cycles_of(double there, double back) const;
  bool add_device_routes();
  void set_totals(const Totals& totals);
  Error refusal(const Message& message, std::size_t number) const;

  std::optional<PlainMessages> plain_;           ///< where the network has a PairTable
  std::vector<InnerLoads::Interval> intervals_;  ///< of its entries
  std::vector<RouteLoad> route_loads_;           ///< of DeviceRoutes
  std::vector<std::size_t> used_routes_;
};

}  // namespace tessera::fabric
