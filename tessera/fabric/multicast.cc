// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/multicast.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/fabric/networks/parts.h"
#include "tessera/fabric/networks/travel.h"

namespace tessera::fabric {
namespace {

using target::Mechanism;

constexpr std::string_view kLinked = "multicast_linked";

bool is_multicast(const Mechanism& mechanism) { return mechanism.name.starts_with("multicast"); }

/// The smallest box around places, by the coordinates of all levels.
class Box {
 public:
  explicit Box(const Shape& shape)
      : shape_(shape), low_(shape.rank(), INT64_MAX), high_(shape.rank(), -1) {}

  void include(std::int64_t place) {
    for (std::size_t axis = shape_.rank(); axis-- > 0;) {
      const std::int64_t coordinate = place % shape_[axis];
      place /= shape_[axis];
      low_[axis] = std::min(low_[axis], coordinate);
      high_[axis] = std::max(high_[axis], coordinate);
    }
  }
  std::int64_t places() const {
    std::int64_t count = 1;
    for (std::size_t axis = 0; axis < low_.size(); ++axis) count *= high_[axis] - low_[axis] + 1;
    return count;
  }

 private:
  const Shape& shape_;
  std::vector<std::int64_t> low_;
  std::vector<std::int64_t> high_;
};

Status check(const Topology& topology, const Multicast& multicast) {
  const auto places = static_cast<std::int64_t>(topology.parts().places.size());
  const auto outside = [&](std::int64_t place) { return place < 0 || place >= places; };
  if (outside(multicast.source) || multicast.bytes < 0 || multicast.transactions < 1 ||
      std::any_of(multicast.receivers.begin(), multicast.receivers.end(), outside)) {
    return Error{ErrorCode::kOutOfRange,
                 cat("a multicast of ", multicast.bytes, " bytes in ", multicast.transactions,
                     " transactions from place ", multicast.source, " of ", places),
                 std::nullopt, "source and receivers are places; there is at least 1 transaction"};
  }
  if (fills_box(topology, multicast)) return ok_status();
  return Error{ErrorCode::kNotSupported,
               cat("the ", multicast.receivers.size(), " receivers of place ", multicast.source,
                   " fill no box of places of one device"),
               std::nullopt, "multicast to whole rows, columns or rectangles"};
}

/// What the multicasts that cross one link take together.
struct LinkSums {
  double reserve = 0;  ///< cycles of reservations
  double issue = 0;
  double carry = 0;  ///< data and acknowledgements
  std::int64_t bytes = 0;

  double together() const { return reserve + issue + carry; }
};

/// Adds multicasts up by link.
class Trees {
 public:
  Trees(const Topology& topology, const Mechanism& mechanism, std::int64_t network)
      : topology_(topology),
        mechanism_(mechanism),
        network_(network),
        facts_(topology.parts().inner[static_cast<std::size_t>(network)].link),
        linked_(mechanism.name == kLinked),
        per_byte_(mechanism.bytes_per_cycle ? 1 / *mechanism.bytes_per_cycle
                                            : facts_.cycles_per_byte),
        sums_(static_cast<std::size_t>(topology.links())),
        seen_(sums_.size(), -1) {}

  void add(const Multicast& multicast, std::int32_t number);
  MulticastCost cost() const;

 private:
  template <typename Add>
  void walk(std::int32_t from, std::int32_t to, const Add& add) {
    route_.clear();
    topology_.route(network_, from, to, route_);
    for (const std::int32_t link : route_) add(static_cast<std::size_t>(link));
  }
  std::int64_t packets(std::int64_t transaction) const {
    return facts_.packet_bytes > 0
               ? std::max<std::int64_t>(1, ceil_div(transaction, facts_.packet_bytes))
               : 1;
  }

