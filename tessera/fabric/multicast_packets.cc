// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/multicast_packets.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <functional>
#include <queue>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/fabric/networks/parts.h"
#include "tessera/fabric/networks/travel.h"

namespace tessera::fabric {
namespace {

using target::Mechanism;

/// One link of a tree, or the port of its source or of a receiver.
struct Branch {
  std::int32_t link = 0;
  std::int64_t depth = 0;  ///< links between the ports that come before
  bool port = false;
  std::int32_t receiver = -1;  ///< whose port it is, as an index in Multicast::receivers
  std::vector<std::uint32_t> next = {};
  bool requested = false;  ///< the request of the current reservation has arrived
};

/// The routes of a multicast. Branch 0 is the port out of the source; each comes after the one that
/// leads to it.
struct Tree {
  std::vector<Branch> branches;
  std::vector<std::vector<std::int32_t>> back;  ///< links from each receiver to the source
  std::int64_t there = 0;                       ///< links to the farthest receiver
};

class TreeMaker {
 public:
  TreeMaker(const Topology& topology, std::int64_t network)
      : topology_(topology),
        network_(network),
        branch_of_(static_cast<std::size_t>(topology.links()), 0),
        tree_of_(branch_of_.size(), -1) {}

  Tree make(const Multicast& multicast) {
    ++number_;
    Tree tree;
    tree.back.resize(multicast.receivers.size());
    for (std::size_t r = 0; r < multicast.receivers.size(); ++r) {
      route_.clear();
      topology_.route(network_, multicast.source, multicast.receivers[r], route_);
      add(r, tree);
      topology_.route(network_, multicast.receivers[r], multicast.source, tree.back[r]);
      tree.there = std::max<std::int64_t>(tree.there, std::ssize(route_) - 2);
    }
    return tree;
  }

 private:
  void add(std::size_t receiver, Tree& tree) {
    std::uint32_t before = 0;
    for (std::size_t i = 0; i < route_.size(); ++i) {
      const auto link = static_cast<std::size_t>(route_[i]);
      const bool is_new = tree_of_[link] != number_;
      if (is_new) {
        tree_of_[link] = number_;
        branch_of_[link] = static_cast<std::uint32_t>(tree.branches.size());
        Branch branch;
        branch.link = route_[i];
        branch.port = i == 0 || i + 1 == route_.size();
        branch.depth = i == 0 ? 0 : static_cast<std::int64_t>(i) - 1;
        if (i > 0) tree.branches[before].next.push_back(branch_of_[link]);
        tree.branches.push_back(std::move(branch));
      }
      before = branch_of_[link];
    }
    tree.branches[before].receiver = static_cast<std::int32_t>(receiver);
  }

  const Topology& topology_;
  const std::int64_t network_;
  std::vector<std::uint32_t> branch_of_;  ///< by link
  std::vector<std::int32_t> tree_of_;     ///< by link: the last tree that has it
  std::vector<std::int32_t> route_;
  std::int32_t number_ = -1;
};

/// A packet on its way, or waiting at its source.
struct Packet {
  std::int64_t bytes = 0;
  bool begins = false;    ///< a transaction
  bool of_first = false;  ///< transaction
};

/// The packets of a multicast, transaction by transaction.
std::vector<Packet> packets_of(const Multicast& multicast, std::int64_t most) {
  std::vector<Packet> packets;
  for (std::int64_t t = 0; t < multicast.transactions; ++t) {
    std::int64_t left = multicast.bytes / multicast.transactions +
                        (t < multicast.bytes % multicast.transactions ? 1 : 0);
    bool begins = true;
    do {
      const std::int64_t size = most == 0 ? left : std::min(left, most);
      packets.push_back({size, begins, t == 0});
      begins = false;
      left -= size;
    } while (left > 0);
  }
  return packets;
}

/// A multicast that has something to send.
struct Sender {
  Tree tree;
  std::vector<Packet> packets;
  std::size_t next = 0;         ///< of `packets`
  double issued = 0;            ///< when the last transaction was issued
  std::int64_t unanswered = 0;  ///< receivers that the request has not reached
  double answered = 0;          ///< when the last answer so far is back
};

struct Event {
  enum class Kind : std::uint8_t { kReserve, kRequest, kSend, kHead, kRelease, kAnswer };
  double cycle = 0;
  std::int64_t order = 0;  ///< of events in the same cycle: that in which they were scheduled
  Kind kind = Kind::kReserve;
  std::uint32_t sender = 0;
  std::uint32_t branch = 0;  ///< answers: the receiver
  std::uint32_t packet = 0;  ///< answers: the position on the way back
  friend bool operator>(const Event& a, const Event& b) {
    return a.cycle != b.cycle ? a.cycle > b.cycle : a.order > b.order;
  }
};

struct Link {
  double free = 0;  ///< when the last packet so far has passed
  struct Waiting {
    std::uint32_t sender = 0;
    std::uint32_t branch = 0;
  };
  std::deque<Waiting> reserved;  ///< the first has it
};

class MulticastRun {
 public:
  MulticastRun(const Topology& topology, const Mechanism& mechanism,
               std::span<const Multicast> multicasts, std::int64_t network)
      : facts_(topology.parts().inner[static_cast<std::size_t>(network)].link),
        linked_(mechanism.name == "multicast_linked"),
        per_byte_(mechanism.bytes_per_cycle ? 1 / *mechanism.bytes_per_cycle
                                            : facts_.cycles_per_byte),
        overhead_(mechanism.overhead_cycles.value_or(0)),
        issue_(mechanism.issue_cycles.value_or(0)),
        answer_(linked_ ? mechanism.receiver_cycles.value_or(0) : 0),
        senders_(multicasts.size()),
        links_(static_cast<std::size_t>(topology.links())) {
    result_.link_bytes.resize(links_.size());
    result_.multicasts.resize(multicasts.size());
    TreeMaker maker(topology, network);
    for (std::size_t m = 0; m < multicasts.size(); ++m) {
      if (multicasts[m].receivers.empty() || multicasts[m].bytes == 0) continue;
      senders_[m].tree = maker.make(multicasts[m]);
      senders_[m].packets = packets_of(multicasts[m], facts_.packet_bytes);
      result_.packets += std::ssize(senders_[m].packets);
    }
  }

