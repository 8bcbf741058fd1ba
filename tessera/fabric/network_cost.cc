// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include "tessera/base/text.h"
#include "tessera/fabric/networks/message_sums.h"
#include "tessera/fabric/networks/parts.h"
#include "tessera/fabric/networks/travel.h"
#include "tessera/fabric/topology.h"

namespace tessera::fabric {
namespace {

using target::Mechanism;

/// The part of the machine that decides: cycles = overhead + latency + work.
struct Bound {
  double latency = 0;
  double work = 0;
  Term term = Term::kLatency;
  std::int64_t carrier = -1;  ///< a link, or an endpoint

  void raise(const Bound& other) {
    if (other.latency + other.work > latency + work) *this = other;
  }
};

/// The latency of what passes last a part of the machine that is busy, if a transaction takes
/// `each` cycles there. Latencies are taken as spread evenly from the shortest to the longest, and
/// transactions pass in any order. Then one that passes t before the end and whose route is s below
/// the longest delays the end if t + s is small: about (t + s)² / (2 · spread · each) of them are
/// at least as late, which is 1 for t + s = √(2 · spread · each). If that is more than half the
/// spread, what passes last decides, with an average route.
double last_latency(const CycleRange& range, double each) {
  const double spread = range.longest - range.shortest;
  return range.longest - std::min(spread / 2, std::sqrt(2 * spread * each));
}

/// The sums, and what follows from them for every part of the machine.
class Bounds {
 public:
  Bounds(const Machine& machine, const MessageSums& sums, const Mechanism* mechanism)
      : machine_(machine),
        sums_(sums),
        own_(sums.parts.inner[static_cast<std::size_t>(sums.network)]),
        answered_(mechanism != nullptr),
        issue_(mechanism != nullptr ? mechanism->issue_cycles.value_or(0) : 0),
        per_byte_(mechanism != nullptr && mechanism->bytes_per_cycle
                      ? 1 / *mechanism->bytes_per_cycle
                      : 0) {
    const auto count = static_cast<double>(sums.transactions);
    bytes_ = static_cast<double>(sums.bytes) / count;
    wire_ = static_cast<double>(sums.wire) / count;
  }

  void add_endpoints();
  void add_links(const InnerLoads::Largest& inner);
  void add_alone();
  const Bound& most() const { return most_; }

 private:
  const CycleRange& latencies(const RouteCycles& routes) const {
    return answered_ ? routes.there_and_back : routes.there;
  }
  void add_memory(const EndpointLoad& end, std::int64_t number);

