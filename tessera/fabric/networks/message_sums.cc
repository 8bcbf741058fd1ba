// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/networks/message_sums.h"

#include <algorithm>
#include <iterator>

#include "tessera/base/text.h"

namespace tessera::fabric {

/// Sums while messages are added.
struct MessageSums::Totals {
  std::int64_t bytes = 0;
  std::int64_t wire = 0;  ///< no load of a link or port exceeds this
  std::int64_t messages = 0;
  std::int64_t transactions = 0;
  unsigned __int128 hops = 0;
  std::int64_t longest_distance = 0;

  // Routes inside a device, in steps.
  PlainMessages::Range there;
  PlainMessages::Range there_and_back;

  static void include(PlainMessages::Range& range, const PlainMessages::Range& other) {
    range.shortest = std::min(range.shortest, other.shortest);
    range.longest = std::max(range.longest, other.longest);
  }
  void add_inside(std::int64_t size, const InnerLoads::Steps& steps) {
    hops += static_cast<unsigned __int128>(size) * static_cast<std::uint64_t>(steps.there);
    include(there, {steps.there, steps.there});
    include(there_and_back, {steps.there + steps.back, steps.there + steps.back});
  }
  /// A route between devices.
  void add_between(std::int64_t size, std::int64_t steps) {
    hops += static_cast<unsigned __int128>(size) * static_cast<std::uint64_t>(steps);
    longest_distance = std::max(longest_distance, steps);
  }
  /// False if a sum overflows.
  bool add(const PlainMessages::Sums& sums) {
    bytes += sums.bytes;
    messages += sums.messages;
    hops += static_cast<unsigned __int128>(sums.hops);
    return !__builtin_add_overflow(wire, sums.wire, &wire) &&
           !__builtin_add_overflow(transactions, sums.transactions, &transactions);
  }
};

MessageSums::MessageSums(const Topology::Parts& topology, std::int64_t network_number)
    : parts(topology),
      network(network_number),
      inner(topology.inner[static_cast<std::size_t>(network_number)], topology.devices),
      ends(topology.endpoints()),
      ports(topology.ports),
      route_loads_(topology.device_routes.count()) {
  const InnerNetwork& last = parts.inner.back();
  first_outer = last.first_link + last.grid.links() * parts.devices;
  outer.resize(static_cast<std::size_t>(parts.inner.front().first_port - first_outer));
}

void MessageSums::clear() {
  inner.clear();
  ends.clear();
  ports.clear();
  if (uses_outer) std::fill(outer.begin(), outer.end(), OuterLoad{});
  uses_outer = false;
  for (const std::size_t number : used_routes_) route_loads_[number] = {};
  used_routes_.clear();
  bytes = wire = messages = transactions = hops = longest_distance = 0;
  routes = {};
}

Error MessageSums::refusal(const Message& message, std::size_t number) const {
  const std::int64_t count = parts.endpoints();
  for (const std::int64_t endpoint : {message.source, message.destination}) {
    if (endpoint >= 0 && endpoint < count) continue;
    return Error{ErrorCode::kOutOfRange,
                 cat("message ", number, " names endpoint ", endpoint, " of ", count), std::nullopt,
                 "endpoints are places, then banks, then shared memories"};
  }
  if (message.bytes < 0 || message.transactions < 1) {
    return Error{ErrorCode::kOutOfRange,
                 cat("message ", number, " has ", message.bytes, " bytes in ", message.transactions,
                     " transactions"),
                 std::nullopt, "a message has at least 0 bytes in at least 1 transaction"};
  }
  return Error{ErrorCode::kOverflow,
               cat("the bytes of messages 0 to ", number,
                   ", with headers, times their distance, do ", "not fit a signed 64-bit integer"),
               std::nullopt, "send fewer or smaller messages"};
}

/// Any valid message; false if a sum overflows.
bool MessageSums::add_message(const Message& message, bool reads, Totals& totals) {
  if (message.source == message.destination) return true;
  const LinkFacts& link = parts.inner[static_cast<std::size_t>(network)].link;
  const std::optional<std::int64_t> size = wire_bytes(link, message);
  if (!size || __builtin_add_overflow(totals.wire, *size, &totals.wire) ||
      __builtin_add_overflow(totals.transactions, message.transactions, &totals.transactions)) {
    return false;
  }
  totals.bytes += message.bytes;
  ++totals.messages;
  ends.at(message.source).sent += message.bytes;
  ends.at(message.destination).received += message.bytes;
  if (const std::optional<std::int64_t> issuer = issuer_of(parts, message, reads)) {
    EndpointLoad& end = ends.at(*issuer);
    end.issued += message.transactions;
    end.issued_bytes += message.bytes;
  }
  return add_route(message, *size, totals);
}

bool MessageSums::add_route(const Message& message, std::int64_t wire_there, Totals& totals) {
  const RouteEnds route = parts.route_ends(network, message.source, message.destination);
  ports.at(route.port_out).sent += wire_there;
  ports.at(route.port_in).received += wire_there;
  if (route.first.device != route.last.device) {
    return add_between_devices(message, route.first, route.last, wire_there, totals);
  }
  totals.add_inside(message.bytes, inner.add(route.first.device, route.first.router,
                                             route.last.router, wire_there));
  return true;
}

bool MessageSums::add_between_devices(const Message& message, DeviceRouter first, DeviceRouter last,
                                      std::int64_t wire_there, Totals& totals) {
  if (!parts.device_routes.present()) return add_walked(message, first, last, wire_there, totals);
  const InnerNetwork& own = parts.inner[static_cast<std::size_t>(network)];
  const EndPair pair{message.source, message.destination};
  const std::size_t number = parts.device_routes.number(pair, first.device, last.device);
  const DeviceRoute& route = parts.device_routes[number];
  // The way back may lead over other devices.
  const DeviceRoute& back =
      parts.device_routes[parts.device_routes.number(pair, last.device, first.device)];
  const auto here = static_cast<std::size_t>(network);
  const std::int64_t steps_inside =
      inner.add(first.device, first.router, route.first_gateway, wire_there).there +
      route.steps[here] + inner.add(last.device, route.last_gateway, last.router, wire_there).there;
  const std::int64_t steps_back = own.distance(last.router, back.first_gateway) + back.steps[here] +
                                  own.distance(back.last_gateway, first.router);
  const RouteCycles cycles =
      cycles_of(static_cast<double>(steps_inside) * own.link.hop_cycles + route.link_hop_cycles,
                static_cast<double>(steps_back) * own.link.hop_cycles + back.link_hop_cycles);
  routes.include(cycles);
  uses_outer = true;
  RouteLoad& load = route_loads_[number];
  if (load.level_wire.empty()) {
    load.level_wire.resize(parts.outer.size());
    used_routes_.push_back(number);
  }
  load.wire += wire_there;  // no more than that of all messages
  load.transactions = (Checked(load.transactions) + message.transactions).saturated();
  load.routes.include(cycles);
  for (const std::size_t level : route.levels) {
    const std::optional<std::int64_t> size = wire_bytes(parts.outer[level].link, message);
    if (!size || __builtin_add_overflow(load.level_wire[level], *size, &load.level_wire[level])) {
      return false;
    }
  }
  totals.add_between(message.bytes, steps_inside + std::ssize(route.links));
  return true;
}

RouteCycles MessageSums::cycles_of(double there, double back) const {
  const double passed = 2 * parts.inner[static_cast<std::size_t>(network)].port.hop_cycles;
  const double both = (there + passed) + (back + passed);
  return {{there + passed, there + passed}, {both, both}};
}

/// Counts what took each route between devices on the links that the route passes.
bool MessageSums::add_device_routes() {
  bool fits = true;
  for (const std::size_t number : used_routes_) {
    const DeviceRoute& route = parts.device_routes[number];
    const RouteLoad& taken = route_loads_[number];
    for (const DeviceRoute::Inside& inside : route.inside) {
      inner.add(inside.device, inside.from, inside.to, taken.wire);
    }
    for (const DeviceRoute::Link& link : route.links) {
      OuterLoad& load = outer[static_cast<std::size_t>(link.number - first_outer)];
      fits = fits && !__builtin_add_overflow(load.bytes, taken.level_wire[link.level], &load.bytes);
      load.transactions = (Checked(load.transactions) + taken.transactions).saturated();
      load.routes.include(taken.routes);
    }
  }
  return fits;
}

/// For machines of so many devices that no routes between them are stored.
bool MessageSums::add_walked(const Message& message, DeviceRouter first, DeviceRouter last,
                             std::int64_t wire_there, Totals& totals) {
  const EndPair pair{message.source, message.destination};
  const RouteCycles cycles = cycles_of(parts.hop_cycles(network, pair, first, last),
                                       parts.hop_cycles(network, pair, last, first));
  routes.include(cycles);
  uses_outer = true;
  std::int64_t steps = 0;
  bool fits = true;
  walk_route(
      parts, pair, first, last,
      [&](std::int64_t device, std::int64_t a, std::int64_t b) {
        steps += inner.add(device, a, b, wire_there).there;
      },
      [&](const OuterLevel& level, std::int64_t link) {
        OuterLoad& load = outer[static_cast<std::size_t>(link - first_outer)];
        const std::optional<std::int64_t> size = wire_bytes(level.link, message);
        fits = fits && size && !__builtin_add_overflow(load.bytes, *size, &load.bytes);
        load.transactions = (Checked(load.transactions) + message.transactions).saturated();
        load.routes.include(cycles);
        ++steps;
      });
  totals.add_between(message.bytes, steps);
  return fits;
}

/// Takes over the sums of plain messages.
void MessageSums::add_plain() {
  const InnerNetwork& own = parts.inner[static_cast<std::size_t>(network)];
  const std::int64_t header = own.link.header_bytes;
  for (const std::int32_t number : plain_->ends().listed()) {
    const PlainMessages::End& from = plain_->ends()[number];
    EndpointLoad& end = ends.at(number);
    end.sent += from.sent;
    end.received += from.received;
    end.issued += from.issued;
    end.issued_bytes += from.issued_bytes;
    PortLoad& port = ports.at(number);  // of an endpoint with one router
    port.sent += from.sent + from.sent_packets * header;
    port.received += from.received + from.received_packets * header;
  }
  plain_->for_each_entry([&](std::int64_t device, std::uint32_t entry, std::int64_t added) {
    inner.add(device, intervals_[entry], added);
  });
}

Status MessageSums::add(std::span<const Message> all, bool reads) {
  clear();
  const InnerNetwork& own = parts.inner[static_cast<std::size_t>(network)];
  const bool plain = own.pairs.present();
  if (plain && !plain_) {
    plain_.emplace(own.pairs, own.link, std::ssize(parts.places));
    intervals_ = inner.intervals(own.pairs);
  }
  if (plain) plain_->clear();
  Totals totals;
  std::size_t number = 0;
  while (number < all.size()) {
    if (plain && totals.wire < PlainMessages::kMostBytes) {
      number += plain_->add(all.subspan(number), reads);
      if (!totals.add(plain_->last())) return refusal(all[number - 1], number - 1);
      if (number == all.size()) break;
    }
    const Message& message = all[number];
    const std::int64_t count = parts.endpoints();
    if (message.source < 0 || message.source >= count || message.destination < 0 ||
        message.destination >= count || message.bytes < 0 || message.transactions < 1 ||
        !add_message(message, reads, totals)) {
      return refusal(message, number);
    }
    ++number;
  }
  if (plain) {
    add_plain();
    Totals::include(totals.there, plain_->there());
    Totals::include(totals.there_and_back, plain_->there_and_back());
  }
  if (!add_device_routes() || totals.hops > static_cast<unsigned __int128>(INT64_MAX)) {
    return refusal(all.back(), all.size() - 1);
  }
  set_totals(totals);
  return ok_status();
}

void MessageSums::set_totals(const Totals& totals) {
  bytes = totals.bytes;
  wire = totals.wire;
  messages = totals.messages;
  transactions = totals.transactions;
  hops = static_cast<std::int64_t>(totals.hops);
  longest_distance = std::max(totals.longest_distance, totals.there.longest);
  if (totals.there.shortest == INT64_MAX) return;  // all leave their device
  const InnerNetwork& own = parts.inner[static_cast<std::size_t>(network)];
  const auto cycles = [&](std::int64_t steps, double passed) {
    return static_cast<double>(steps) * own.link.hop_cycles + passed * own.port.hop_cycles;
  };
  routes.include(
      {{cycles(totals.there.shortest, 2), cycles(totals.there.longest, 2)},
       {cycles(totals.there_and_back.shortest, 4), cycles(totals.there_and_back.longest, 4)}});
}

}  // namespace tessera::fabric
