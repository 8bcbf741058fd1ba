// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/multicast.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/fabric/networks/line_loads.h"
#include "tessera/fabric/networks/message_sums.h"
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

/// Packets of a transaction.
std::int64_t packets(const InnerNetwork& network, std::int64_t transaction) {
  const std::int64_t most = network.link.packet_bytes;
  return most > 0 ? std::max<std::int64_t>(1, ceil_div(transaction, most)) : 1;
}

/// What crosses one link.
struct TreeLoad {
  double hops = 0;     ///< Σ of the packets that reserve it · the longest way to a receiver
  double issued = 0;   ///< transactions or packets whose issue counts
  double answers = 0;  ///< acknowledgements
  std::int64_t bytes = 0;
  bool listed = false;  ///< of ports

  TreeLoad& operator+=(const TreeLoad& other) {
    hops += other.hops;
    issued += other.issued;
    answers += other.answers;
    bytes += other.bytes;
    return *this;
  }
  TreeLoad& operator-=(const TreeLoad& other) {
    hops -= other.hops;
    issued -= other.issued;
    answers -= other.answers;
    bytes -= other.bytes;
    return *this;
  }
};

/// Adds multicasts up by link.
class Trees {
 public:
  Trees(const Topology& topology, std::int64_t network)
      : parts_(topology.parts()),
        own_(parts_.inner[static_cast<std::size_t>(network)]),
        network_(network),
        inner_(own_, parts_.devices),
        ports_(2 * parts_.ports) {}

  /// Takes up the multicasts of one mechanism, which are valid, and no others. `cuts`: transactions
  /// longer than a packet are cut.
  void add_all(std::span<const Multicast> multicasts, const Mechanism& mechanism, bool cuts) {
    inner_.clear();
    ports_.clear();
    latency_steps_ = 0;
    for (const Multicast& multicast : multicasts) add(multicast, mechanism, cuts);
  }
  MulticastCost cost(const Topology& topology, const Mechanism& mechanism);
  /// Of multicasts of one byte in one transaction each.
  MulticastPattern::OnNetwork pattern(const Travel& travel);

 private:
  template <typename Consider>
  void for_each_load(const Consider& consider) {
    const LinkLines& lines = inner_.lines();
    inner_.sum_up([&](std::size_t at, const TreeLoad& load) {
      if (load.bytes != 0 || load.answers != 0) consider(lines.link_at(at), load);
    });
    for (const std::int32_t number : ports_.listed()) {
      const std::int64_t port = number / 2;
      consider(number % 2 == 0 ? parts_.link_out(network_, port) : parts_.link_in(network_, port),
               ports_[number]);
    }
  }
  void add(const Multicast& multicast, const Mechanism& mechanism, bool cuts);
  const DeviceRouter& router_of(std::int32_t place) const {
    return parts_.places[static_cast<std::size_t>(place)];
  }
  const Topology::Parts& parts_;
  const InnerNetwork& own_;
  const std::int64_t network_;
  LineLoads<TreeLoad> inner_;
  ListedLoads<TreeLoad> ports_;  ///< by twice the number of a port: out, and one more: in
  std::vector<std::int32_t> routers_;
  std::int64_t latency_steps_ = 0;
};

void Trees::add(const Multicast& multicast, const Mechanism& mechanism, bool cuts) {
  if (multicast.receivers.empty() || multicast.bytes == 0) return;
  const bool linked = mechanism.name == kLinked;
  const DeviceRouter source = router_of(multicast.source);
  std::int64_t transactions = multicast.transactions;
  if (cuts) transactions = std::max(transactions, packets(own_, multicast.bytes));
  const auto n = static_cast<double>(transactions);
  const auto p = static_cast<double>(packets(own_, ceil_div(multicast.bytes, transactions)));
  const bool answered = linked && mechanism.receiver_cycles.value_or(0) > 0;
  TreeLoad answers;
  answers.answers = n * p;
  std::int64_t there = 0;
  routers_.clear();
  for (const std::int32_t receiver : multicast.receivers) {
    const std::int32_t router = router_of(receiver).router;
    routers_.push_back(router);
    const std::int64_t out = own_.distance(source.router, router);
    const std::int64_t back = answered
                                  ? inner_.add(source.device, router, source.router, answers).there
                                  : own_.distance(router, source.router);
    there = std::max(there, out);
    latency_steps_ = std::max(latency_steps_, out + back);
  }
  TreeLoad tree;
  tree.hops = (linked ? p : n * p) * static_cast<double>(there);
  tree.issued = linked ? n - 1 : n * p;
  tree.bytes = multicast.bytes;
  inner_.add_tree(source.device, source.router, routers_, tree);
  ports_.at(2 * static_cast<std::int64_t>(multicast.source)) += tree;
  for (const std::int32_t receiver : multicast.receivers) {
    const std::int64_t port = 2 * static_cast<std::int64_t>(receiver);
    ports_.at(port + 1) += tree;
    if (answered) ports_.at(port) += answers;
  }
  if (!answered) return;
  answers.answers *= static_cast<double>(multicast.receivers.size());
  ports_.at(2 * static_cast<std::int64_t>(multicast.source) + 1) += answers;
}