  /// Σ over packets of the links that they, and their acknowledgements, pass.
  std::int64_t hops() const {
    Checked hops = 0;
    for (const Sender& sender : senders_) {
      std::int64_t links = std::ssize(sender.tree.branches);
      for (const std::vector<std::int32_t>& back : sender.tree.back) links += std::ssize(back);
      hops += Checked(links) * std::ssize(sender.packets);
    }
    return hops.saturated();
  }

  MulticastSimulation run() {
    for (std::uint32_t m = 0; m < senders_.size(); ++m) {
      if (senders_[m].packets.empty()) continue;
      const double first = overhead_ + (linked_ ? 0 : issue_);
      result_.multicasts[m].first_issue = first;
      schedule(first, Event::Kind::kReserve, m);
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      handle(event);
    }
    return std::move(result_);
  }

 private:
  void schedule(double cycle, Event::Kind kind, std::uint32_t sender, std::uint32_t branch = 0,
                std::uint32_t packet = 0) {
    events_.push({cycle, scheduled_++, kind, sender, branch, packet});
  }
  double hop(const Branch& branch) const { return branch.port ? 0 : facts_.hop_cycles; }
  void handle(const Event& event);
  void reserve(std::uint32_t m, double cycle);
  void request(std::uint32_t m, std::uint32_t number, double cycle);
  void release(const Event& event);
  void pass(const Event& event);
  void left_source(std::uint32_t m, double tail);
  void acknowledge(const Event& event);
  void complete(std::uint32_t m, double cycle) {
    double& completed = result_.multicasts[m].completed;
    completed = std::max(completed, cycle);
    result_.cycles = std::max(result_.cycles, cycle);
  }

  const LinkFacts& facts_;
  const bool linked_;
  const double per_byte_;
  const double overhead_;
  const double issue_;
  const double answer_;
  std::vector<Sender> senders_;
  std::vector<Link> links_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::int64_t scheduled_ = 0;
  MulticastSimulation result_;
};

void MulticastRun::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kReserve:
      return reserve(event.sender, event.cycle);
    case Event::Kind::kRequest: {
      Branch& branch = senders_[event.sender].tree.branches[event.branch];
      branch.requested = true;
      const Link& link = links_[static_cast<std::size_t>(branch.link)];
      if (link.reserved.front().sender == event.sender) {
        request(event.sender, event.branch, event.cycle);
      }
      return;
    }
    case Event::Kind::kSend: {
      Sender& sender = senders_[event.sender];
      const auto number = static_cast<std::uint32_t>(sender.next++);
      if (sender.packets[number].begins) sender.issued = event.cycle;
      schedule(event.cycle, Event::Kind::kHead, event.sender, 0, number);
      return;
    }
    case Event::Kind::kHead:
      return pass(event);
    case Event::Kind::kRelease:
      return release(event);
    case Event::Kind::kAnswer:
      return acknowledge(event);
  }
}

/// Takes a turn at every link of the tree, and sends the request.
void MulticastRun::reserve(std::uint32_t m, double cycle) {
  Tree& tree = senders_[m].tree;
  for (std::uint32_t b = 0; b < tree.branches.size(); ++b) {
    tree.branches[b].requested = false;
    links_[static_cast<std::size_t>(tree.branches[b].link)].reserved.push_back({m, b});
  }
  senders_[m].unanswered = std::ssize(tree.back);
  senders_[m].answered = 0;
  schedule(cycle, Event::Kind::kRequest, m, 0);
}