  const Machine& machine_;
  const MessageSums& sums_;
  const InnerNetwork& own_;
  const bool answered_;
  const double issue_;
  const double per_byte_;
  double bytes_ = 0;  ///< of an average transaction
  double wire_ = 0;   ///< with headers
  Bound most_;
  std::vector<std::int32_t> memories_;
};

/// The longest route, with a message of average size. A single message is also all that its ports
/// carry, and rounding must not decide what is named.
void Bounds::add_alone() {
  constexpr double kRounding = 1e-12;
  const auto messages = static_cast<double>(sums_.messages);
  const auto more = static_cast<double>(sums_.transactions - sums_.messages) / messages;
  const double wire = static_cast<double>(sums_.wire) / messages * own_.port.cycles_per_byte;
  const double moved = static_cast<double>(sums_.bytes) / messages * per_byte_;
  Bound alone;
  alone.latency = latencies(sums_.routes).longest;
  alone.work = std::max({wire, more * issue_, moved});
  if (most_.latency + most_.work < (alone.latency + alone.work) * (1 - kRounding)) most_ = alone;
}

/// Ports, issued transactions, memories. Of equal ones the first is named.
void Bounds::add_endpoints() {
  const CycleRange& range = latencies(sums_.routes);
  const double by_port = last_latency(range, wire_ * own_.port.cycles_per_byte);
  const double by_issue = last_latency(range, std::max(issue_, bytes_ * per_byte_));
  std::int64_t busiest = -1;
  std::int64_t most = 0;
  for (const std::int32_t number : sums_.ports.listed()) {
    const PortLoad& port = sums_.ports[number];
    const std::int64_t bytes = std::max(port.sent, port.received);
    if (bytes < most || (bytes == most && number > busiest)) continue;
    most = bytes;
    busiest = number;
  }
  if (most > 0) {
    most_.raise({by_port, static_cast<double>(most) * own_.port.cycles_per_byte,
                 sums_.ports[busiest].sent == most ? Term::kSend : Term::kReceive,
                 sums_.parts.endpoint_of_port(busiest)});
  }
  Bound issues{by_issue, -1, Term::kIssue, -1};
  memories_.clear();
  for (const std::int32_t number : sums_.ends.listed()) {
    if (!sums_.parts.is_place(number)) {
      memories_.push_back(number);
      continue;
    }
    const EndpointLoad& end = sums_.ends[number];
    if (!answered_ || end.issued == 0) continue;
    const double work = std::max(static_cast<double>(end.issued - 1) * issue_,
                                 static_cast<double>(end.issued_bytes) * per_byte_);
    if (work < issues.work || (work == issues.work && number > issues.carrier)) continue;
    issues.work = work;
    issues.carrier = number;
  }
  if (issues.carrier >= 0) most_.raise(issues);
  std::sort(memories_.begin(), memories_.end());
  for (const std::int32_t number : memories_) add_memory(sums_.ends[number], number);
}

void Bounds::add_memory(const EndpointLoad& end, std::int64_t number) {
  const auto memory = static_cast<std::size_t>(sums_.parts.memory(number).memory);
  const auto sent = static_cast<double>(end.sent);
  const auto received = static_cast<double>(end.received);
  const std::optional<double> cycles =
      machine_.memory_cycles(machine_.memory[memory], sent, received);
  if (!cycles || *cycles == 0) return;
  const double each = *cycles / (sent + received) * bytes_;
  most_.raise({last_latency(latencies(sums_.routes), each), *cycles, Term::kMemory, number});
}

void Bounds::add_links(const InnerLoads::Largest& inner) {
  if (inner.bytes > 0) {
    const double per_byte = own_.link.cycles_per_byte;
    most_.raise({last_latency(latencies(sums_.routes), wire_ * per_byte),
                 static_cast<double>(inner.bytes) * per_byte, Term::kLink, inner.link});
  }
  if (!sums_.uses_outer) return;
  for (const OuterLevel& level : sums_.parts.outer) {
    for (std::int64_t link = level.first_link; link < level.first_link + level.links; ++link) {
      const OuterLoad& load = sums_.outer[static_cast<std::size_t>(link - sums_.first_outer)];
      if (load.transactions == 0) continue;
      const double work = static_cast<double>(load.bytes) * level.link.cycles_per_byte;
      const double each = work / static_cast<double>(load.transactions);
      most_.raise({last_latency(latencies(load.routes), each), work, Term::kLink, link});
    }
  }
}

}  // namespace

std::string_view term_name(Term term) {
  switch (term) {
    case Term::kLatency:
      return "latency";
    case Term::kLink:
      return "link";
    case Term::kSend:
      return "send";
    case Term::kReceive:
      return "receive";
    case Term::kIssue:
      return "issue";
    case Term::kMemory:
      return "memory";
  }
  return "";
}

/// Sums of each network, made when messages travel over it for the first time.
struct NetworkPricer::Tables {
  std::vector<std::optional<MessageSums>> sums;
};

NetworkPricer::NetworkPricer(const Topology& topology, const Machine& machine)
    : topology_(topology), machine_(machine), tables_(std::make_unique<Tables>()) {
  tables_->sums.resize(static_cast<std::size_t>(topology.networks()));
}
NetworkPricer::~NetworkPricer() = default;

Result<NetworkCost> NetworkPricer::cost(std::span<const Message> messages, const Travel& travel) {
  TESSERA_CHECK_OK(check_travel(topology_, machine_, travel));
  const Mechanism* const mechanism = mechanism_of(machine_, travel);
  std::optional<MessageSums>& kept = tables_->sums[static_cast<std::size_t>(travel.network)];
  if (!kept) kept.emplace(topology_.parts(), travel.network);
  MessageSums& sums = *kept;
  TESSERA_CHECK_OK(sums.add(messages, is_read(mechanism)));
  NetworkCost cost;
  if (sums.messages == 0) return cost;
  cost.bytes = sums.bytes;
  cost.messages = sums.messages;
  cost.transactions = sums.transactions;
  cost.hops = sums.hops;
  cost.longest_distance = sums.longest_distance;
  for (const std::int32_t number : sums.ends.listed()) {
    const EndpointLoad& end = sums.ends[number];
    cost.max_send_bytes = std::max(cost.max_send_bytes, end.sent);
    cost.max_receive_bytes = std::max(cost.max_receive_bytes, end.received);
    cost.max_issued = std::max(cost.max_issued, end.issued);
  }
  const InnerLoads::Largest inner = sums.inner.largest();
  cost.max_link_bytes = inner.bytes;
  if (sums.uses_outer) {
    for (const OuterLoad& load : sums.outer) {
      cost.max_link_bytes = std::max(cost.max_link_bytes, load.bytes);
    }
  }
  Bounds bounds(machine_, sums, mechanism);
  bounds.add_links(inner);
  bounds.add_endpoints();
  bounds.add_alone();
  const Bound& bound = bounds.most();
  const double overhead = mechanism != nullptr ? mechanism->overhead_cycles.value_or(0) : 0;
  cost.cycles = overhead + bound.latency + bound.work;
  if (bound.carrier >= 0 && bound.work >= overhead + bound.latency) {
    cost.dominated_by = bound.term;
    cost.busiest = bound.term == Term::kLink ? topology_.link_name(bound.carrier)
                                             : topology_.endpoint_name(bound.carrier);
  }
  return cost;
}

Result<NetworkCost> network_cost(const Topology& topology, const Machine& machine,
                                 std::span<const Message> messages, const Travel& travel) {
  return NetworkPricer(topology, machine).cost(messages, travel);
}

Result<std::vector<std::int64_t>> link_bytes(const Topology& topology,
                                             std::span<const Message> messages,
                                             std::int64_t network) {
  const Topology::Parts& parts = topology.parts();
  TESSERA_CHECK_OK(check_network(topology, network));
  MessageSums sums(parts, network);
  TESSERA_CHECK_OK(sums.add(messages, false));
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(topology.links()));
  sums.inner.sum_up([&](std::size_t at, std::int64_t load) {
    if (load != 0) bytes[static_cast<std::size_t>(sums.inner.lines().link_at(at))] = load;
  });
  for (std::size_t link = 0; link < sums.outer.size(); ++link) {
    bytes[static_cast<std::size_t>(sums.first_outer) + link] = sums.outer[link].bytes;
  }
  for (const std::int32_t number : sums.ports.listed()) {
    const PortLoad& port = sums.ports[number];
    bytes[static_cast<std::size_t>(parts.link_out(network, number))] = port.sent;
    bytes[static_cast<std::size_t>(parts.link_in(network, number))] = port.received;
  }
  return bytes;
}

