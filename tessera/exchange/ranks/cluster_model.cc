// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/ranks/cluster_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/exchange/packets/packets.h"

namespace tessera::exchange {
namespace {

Error out_of_range(std::string message, std::string help) {
  return Error{ErrorCode::kOutOfRange, std::move(message), std::nullopt, std::move(help)};
}

std::int64_t packets_of(std::int64_t bytes, const PacketRule& packets) {
  return ceil_div(bytes, packets.packet_bytes - PacketHeader::kBytes);
}

/// The bytes that a route brings to places, once for each place.
std::int64_t placed_bytes(const RankPlan& plan, const RankRoute& route) {
  std::int64_t elements = 0;
  for (const Parcel& parcel : plan.parcels(route)) {
    elements += parcel.elements * parcel.destinations;
  }
  return plan.reshard().bytes(elements);
}

}  // namespace

Status Cluster::check() const {
  if (ranks_per_node < 1) {
    return out_of_range(cat("nodes of ", ranks_per_node, " ranks"),
                        "give a node at least one rank");
  }
  for (const double time : {latency_s, message_s}) {
    if (time >= 0 && std::isfinite(time)) continue;
    return out_of_range(cat("a time of ", std::to_string(time), " seconds"), "use 0 or more");
  }
  for (const double speed : {card_bytes_per_s, memory_bytes_per_s, rank_bytes_per_s}) {
    if (speed > 0) continue;
    return out_of_range(cat("a speed of ", std::to_string(speed), " bytes per second"),
                        "use more than 0");
  }
  return ok_status();
}

// Cards: ConnectX-5 has EDR and 100 GbE (docs.nvidia.com/networking/display/kernelupstreamv517),
// ConnectX-7 NDR 400 Gb/s and 400 GbE
// (docs.nvidia.com/networking/display/ConnectX7VPI/Introduction). Latency: osu_latency with Open
// MPI over such cards is 0.9 to 1.7 us for up to 1 KB
// (gist.github.com/jfgrimm/3af692a5475bdd4ed836b5a18197a209).
// Messages: one pair of ranks passes 3 million short messages per second with Open MPI
// (gist.github.com/hppritcha/8da4436a216c9d96bf10ad9d403da03f), so 0.35 us each.
// Memory: 204.8 GB/s per socket with DDR4-3200, 460.8 with DDR5-4800
// (www.tomshardware.com/news/amd-confirms-12-ddr5-memory-channels-on-genoa). Four fifths of that
// are assumed. Ranks: the measured speed of one thread of a packing rank (docs/performance.md:
// memcpy 26 GB/s, packing 65 to 134 % of it).
Cluster Cluster::of_100_gb() {
  return {"100 Gb/s", 8, 1.5e-6, 0.35e-6, 12.5e9, 0.8 * 2 * 204.8e9, 20e9};
}

Cluster Cluster::of_400_gb() {
  return {"400 Gb/s", 8, 1.5e-6, 0.35e-6, 50e9, 0.8 * 2 * 460.8e9, 20e9};
}

RankLoad load_of(const RankPlan& plan, int ranks_per_node, const PacketRule& packets) {
  const reshard::Reshard& reshard = plan.reshard();
  const int node = plan.rank() / ranks_per_node;
  RankLoad load;
  load.rank = plan.rank();
  std::set<int> partners;
  for (const RankRoute& route : plan.sends()) {
    const std::int64_t bytes = reshard.bytes(route.elements);
    const std::int64_t count = packets_of(bytes, packets);
    const bool far = route.rank / ranks_per_node != node;
    load.sent_bytes += bytes;
    load.sent_packets += count;
    load.sent_far_bytes += far ? bytes : 0;
    load.sent_far_packets += far ? count : 0;
    partners.insert(route.rank);
  }
  for (const RankRoute& route : plan.receives()) {
    const std::int64_t bytes = reshard.bytes(route.elements);
    const std::int64_t count = packets_of(bytes, packets);
    const bool far = route.rank / ranks_per_node != node;
    load.received_bytes += bytes;
    load.received_packets += count;
    load.received_far_bytes += far ? bytes : 0;
    load.received_far_packets += far ? count : 0;
    load.placed_bytes += placed_bytes(plan, route);
    partners.insert(route.rank);
  }
  load.local_bytes = placed_bytes(plan, plan.local());
  load.partners = static_cast<std::int64_t>(partners.size());
  return load;
}

std::vector<int> asked_nodes(int nodes, int most) {
  // Multiples of the golden ratio spread evenly over [0, 1), and never coincide with a grid (D. E.
  // Knuth, The Art of Computer Programming, volume 3, section 6.4).
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;  // (sqrt(5) - 1) / 2 of 2^64
  std::set<int> asked;
  if (nodes <= most) {
    for (int node = 0; node < nodes; ++node) asked.insert(node);
    return {asked.begin(), asked.end()};
  }
  asked.insert(nodes - 1);
  for (int i = 0; i + 1 < most; ++i) {
    const std::uint64_t share = (static_cast<std::uint64_t>(i) * kGoldenRatio) >> 32;
    asked.insert(static_cast<int>((share * static_cast<std::uint64_t>(nodes)) >> 32));
  }
  return {asked.begin(), asked.end()};
}

Result<std::vector<RankLoad>> rank_loads(const std::shared_ptr<const reshard::Reshard>& reshard,
                                         const RankMap& from, const RankMap& to, int ranks_per_node,
                                         const PacketRule& packets, int most_nodes) {
  if (ranks_per_node < 1) {
    return out_of_range(cat("nodes of ", ranks_per_node, " ranks"),
                        "give a node at least one rank");
  }
  if (packets.packet_bytes <= PacketHeader::kBytes || packets.in_flight < 1) {
    return out_of_range(
        cat(packets.in_flight, " packets of ", packets.packet_bytes, " bytes in flight"),
        cat("use at least one, of more than ", PacketHeader::kBytes, " bytes"));
  }
  if (most_nodes < 2) {
    return out_of_range(cat("a sample of ", most_nodes, " nodes"),
                        "include at least the first and the last");
  }
  const int ranks = from.ranks();
  const auto nodes = static_cast<int>(ceil_div(ranks, ranks_per_node));
  std::vector<RankLoad> loads;
  for (const int node : asked_nodes(nodes, most_nodes)) {
    const int first = node * ranks_per_node;
    const int end = ranks - first < ranks_per_node ? ranks : first + ranks_per_node;
    for (int rank = first; rank < end; ++rank) {
      TESSERA_TRY(const RankPlan plan, RankPlan::make(reshard, from, to, rank));
      loads.push_back(load_of(plan, ranks_per_node, packets));
    }
  }
  return loads;
}

double ClusterTime::seconds() const {
  return agreement_s + latency_s + std::max(network_s, memory_s + messages_s);
}

std::string_view ClusterTime::bound() const {
  const bool waits_for_network = network_s > memory_s + messages_s;
  double most = waits_for_network ? network_s : std::max(memory_s, messages_s);
  std::string_view name =
      waits_for_network ? "network" : (messages_s > memory_s ? "messages" : "memory");
  if (latency_s > most) {
    most = latency_s;
    name = "latency";
  }
  return agreement_s > most ? "agreement" : name;
}

ClusterTime time_of(std::span<const RankLoad> node, int ranks, const Cluster& cluster,
                    const PacketRule& packets) {
  if (node.empty()) return {};
  const auto as_double = [](std::int64_t number) { return static_cast<double>(number); };
  double touched_by_all = 0;
  double touched_by_one = 0;
  double sent_far = 0;
  double received_far = 0;
  double messages = 0;
  std::int64_t far_packets = 0;
  for (const RankLoad& load : node) {
    const double touched = 2 * (as_double(load.sent_bytes) + as_double(load.placed_bytes) +
                                as_double(load.local_bytes));
    touched_by_all += touched;
    touched_by_one = std::max(touched_by_one, touched);
    sent_far += as_double(load.sent_far_bytes);
    received_far += as_double(load.received_far_bytes);
    messages = std::max(messages, as_double(load.sent_packets) + as_double(load.received_packets));
    far_packets = std::max({far_packets, load.sent_far_packets, load.received_far_packets});
  }
  const auto steps = static_cast<double>(std::bit_width(static_cast<unsigned>(ranks - 1)));
  const double step = ranks > cluster.ranks_per_node ? cluster.latency_s : 0;
  ClusterTime time;
  time.node = node.front().rank / cluster.ranks_per_node;
  time.memory_s = std::max(touched_by_one / cluster.rank_bytes_per_s,
                           touched_by_all / cluster.memory_bytes_per_s);
  time.messages_s = messages * cluster.message_s;
  time.network_s = std::max(sent_far, received_far) / cluster.card_bytes_per_s;
  time.latency_s = as_double(ceil_div(far_packets, packets.in_flight)) * cluster.latency_s;
  time.agreement_s = 2 * 2 * steps * (step + cluster.message_s);
  return time;
}

ClusterTime slowest(std::span<const RankLoad> loads, int ranks, const Cluster& cluster,
                    const PacketRule& packets) {
  ClusterTime most;
  for (std::size_t first = 0; first < loads.size();) {
    const auto node_of = [&](std::size_t i) { return loads[i].rank / cluster.ranks_per_node; };
    std::size_t end = first;
    while (end < loads.size() && node_of(end) == node_of(first)) ++end;
    const ClusterTime time = time_of(loads.subspan(first, end - first), ranks, cluster, packets);
    if (first == 0 || time.seconds() > most.seconds()) most = time;
    first = end;
  }
  return most;
}

}  // namespace tessera::exchange