/// The largest sums of all links, and what multicasts cost by them.
class WorstLink {
 public:
  WorstLink(const InnerNetwork& network, const Mechanism& mechanism)
      : linked_(mechanism.name == kLinked),
        hop_(network.link.hop_cycles),
        issue_(mechanism.issue_cycles.value_or(0)),
        receiver_(mechanism.receiver_cycles.value_or(0)),
        overhead_(mechanism.overhead_cycles.value_or(0)),
        per_byte_(mechanism.bytes_per_cycle ? 1 / *mechanism.bytes_per_cycle
                                            : network.link.cycles_per_byte) {}

  void consider(std::int64_t link, const TreeLoad& load) {
    const double reserve = 2 * hop_ * load.hops;
    const double issued = issue_ * load.issued;
    const double carry = static_cast<double>(load.bytes) * per_byte_ + load.answers * receiver_;
    const double own = linked_ ? carry : reserve + issued + carry;
    most_reserve_ = std::max(most_reserve_, reserve);
    most_issue_ = std::max(most_issue_, issued);
    most_bytes_ = std::max(most_bytes_, load.bytes);
    if (own == 0 || own < most_ || (own == most_ && link >= busiest_)) return;
    most_ = own;
    busiest_ = link;
    reserve_of_busiest_ = reserve;
  }

  MulticastCost cost(const Topology& topology, std::int64_t latency_steps) const {
    MulticastCost cost;
    cost.max_link_bytes = most_bytes_;
    if (busiest_ < 0) return cost;
    const double latency = hop_ * static_cast<double>(latency_steps);
    const double work = linked_ ? std::max(most_issue_, most_) : most_ - reserve_of_busiest_;
    const double waits = overhead_ + latency + (linked_ ? most_reserve_ : reserve_of_busiest_);
    cost.cycles = waits + work;
    if (work < waits) return cost;
    cost.dominated_by = linked_ && most_issue_ > most_ ? Term::kIssue : Term::kLink;
    cost.busiest = topology.link_name(busiest_);
    return cost;
  }

 private:
  const bool linked_;
  const double hop_;
  const double issue_;
  const double receiver_;
  const double overhead_;
  const double per_byte_;
  double most_reserve_ = 0;
  double most_issue_ = 0;
  /// Of linked multicasts by what a link carries, of others by all together.
  double most_ = 0;
  double reserve_of_busiest_ = 0;
  std::int64_t most_bytes_ = 0;
  std::int64_t busiest_ = -1;  ///< the first of several
};

MulticastCost Trees::cost(const Topology& topology, const Mechanism& mechanism) {
  WorstLink worst(own_, mechanism);
  for_each_load([&](std::int64_t link, const TreeLoad& load) { worst.consider(link, load); });
  return worst.cost(topology, latency_steps_);
}

MulticastPattern::OnNetwork Trees::pattern(const Travel& travel) {
  MulticastPattern::OnNetwork pattern{travel, latency_steps_, {}};
  for_each_load([&](std::int64_t link, const TreeLoad& load) {
    pattern.links.push_back({load.hops, load.answers, load.bytes, link});
  });
  const auto alike = [](const auto& x, const auto& y) {
    return x.hops == y.hops && x.answers == y.answers && x.trees == y.trees;
  };
  std::sort(pattern.links.begin(), pattern.links.end(), [](const auto& x, const auto& y) {
    return std::tie(x.hops, x.answers, x.trees, x.link) <
           std::tie(y.hops, y.answers, y.trees, y.link);
  });
  pattern.links.erase(std::unique(pattern.links.begin(), pattern.links.end(), alike),
                      pattern.links.end());
  return pattern;
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
  Checked all(0);
  for (const Multicast& multicast : multicasts) {
    TESSERA_CHECK_OK(check(topology, multicast));
    all += multicast.bytes;
    TESSERA_CHECK_OK(all.value("the number of bytes of all multicasts"));
  }
  Trees trees(topology, travel.network);
  trees.add_all(multicasts, *mechanism, false);
  return trees.cost(topology, *mechanism);
}

struct MulticastPricer::Tables {
  std::vector<Travel> ways;  ///< the mechanisms that multicast
  /// By network, made when multicasts travel over it for the first time.
  std::vector<std::optional<Trees>> trees;

