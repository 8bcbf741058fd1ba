// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/packets.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/fabric/networks/message_sums.h"
#include "tessera/fabric/networks/stations.h"
#include "tessera/fabric/networks/travel.h"

namespace tessera::fabric {
namespace {

struct Packet {
  std::uint32_t message = 0;
  std::uint32_t position = 0;  ///< of its next station in the way of the message
  std::int64_t begin = 0;      ///< of its bytes in the transaction
  std::int64_t end = 0;
  double tail = 0;  ///< when its last byte is there
};

/// The head of a packet reaches its next station.
struct Arrival {
  double cycle = 0;
  std::uint32_t packet = 0;
  friend bool operator>(const Arrival& a, const Arrival& b) {
    return a.cycle != b.cycle ? a.cycle > b.cycle : a.packet > b.packet;
  }
};

/// Takes every s-th message in turn, s near the golden section and without common divisor, so that
/// neighbours of the order are far apart: any few of them have long and short routes of both axes.
void spread(std::span<std::uint32_t> order) {
  const auto count = static_cast<std::int64_t>(order.size());
  std::int64_t stride = std::max<std::int64_t>(1, count * 618 / 1000);
  while (std::gcd(stride, count) != 1) --stride;
  const std::vector<std::uint32_t> taken(order.begin(), order.end());
  for (std::int64_t k = 0; k < count; ++k) {
    order[static_cast<std::size_t>(k)] = taken[static_cast<std::size_t>(k * stride % count)];
  }
}

class PacketRun {
 public:
  PacketRun(const Topology& topology, const Machine& machine, std::span<const Message> messages,
            const Travel& travel, IssueOrder issue_order)
      : machine_(machine),
        mechanism_(mechanism_of(machine, travel)),
        messages_(messages),
        packet_bytes_(
            topology.parts().inner[static_cast<std::size_t>(travel.network)].link.packet_bytes),
        endpoints_(topology.endpoints()),
        issue_order_(issue_order),
        ways_(topology, machine, messages, travel) {
    result_.link_bytes.resize(static_cast<std::size_t>(topology.links()));
    result_.messages.resize(messages.size());
  }

  PacketSimulation run() {
    issue_all();
    result_.packets = static_cast<std::int64_t>(packets_.size());
    std::sort(issued_.begin(), issued_.end(),
              [](const Arrival& a, const Arrival& b) { return b > a; });
    std::size_t next = 0;
    while (next < issued_.size() || !moving_.empty()) {
      if (moving_.empty() || (next < issued_.size() && moving_.top() > issued_[next])) {
        pass(issued_[next++]);
      } else {
        const Arrival arrival = moving_.top();
        moving_.pop();
        pass(arrival);
      }
    }
    return std::move(result_);
  }

 private:
  void issue_all();
  void issue_of(std::span<const std::uint32_t> messages);
  double issue(std::uint32_t message, std::int64_t transaction, double cycle);
  void pass(const Arrival& arrival);
  double serve(Station& station, double cycle, const Packet& packet, double& duration);
  const Station& station(const MessageWay& way, std::uint32_t position) const {
    return ways_.stations[ways_.route[way.first + position]];
  }

  const Machine& machine_;
  const target::Mechanism* const mechanism_;
  const std::span<const Message> messages_;
  const std::int64_t packet_bytes_;
  const std::int64_t endpoints_;
  const IssueOrder issue_order_;
  MessageWays ways_;
  std::vector<Packet> packets_;
  std::vector<Arrival> issued_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> moving_;
  PacketSimulation result_;
};

/// Issuer by issuer, the messages of each in the order of the other endpoint, beginning after
/// itself.
void PacketRun::issue_all() {
  std::vector<std::uint32_t> order;
  std::vector<std::int64_t> turn(messages_.size());
  for (std::uint32_t m = 0; m < messages_.size(); ++m) {
    const MessageWay& way = ways_.messages[m];
    if (way.count == 0) continue;
    const std::int64_t other =
        way.issuer == messages_[m].source ? messages_[m].destination : messages_[m].source;
    turn[m] = floor_mod(other - way.issuer - 1, endpoints_);
    order.push_back(m);
  }
  const auto issuer = [&](std::uint32_t m) { return ways_.messages[m].issuer; };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (issuer(a) != issuer(b)) return issuer(a) < issuer(b);
    return turn[a] != turn[b] ? turn[a] < turn[b] : a < b;
  });
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && issuer(order[end]) == issuer(order[first])) ++end;
    const std::span<std::uint32_t> own = std::span(order).subspan(first, end - first);
    if (issue_order_ == IssueOrder::kSpread) spread(own);
    issue_of(own);
    first = end;
  }
}

/// The messages of one issuer: a transaction of each in turn.
void PacketRun::issue_of(std::span<const std::uint32_t> messages) {
  std::vector<std::uint32_t> left(messages.begin(), messages.end());
  double cycle = mechanism_ != nullptr ? mechanism_->overhead_cycles.value_or(0) : 0;
  for (std::int64_t transaction = 0; !left.empty(); ++transaction) {
    for (const std::uint32_t message : left) cycle = issue(message, transaction, cycle);
    std::erase_if(left, [&](std::uint32_t message) {
      return messages_[message].transactions == transaction + 1;
    });
  }
}

