// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/calibration/flows.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "tessera/base/work.h"
#include "tessera/fabric/networks/travel.h"

namespace tessera::fabric {
namespace {

/// Counts streams on links.
class Walker {
 public:
  Walker(const Topology& topology, std::int64_t network)
      : topology_(topology),
        network_(network),
        data_(static_cast<std::size_t>(topology.links())),
        control_(data_.size()),
        seen_(data_.size(), -1) {}

  /// The links from one endpoint to another. To itself: its ports, which routes leave out.
  const std::vector<std::int32_t>& route(std::int32_t from, std::int32_t to) {
    route_.clear();
    if (from != to) {
      topology_.route(network_, from, to, route_);
      return route_;
    }
    const std::int32_t other = from == 0 ? 1 : 0;
    if (topology_.endpoints() < 2) return route_;
    topology_.route(network_, from, other, route_);
    const std::int32_t out = route_.front();
    route_.clear();
    topology_.route(network_, other, from, route_);
    const std::int32_t in = route_.back();
    route_ = {out, in};
    return route_;
  }

  void add_data(std::int32_t from, std::int32_t to) {
    for (const std::int32_t link : route(from, to)) add(data_, link);
  }
  void add_control(std::int32_t from, std::int32_t to) {
    for (const std::int32_t link : route(from, to)) add(control_, link);
  }
  /// The same as add_data, but a link that stream number `stream` already crosses does not count
  /// again.
  void add_branch(std::int32_t from, std::int32_t to, std::int32_t stream) {
    for (const std::int32_t link : route(from, to)) {
      std::int32_t& seen = seen_[static_cast<std::size_t>(link)];
      if (seen == stream) continue;
      seen = stream;
      add(data_, link);
    }
  }

  std::vector<Flows::Load> loads() const {
    std::vector<Flows::Load> all;
    for (std::size_t link = 0; link < data_.size(); ++link) {
      if (data_[link] == 0 && control_[link] == 0) continue;
      all.push_back({data_[link], control_[link], topology_.link(static_cast<std::int64_t>(link))});
    }
    return all;
  }

 private:
  static void add(std::vector<std::int64_t>& counts, std::int32_t link) {
    ++counts[static_cast<std::size_t>(link)];
  }

  const Topology& topology_;
  std::int64_t network_;
  std::vector<std::int64_t> data_;
  std::vector<std::int64_t> control_;
  std::vector<std::int32_t> seen_;  // the last stream that counted a link
  std::vector<std::int32_t> route_;
};

auto width_key(const Flows::Load& load) {
  return std::tuple(load.link.cycles_per_byte, load.link.packet_bytes, load.link.header_bytes);
}

/// Keeps, for each kind of link, the loads that no other one exceeds.
std::vector<Flows::Load> largest(std::vector<Flows::Load> all) {
  std::sort(all.begin(), all.end(), [](const Flows::Load& a, const Flows::Load& b) {
    return std::tuple(width_key(a), -a.data, -a.control) <
           std::tuple(width_key(b), -b.data, -b.control);
  });
  std::vector<Flows::Load> kept;
  for (const Flows::Load& load : all) {
    const bool same_kind = !kept.empty() && width_key(kept.back()) == width_key(load);
    if (!same_kind || load.control > kept.back().control) kept.push_back(load);
  }
  return kept;
}

/// The hops of the request or acknowledgement of a message, which goes back to the same router
/// where a memory has several.
std::int64_t hops_back(const Topology& topology, std::int64_t network, std::int32_t from,
                       std::int32_t to, std::span<const std::int32_t> route) {
  const double hop = route.size() > 2 ? topology.link(route[1]).hop_cycles : 0;
  if (hop <= 0) return topology.distance(network, to, from);
  const double ports =
      topology.link(route.front()).hop_cycles + topology.link(route.back()).hop_cycles;
  return std::llround((topology.return_cycles(network, from, to) - ports) / hop);
}

}  // namespace

Result<Flows> flows_of(const Topology& topology, const Machine& machine, std::int64_t network,
                       const Measurement& measurement) {
  TESSERA_CHECK_OK(check_network(topology, network));
  TESSERA_TRY(const Parties parties, parties_of(topology, machine, measurement));
  const bool reads = measurement.pattern.reads;
  const bool multicast = measurement.method != Method::kUnicast;
  if (!Work::spend(topology.links())) return Work::too_large("counting what links carry");
  Flows flows;
  flows.masters = std::ssize(parties.masters);
  Walker walker(topology, network);
  std::vector<std::int64_t> at_bank(static_cast<std::size_t>(topology.endpoints()));
  for (std::size_t i = 0; i < parties.masters.size(); ++i) {
    const std::int32_t master = parties.masters[i];
    flows.streams = std::max<std::int64_t>(flows.streams, std::ssize(parties.far[i]));
    for (const std::int32_t far : parties.far[i]) {
      const std::int32_t from = reads ? far : master;
      const std::int32_t to = reads ? master : far;
      const std::int64_t there = topology.distance(network, from, to);
      const std::int64_t back = hops_back(topology, network, from, to, walker.route(from, to));
      if (!Work::spend(there + back + 8)) return Work::too_large("following the routes");
      flows.hops_there = std::max(flows.hops_there, there);
      flows.hops_there_and_back = std::max(flows.hops_there_and_back, there + back);
      if (multicast) {
        walker.add_branch(from, to, static_cast<std::int32_t>(i));
      } else {
        walker.add_data(from, to);
      }
      walker.add_control(to, from);
      if (measurement.far.spread == FarMemory::Spread::kPlaces) continue;
      flows.most_at_bank = std::max(flows.most_at_bank, ++at_bank[static_cast<std::size_t>(far)]);
    }
  }
  const std::vector<Flows::Load> loads = walker.loads();
  for (const Flows::Load& load : loads) flows.most_data = std::max(flows.most_data, load.data);
  flows.loads = largest(loads);
  return flows;
}

}  // namespace tessera::fabric