  Trees& trees_over(const Topology& topology, std::int64_t network) {
    std::optional<Trees>& found = trees[static_cast<std::size_t>(network)];
    if (!found) found.emplace(topology, network);
    return *found;
  }
};

MulticastPricer::MulticastPricer(const Topology& topology, const Machine& machine)
    : topology_(topology), machine_(machine), tables_(std::make_unique<Tables>()) {
  tables_->trees.resize(static_cast<std::size_t>(topology.networks()));
  const std::vector<Mechanism>& mechanisms = machine.mesh.back().mechanisms;
  for (std::size_t m = 0; m < mechanisms.size(); ++m) {
    if (!is_multicast(mechanisms[m])) continue;
    const std::optional<std::int64_t> network = mechanisms[m].network.empty()
                                                    ? topology.first_network()
                                                    : topology.network(mechanisms[m].network);
    if (network) tables_->ways.push_back({*network, static_cast<std::int64_t>(m)});
  }
}
MulticastPricer::~MulticastPricer() = default;

bool MulticastPricer::all_fill_boxes(std::span<const Multicast> multicasts) const {
  return std::all_of(multicasts.begin(), multicasts.end(),
                     [&](const Multicast& one) { return fills_box(topology_, one); });
}

Result<std::optional<BestMulticast>> MulticastPricer::best(std::span<const Multicast> multicasts) {
  std::optional<BestMulticast> best;
  const std::vector<Travel>& ways = tables_->ways;
  if (ways.empty() || !all_fill_boxes(multicasts)) return best;
  Checked all(0);
  for (const Multicast& multicast : multicasts) {
    if (multicast.bytes < 0 || multicast.transactions < 1)
      return check(topology_, multicast).error();
    all += multicast.bytes;
    TESSERA_CHECK_OK(all.value("the number of bytes of all multicasts"));
  }
  for (const Travel& travel : ways) {
    const Mechanism& mechanism = *mechanism_of(machine_, travel);
    Trees& trees = tables_->trees_over(topology_, travel.network);
    trees.add_all(multicasts, mechanism, true);
    MulticastCost cost = trees.cost(topology_, mechanism);
    if (!best || cost.cycles < best->cost.cycles) best = BestMulticast{travel, std::move(cost)};
  }
  return best;
}

std::optional<MulticastPattern> MulticastPricer::pattern(std::vector<Multicast> multicasts) {
  if (tables_->ways.empty() || !all_fill_boxes(multicasts)) return std::nullopt;
  MulticastPattern pattern;
  for (Multicast& multicast : multicasts) {
    multicast.bytes = 1;
    multicast.transactions = 1;
    if (!multicast.receivers.empty()) ++pattern.multicasts;
  }
  for (const Travel& travel : tables_->ways) {
    Trees& trees = tables_->trees_over(topology_, travel.network);
    trees.add_all(multicasts, *mechanism_of(machine_, travel), false);
    pattern.networks.push_back(trees.pattern(travel));
  }
  return pattern;
}

std::optional<BestMulticast> MulticastPricer::best(const MulticastPattern& pattern,
                                                   std::int64_t bytes,
                                                   std::int64_t transactions) const {
  const Checked all = Checked(pattern.multicasts) * bytes;
  if (bytes < 1 || transactions < 1 || all.overflowed()) return std::nullopt;
  std::optional<BestMulticast> best;
  for (const MulticastPattern::OnNetwork& on : pattern.networks) {
    const Mechanism& mechanism = *mechanism_of(machine_, on.travel);
    const InnerNetwork& network =
        topology_.parts().inner[static_cast<std::size_t>(on.travel.network)];
    const bool linked = mechanism.name == kLinked;
    const std::int64_t cut = std::max(transactions, packets(network, bytes));
    const auto n = static_cast<double>(cut);
    const auto p = static_cast<double>(packets(network, ceil_div(bytes, cut)));
    WorstLink worst(network, mechanism);
    for (const MulticastPattern::Link& link : on.links) {
      const auto trees = static_cast<double>(link.trees);
      TreeLoad load;
      load.hops = (linked ? p : n * p) * link.hops;
      load.issued = (linked ? n - 1 : n * p) * trees;
      load.answers = n * p * link.answers;
      load.bytes = bytes * link.trees;
      worst.consider(link.link, load);
    }
    MulticastCost cost = worst.cost(topology_, on.latency_steps);
    if (!best || cost.cycles < best->cost.cycles) best = BestMulticast{on.travel, std::move(cost)};
  }
  return best;
}

Result<std::optional<BestMulticast>> best_multicast(const Topology& topology,
                                                    const Machine& machine,
                                                    std::span<const Multicast> multicasts) {
  return MulticastPricer(topology, machine).best(multicasts);
}

}  // namespace tessera::fabric