namespace {

/// The travels that best_travel compares.
std::vector<Travel> candidates(const Topology& topology, const Machine& machine,
                               std::span<const Message> messages) {
  const auto at_memory = [&](std::int64_t end) {
    return end >= 0 && !topology.parts().is_place(end);
  };
  bool begins = false;
  bool ends = false;
  for (const Message& message : messages) {
    if (message.source == message.destination) continue;
    begins = begins || at_memory(message.source);
    ends = ends || at_memory(message.destination);
  }
  std::vector<Travel> fitting;
  std::vector<Travel> others;
  const std::vector<Mechanism>& mechanisms = machine.mesh.back().mechanisms;
  for (std::size_t m = 0; m < mechanisms.size(); ++m) {
    const Mechanism& mechanism = mechanisms[m];
    if (mechanism.name.starts_with("multicast")) continue;
    const std::optional<std::int64_t> network =
        mechanism.network.empty() ? topology.first_network() : topology.network(mechanism.network);
    if (!network) continue;
    const bool fits = is_read(&mechanism) ? !ends : !begins;
    (fits ? fitting : others).push_back({*network, static_cast<std::int64_t>(m)});
  }
  if (fitting.empty()) fitting = std::move(others);
  if (!fitting.empty()) return fitting;
  for (std::int64_t n = 0; n < topology.networks(); ++n) {
    if (topology.why_left_out(n).empty()) fitting.push_back({n, -1});
  }
  return fitting;
}

}  // namespace

Result<BestTravel> NetworkPricer::best(std::span<const Message> messages) {
  std::optional<BestTravel> best;
  for (const Travel& travel : candidates(topology_, machine_, messages)) {
    TESSERA_TRY(NetworkCost cost, this->cost(messages, travel));
    if (!best || cost.cycles < best->cost.cycles) best = BestTravel{travel, std::move(cost)};
  }
  return *best;
}

Result<BestTravel> best_travel(const Topology& topology, const Machine& machine,
                               std::span<const Message> messages) {
  return NetworkPricer(topology, machine).best(messages);
}

}  // namespace tessera::fabric