/// The request goes on from a link that it has reserved.
void MulticastRun::request(std::uint32_t m, std::uint32_t number, double cycle) {
  Sender& sender = senders_[m];
  const Branch& branch = sender.tree.branches[number];
  if (branch.receiver < 0) {
    for (const std::uint32_t next : branch.next) {
      schedule(cycle + hop(branch), Event::Kind::kRequest, m, next);
    }
    return;
  }
  const double back = facts_.hop_cycles * static_cast<double>(branch.depth);
  sender.answered = std::max(sender.answered, cycle + back);
  if (--sender.unanswered == 0) schedule(sender.answered, Event::Kind::kSend, m);
}

void MulticastRun::release(const Event& event) {
  const Branch& branch = senders_[event.sender].tree.branches[event.branch];
  Link& link = links_[static_cast<std::size_t>(branch.link)];
  assert(link.reserved.front().sender == event.sender);
  link.reserved.pop_front();
  if (link.reserved.empty()) return;
  const Link::Waiting next = link.reserved.front();
  if (senders_[next.sender].tree.branches[next.branch].requested) {
    request(next.sender, next.branch, event.cycle);
  }
}

/// A packet passes a link, and copies of it go on to the next ones.
void MulticastRun::pass(const Event& event) {
  Sender& sender = senders_[event.sender];
  const Branch& branch = sender.tree.branches[event.branch];
  const Packet& packet = sender.packets[event.packet];
  Link& link = links_[static_cast<std::size_t>(branch.link)];
  const double start = std::max(event.cycle, link.free);
  const double tail = start + static_cast<double>(packet.bytes) * per_byte_;
  link.free = tail;
  result_.link_bytes[static_cast<std::size_t>(branch.link)] += packet.bytes;
  ++result_.packet_hops;
  const bool last = event.packet + 1 == sender.packets.size();
  if (!linked_ || last) schedule(tail, Event::Kind::kRelease, event.sender, event.branch);
  for (const std::uint32_t next : branch.next) {
    schedule(start + hop(branch), Event::Kind::kHead, event.sender, next, event.packet);
  }
  if (event.branch == 0) left_source(event.sender, tail);
  if (branch.receiver < 0) return;
  const auto receiver = static_cast<std::uint32_t>(branch.receiver);
  if (answer_ > 0) {
    schedule(tail, Event::Kind::kAnswer, event.sender, receiver, 0);
    return;
  }
  const auto back = std::ssize(sender.tree.back[receiver]) - 2;
  complete(event.sender, tail + facts_.hop_cycles * static_cast<double>(back));
}

/// The tail of a packet has left the source, which prepares the next one.
void MulticastRun::left_source(std::uint32_t m, double tail) {
  const Sender& sender = senders_[m];
  if (sender.next == sender.packets.size()) return;
  if (!linked_) return schedule(tail + issue_, Event::Kind::kReserve, m);
  const Packet& next = sender.packets[sender.next];
  double start = tail;
  if (next.of_first) start += 2 * facts_.hop_cycles * static_cast<double>(sender.tree.there);
  if (next.begins) start = std::max(start, sender.issued + issue_);
  schedule(start, Event::Kind::kSend, m);
}

/// An acknowledgement passes a link of its way back.
void MulticastRun::acknowledge(const Event& event) {
  const std::vector<std::int32_t>& back = senders_[event.sender].tree.back[event.branch];
  Link& link = links_[static_cast<std::size_t>(back[event.packet])];
  const double start = std::max(event.cycle, link.free);
  link.free = start + answer_;
  ++result_.packet_hops;
  if (event.packet + 1 == back.size()) return complete(event.sender, link.free);
  const double hop = event.packet == 0 ? 0 : facts_.hop_cycles;  // the first is a port
  schedule(start + hop, Event::Kind::kAnswer, event.sender, event.branch, event.packet + 1);
}

}  // namespace

Result<MulticastSimulation> simulate_multicasts(const Topology& topology, const Machine& machine,
                                                std::span<const Multicast> multicasts,
                                                const Travel& travel,
                                                std::int64_t max_packet_hops) {
  // Checks every multicast, and that sums do not overflow.
  TESSERA_CHECK_OK(multicast_cost(topology, machine, multicasts, travel));
  const auto too_large = [&] {
    return Error{ErrorCode::kTooLarge,
                 cat("the simulation has more than ", max_packet_hops, " packet hops"),
                 std::nullopt, "simulate fewer or smaller multicasts, or raise max_packet_hops"};
  };
  const LinkFacts& link = topology.parts().inner[static_cast<std::size_t>(travel.network)].link;
  Checked packets = 0;  // refused before they are listed
  for (const Multicast& multicast : multicasts) {
    packets += multicast.transactions;
    if (link.packet_bytes > 0) packets += multicast.bytes / link.packet_bytes;
  }
  if (packets.saturated() > max_packet_hops) return too_large();
  MulticastRun run(topology, *mechanism_of(machine, travel), multicasts, travel.network);
  if (run.hops() > max_packet_hops) return too_large();
  return run.run();
}

}  // namespace tessera::fabric