/// Issues one transaction; returns when the next one may follow.
double PacketRun::issue(std::uint32_t message, std::int64_t transaction, double cycle) {
  const Message& sent = messages_[message];
  const MessageWay& way = ways_.messages[message];
  const std::int64_t size =
      sent.bytes / sent.transactions + (transaction < sent.bytes % sent.transactions ? 1 : 0);
  if (transaction == 0) result_.messages[message].first_issue = cycle;
  std::int64_t begin = 0;
  do {
    const std::int64_t end = packet_bytes_ == 0 ? size : std::min(size, begin + packet_bytes_);
    issued_.push_back({cycle + way.request_cycles, static_cast<std::uint32_t>(packets_.size())});
    packets_.push_back({message, 0, begin, end, 0});
    begin = end;
  } while (begin < size);
  if (!way.by_processor) return cycle;
  const double moving =
      mechanism_->bytes_per_cycle ? static_cast<double>(size) / *mechanism_->bytes_per_cycle : 0;
  return cycle + std::max(mechanism_->issue_cycles.value_or(0), moving);
}

/// Serves a packet whose head arrives in `cycle`; returns when it starts.
double PacketRun::serve(Station& station, double cycle, const Packet& packet, double& duration) {
  const std::int64_t bytes = station.bytes(packet.begin, packet.end);
  if (station.link >= 0) result_.link_bytes[static_cast<std::size_t>(station.link)] += bytes;
  if (station.memory < 0) {
    const double start = std::max(cycle, station.free);
    duration = static_cast<double>(bytes) * station.cycles_per_byte;
    station.free = start + duration;
    return start;
  }
  MixedMemory& memory = ways_.memories[static_cast<std::size_t>(station.memory)];
  (station.reads ? memory.read : memory.written) += static_cast<double>(bytes);
  const double cycles =
      machine_.memory_cycles(*memory.space, memory.read, memory.written).value_or(memory.cycles);
  duration = std::max(0.0, cycles - memory.cycles);
  memory.cycles = std::max(cycles, memory.cycles);
  const double start = std::max(cycle, memory.free);
  memory.free = start + duration;
  return start;
}

void PacketRun::pass(const Arrival& arrival) {
  Packet& packet = packets_[arrival.packet];
  const MessageWay& way = ways_.messages[packet.message];
  Station& here = ways_.stations[ways_.route[way.first + packet.position]];
  double duration = 0;
  const double start = serve(here, arrival.cycle, packet, duration);
  ++result_.packet_hops;
  ++packet.position;
  // A memory may take less time for a packet than its bytes take to arrive.
  const double passed = std::max(start + duration, packet.tail);
  packet.tail = passed + here.hop_cycles;
  if (packet.position == way.count) {
    const double completed = packet.tail + way.acknowledge_cycles;
    PacketTimes& times = result_.messages[packet.message];
    times.completed = std::max(times.completed, completed);
    result_.cycles = std::max(result_.cycles, completed);
    return;
  }
  const Station& next = station(way, packet.position);
  const double there =
      static_cast<double>(next.bytes(packet.begin, packet.end)) * next.cycles_per_byte;
  moving_.push({std::max(start + here.hop_cycles, packet.tail - there), arrival.packet});
}

/// Σ over packets of their stations, of messages that are valid.
std::int64_t packet_hops(const Topology& topology, std::span<const Message> messages,
                         const Travel& travel, std::int64_t limit) {
  const LinkFacts& link = topology.parts().inner[static_cast<std::size_t>(travel.network)].link;
  Checked hops = 0;
  for (const Message& message : messages) {
    if (message.source == message.destination) continue;
    const std::int64_t packets = link.packet_bytes == 0
                                     ? message.transactions
                                     : packets_of(link, message).value_or(INT64_MAX);
    constexpr std::int64_t kEnds = 5;  // ports, a processor, memories
    hops += Checked(packets) *
            (topology.distance(travel.network, message.source, message.destination) + kEnds);
    if (hops.saturated() > limit) break;
  }
  return hops.saturated();
}

}  // namespace

Result<PacketSimulation> simulate_packets(const Topology& topology, const Machine& machine,
                                          std::span<const Message> messages, const Travel& travel,
                                          const PacketOptions& options) {
  // Checks every message, and that sums do not overflow.
  TESSERA_CHECK_OK(network_cost(topology, machine, messages, travel));
  constexpr std::int64_t kMost = UINT32_MAX;  // packets and messages are numbered in 32 bits
  const std::int64_t limit = std::min(options.max_packet_hops, kMost);
  const std::int64_t hops = packet_hops(topology, messages, travel, limit);
  if (hops > limit) {
    return Error{ErrorCode::kTooLarge, cat("the simulation has more than ", limit, " packet hops"),
                 std::nullopt, "simulate fewer or smaller messages, or raise max_packet_hops"};
  }
  return PacketRun(topology, machine, messages, travel, options.issue_order).run();
}

}  // namespace tessera::fabric
