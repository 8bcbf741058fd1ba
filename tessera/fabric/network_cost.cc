// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/fabric/networks/message_sums.h"
#include "tessera/fabric/networks/parts.h"
#include "tessera/fabric/networks/peaks.h"
#include "tessera/fabric/networks/travel.h"
#include "tessera/fabric/topology.h"

namespace tessera::fabric {
namespace {

using target::Mechanism;

std::string name_of(const Topology& topology, Term term, std::int64_t carrier) {
  if (carrier < 0) return "";
  return term == Term::kLink ? topology.link_name(carrier) : topology.endpoint_name(carrier);
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

Result<Peaks> NetworkPricer::peaks(std::span<const Message> messages, const Travel& travel) {
  const Mechanism* const mechanism = mechanism_of(machine_, travel);
  std::optional<MessageSums>& kept = tables_->sums[static_cast<std::size_t>(travel.network)];
  if (!kept) kept.emplace(topology_.parts(), travel.network);
  MessageSums& sums = *kept;
  TESSERA_CHECK_OK(sums.add(messages, is_read(mechanism)));
  return Peaks::of(sums, mechanism);
}

namespace {

NetworkCost network_cost_of(const Topology& topology, const Peaks& peaks, const PeakCost& peak) {
  NetworkCost cost;
  if (peaks.messages == 0) return cost;
  cost.bytes = peaks.bytes;
  cost.messages = peaks.messages;
  cost.transactions = peaks.transactions;
  cost.hops = peaks.hops;
  cost.max_link_bytes = peaks.inner.bytes;
  for (const Peaks::OuterPeak& outer : peaks.outer) {
    cost.max_link_bytes = std::max(cost.max_link_bytes, outer.load.bytes);
  }
  cost.max_send_bytes = peaks.most_sent;
  cost.max_receive_bytes = peaks.most_received;
  cost.max_issued = peaks.most_issued;
  cost.longest_distance = peaks.longest_distance;
  cost.cycles = peak.cycles;
  cost.dominated_by = peak.dominated_by;
  cost.busiest = name_of(topology, peak.dominated_by, peak.carrier);
  return cost;
}

}  // namespace

Result<NetworkCost> NetworkPricer::cost(std::span<const Message> messages, const Travel& travel) {
  TESSERA_CHECK_OK(check_travel(topology_, machine_, travel));
  TESSERA_TRY(const Peaks all, peaks(messages, travel));
  return network_cost_of(topology_, all, cost_of(topology_.parts(), machine_, travel, all));
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
  std::optional<Peaks> best;
  PeakCost least;
  Travel cheapest;
  for (const Travel& travel : candidates(topology_, machine_, messages)) {
    TESSERA_TRY(Peaks all, peaks(messages, travel));
    const PeakCost cost = cost_of(topology_.parts(), machine_, travel, all);
    if (best && cost.cycles >= least.cycles) continue;
    best = std::move(all);
    least = cost;
    cheapest = travel;
  }
  return BestTravel{cheapest, network_cost_of(topology_, *best, least)};
}

/// The peaks of messages of one byte, for each travel that may be the best.
struct MessagePattern::Travels {
  struct One {
    Travel travel;
    Peaks peaks;
  };
  std::vector<One> all;
};

Result<MessagePattern> NetworkPricer::pattern(std::vector<Message> messages) {
  for (Message& message : messages) {
    message.bytes = 1;
    message.transactions = 1;
  }
  auto travels = std::make_shared<MessagePattern::Travels>();
  for (const Travel& travel : candidates(topology_, machine_, messages)) {
    TESSERA_TRY(Peaks all, peaks(messages, travel));
    travels->all.push_back({travel, std::move(all)});
  }
  return MessagePattern(std::move(travels));
}

std::optional<PatternCost> NetworkPricer::best(const MessagePattern& pattern, std::int64_t bytes,
                                               std::int64_t transactions) const {
  const Topology::Parts& parts = topology_.parts();
  std::optional<PatternCost> best;
  for (const MessagePattern::Travels::One& one : pattern.travels_->all) {
    const InnerNetwork& own = parts.inner[static_cast<std::size_t>(one.travel.network)];
    const std::optional<Peaks> peaks = one.peaks.scaled(parts, own, {0, 1, bytes, transactions});
    if (!peaks) return std::nullopt;
    const PeakCost cost = cost_of(parts, machine_, one.travel, *peaks);
    if (best && cost.cycles >= best->cycles) continue;
    best = {one.travel, cost.cycles, cost.dominated_by, cost.carrier};
  }
  return best;
}

std::string NetworkPricer::busiest(const PatternCost& cost) const {
  return name_of(topology_, cost.dominated_by, cost.carrier);
}

Result<BestTravel> best_travel(const Topology& topology, const Machine& machine,
                               std::span<const Message> messages) {
  return NetworkPricer(topology, machine).best(messages);
}

}  // namespace tessera::fabric