  const Topology& topology_;
  const Mechanism& mechanism_;
  const std::int64_t network_;
  const LinkFacts& facts_;
  const bool linked_;
  const double per_byte_;
  std::vector<LinkSums> sums_;
  std::vector<std::int32_t> seen_;  ///< the last multicast that was counted on a link
  std::vector<std::int32_t> route_;
  double latency_ = 0;
};

void Trees::add(const Multicast& multicast, std::int32_t number) {
  if (multicast.receivers.empty() || multicast.bytes == 0) return;
  std::int64_t there = 0;
  std::int64_t both = 0;
  for (const std::int32_t receiver : multicast.receivers) {
    const std::int64_t out = topology_.distance(network_, multicast.source, receiver);
    there = std::max(there, out);
    both = std::max(both, out + topology_.distance(network_, receiver, multicast.source));
  }
  latency_ = std::max(latency_, facts_.hop_cycles * static_cast<double>(both));
  const auto n = static_cast<double>(multicast.transactions);
  const auto p = static_cast<double>(packets(ceil_div(multicast.bytes, multicast.transactions)));
  const double issue = mechanism_.issue_cycles.value_or(0);
  const double reservation = 2 * facts_.hop_cycles * static_cast<double>(there);
  LinkSums own;
  own.reserve = (linked_ ? p : n * p) * reservation;
  own.issue = linked_ ? (n - 1) * issue : n * p * issue;
  own.carry = static_cast<double>(multicast.bytes) * per_byte_;
  own.bytes = multicast.bytes;
  const double answers = linked_ ? n * p * mechanism_.receiver_cycles.value_or(0) : 0;
  for (const std::int32_t receiver : multicast.receivers) {
    walk(multicast.source, receiver, [&](std::size_t link) {
      if (seen_[link] == number) return;
      seen_[link] = number;
      LinkSums& sums = sums_[link];
      sums.reserve += own.reserve;
      sums.issue += own.issue;
      sums.carry += own.carry;
      sums.bytes += own.bytes;
    });
    if (answers == 0) continue;
    walk(receiver, multicast.source, [&](std::size_t link) { sums_[link].carry += answers; });
  }
}

MulticastCost Trees::cost() const {
  LinkSums most;
  std::size_t busiest = 0;
  double most_together = 0;
  for (std::size_t link = 0; link < sums_.size(); ++link) {
    const LinkSums& sums = sums_[link];
    most.reserve = std::max(most.reserve, sums.reserve);
    most.issue = std::max(most.issue, sums.issue);
    most.bytes = std::max(most.bytes, sums.bytes);
    if (sums.carry > most.carry) {
      most.carry = sums.carry;
      if (linked_) busiest = link;
    }
    if (sums.together() > most_together) {
      most_together = sums.together();
      if (!linked_) busiest = link;
    }
  }
  MulticastCost cost;
  cost.max_link_bytes = most.bytes;
  if (most_together == 0) return cost;
  const double overhead = mechanism_.overhead_cycles.value_or(0);
  const double work =
      linked_ ? std::max(most.issue, most.carry) : most_together - sums_[busiest].reserve;
  const double waits = overhead + latency_ + (linked_ ? most.reserve : sums_[busiest].reserve);
  cost.cycles = waits + work;
  if (work < waits) return cost;
  cost.dominated_by = linked_ && most.issue > most.carry ? Term::kIssue : Term::kLink;
  cost.busiest = topology_.link_name(static_cast<std::int64_t>(busiest));
  return cost;
}

}  // namespace

bool fills_box(const Topology& topology, const Multicast& multicast) {
  const Topology::Parts& parts = topology.parts();
  const std::vector<std::int32_t>& receivers = multicast.receivers;
  const auto is_place = [&](std::int64_t end) { return end >= 0 && parts.is_place(end); };
  if (!is_place(multicast.source) || !std::all_of(receivers.begin(), receivers.end(), is_place)) {
    return false;
  }
  if (receivers.empty()) return true;
  for (std::size_t i = 0; i + 1 < receivers.size(); ++i) {
    if (receivers[i] >= receivers[i + 1]) return false;
  }
  const auto device = [&](std::int32_t place) {
    return parts.places[static_cast<std::size_t>(place)].device;
  };
  Box box(parts.shape);
  for (const std::int32_t receiver : receivers) {
    if (receiver == multicast.source || device(receiver) != device(multicast.source)) return false;
    box.include(receiver);
  }
  if (box.places() == std::ssize(receivers)) return true;
  box.include(multicast.source);
  return box.places() == std::ssize(receivers) + 1;
}

Result<MulticastCost> multicast_cost(const Topology& topology, const Machine& machine,
                                     std::span<const Multicast> multicasts, const Travel& travel) {
  TESSERA_CHECK_OK(check_travel(topology, machine, travel));
  const Mechanism* const mechanism = mechanism_of(machine, travel);
  if (mechanism == nullptr || !is_multicast(*mechanism)) {
    return Error{
        ErrorCode::kNotSupported,
        cat("the mechanism ", mechanism == nullptr ? "none" : mechanism->name, " is no multicast"),
        std::nullopt, "multicasts are multicast and multicast_linked"};
  }
  Trees trees(topology, *mechanism, travel.network);
  Checked all(0);
  for (std::size_t i = 0; i < multicasts.size(); ++i) {
    TESSERA_CHECK_OK(check(topology, multicasts[i]));
    all += multicasts[i].bytes;
    TESSERA_CHECK_OK(all.value("the number of bytes of all multicasts"));
    trees.add(multicasts[i], static_cast<std::int32_t>(i));
  }
  return trees.cost();
}

Result<std::optional<BestMulticast>> best_multicast(const Topology& topology,
                                                    const Machine& machine,
                                                    std::span<const Multicast> multicasts) {
  std::optional<BestMulticast> best;
  const bool boxes = std::all_of(multicasts.begin(), multicasts.end(),
                                 [&](const Multicast& one) { return fills_box(topology, one); });
  if (!boxes) return best;
  const std::vector<Mechanism>& mechanisms = machine.mesh.back().mechanisms;
  for (std::size_t m = 0; m < mechanisms.size(); ++m) {
    if (!is_multicast(mechanisms[m])) continue;
    const std::optional<std::int64_t> network =
        mechanisms[m].network.empty() ? 0 : topology.network(mechanisms[m].network);
    if (!network) continue;
    const Travel travel{*network, static_cast<std::int64_t>(m)};
    const LinkFacts& link = topology.parts().inner[static_cast<std::size_t>(*network)].link;
    std::vector<Multicast> cut(multicasts.begin(), multicasts.end());
    for (Multicast& multicast : cut) {
      if (link.packet_bytes == 0 || multicast.bytes <= 0) continue;
      multicast.transactions =
          std::max(multicast.transactions, ceil_div(multicast.bytes, link.packet_bytes));
    }
    TESSERA_TRY(MulticastCost cost, multicast_cost(topology, machine, cut, travel));
    if (!best || cost.cycles < best->cost.cycles) best = BestMulticast{travel, std::move(cost)};
  }
  return best;
}

}  // namespace tessera::fabric
