// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/networks/message_sums.h"

#include <algorithm>

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
      ends(static_cast<std::size_t>(topology.endpoints())),
      ports(static_cast<std::size_t>(topology.ports)) {
  const InnerNetwork& last = parts.inner.back();
  first_outer = last.first_link + last.grid.links() * parts.devices;
  outer.resize(static_cast<std::size_t>(parts.inner.front().first_port - first_outer));
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
  EndpointLoad& source = ends[static_cast<std::size_t>(message.source)];
  EndpointLoad& destination = ends[static_cast<std::size_t>(message.destination)];
  source.sent += message.bytes;
  destination.received += message.bytes;
  if (const std::optional<std::int64_t> issuer = issuer_of(parts, message, reads)) {
    EndpointLoad& end = ends[static_cast<std::size_t>(*issuer)];
    end.issued += message.transactions;
    end.issued_bytes += message.bytes;
  }
  return add_route(message, *size, totals);
}

bool MessageSums::add_route(const Message& message, std::int64_t wire_there, Totals& totals) {
  const RouteEnds route = parts.route_ends(network, message.source, message.destination);
  ports[static_cast<std::size_t>(route.port_out)].sent += wire_there;
  ports[static_cast<std::size_t>(route.port_in)].received += wire_there;
  if (route.first.device != route.last.device) {
    return add_between_devices(message, route.first, route.last, wire_there, totals);
  }
  totals.add_inside(message.bytes, inner.add(route.first.device, route.first.router,
                                             route.last.router, wire_there));
  return true;
}

bool MessageSums::add_between_devices(const Message& message, Spot first, Spot last,
                                      std::int64_t wire_there, Totals& totals) {
  const InnerNetwork& own = parts.inner[static_cast<std::size_t>(network)];
  const EndPair pair{message.source, message.destination};
  // The way back may lead over other devices.
  const double there = parts.hop_cycles(network, pair, first, last) + 2 * own.port.hop_cycles;
  const double back = parts.hop_cycles(network, pair, last, first) + 2 * own.port.hop_cycles;
  const RouteCycles cycles{{there, there}, {there + back, there + back}};
  routes.include(cycles);
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
  totals.hops += static_cast<unsigned __int128>(message.bytes) * static_cast<std::uint64_t>(steps);
  totals.longest_distance = std::max(totals.longest_distance, steps);
  return fits;
}

void MessageSums::add_ends(const PlainMessages& plain, bool reads) {
  const std::int64_t header = parts.inner[static_cast<std::size_t>(network)].link.header_bytes;
  for (std::size_t number = 0; number < plain.ends().size(); ++number) {
    const PlainMessages::End& from = plain.ends()[number];
    EndpointLoad& end = ends[number];
    end.sent += from.sent;
    end.received += from.received;
    PortLoad& port = ports[number];  // of a place
    port.sent += from.sent + from.sent_transactions * header;
    port.received += from.received + from.received_transactions * header;
    end.issued += reads ? from.received_transactions : from.sent_transactions;
    end.issued_bytes += reads ? from.received : from.sent;
  }
}

Status MessageSums::add(std::span<const Message> all, bool reads) {
  const InnerNetwork& own = parts.inner[static_cast<std::size_t>(network)];
  // Tables are worth their zeroing and spreading if they have few entries for each message.
  constexpr std::size_t kEntriesPerMessage = 4;
  std::optional<PlainMessages> plain;
  if (own.pairs.present() && own.pairs.steps.size() <= all.size() * kEntriesPerMessage) {
    plain.emplace(own.pairs, own.link);
  }
  Totals totals;
  std::size_t number = 0;
  while (number < all.size()) {
    if (plain && totals.wire < PlainMessages::kMostBytes) {
      number += plain->add(all.subspan(number));
      if (!totals.add(plain->last())) return refusal(all[number - 1], number - 1);
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
    add_ends(*plain, reads);
    inner.add_pairs(plain->bytes());
    Totals::include(totals.there, plain->there());
    Totals::include(totals.there_and_back, plain->there_and_back());
  }
  if (totals.hops > static_cast<unsigned __int128>(INT64_MAX)) {
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
