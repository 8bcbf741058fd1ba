// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/networks/peaks.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/checked.h"
#include "tessera/fabric/networks/travel.h"

namespace tessera::fabric {
namespace {

using target::Mechanism;

/// What a processor takes for one transaction, and for one byte.
struct IssueRate {
  double each = 0;
  double per_byte = 0;

  explicit IssueRate(const Mechanism* mechanism)
      : each(mechanism != nullptr ? mechanism->issue_cycles.value_or(0) : 0),
        per_byte(mechanism != nullptr && mechanism->bytes_per_cycle
                     ? 1 / *mechanism->bytes_per_cycle
                     : 0) {}
  double cycles(std::int64_t issued, std::int64_t bytes) const {
    return std::max(static_cast<double>(issued - 1) * each, static_cast<double>(bytes) * per_byte);
  }
};

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

/// What follows from the peaks for every part of the machine.
class Bounds {
 public:
  Bounds(const Topology::Parts& parts, const target::Machine& machine, std::int64_t network,
         const Mechanism* mechanism, const Peaks& peaks)
      : parts_(parts),
        machine_(machine),
        peaks_(peaks),
        own_(parts.inner[static_cast<std::size_t>(network)]),
        answered_(mechanism != nullptr),
        issue_(mechanism) {
    const auto count = static_cast<double>(peaks.transactions);
    bytes_ = static_cast<double>(peaks.bytes) / count;
    wire_ = static_cast<double>(peaks.wire) / count;
  }

  void add_links();
  void add_endpoints();
  void add_alone();
  const Bound& most() const { return most_; }

 private:
  const CycleRange& latencies(const RouteCycles& routes) const {
    return answered_ ? routes.there_and_back : routes.there;
  }
  void add_memory(const Peaks::MemoryLoad& end);

  const Topology::Parts& parts_;
  const target::Machine& machine_;
  const Peaks& peaks_;
  const InnerNetwork& own_;
  const bool answered_;
  const IssueRate issue_;
  double bytes_ = 0;  ///< of an average transaction
  double wire_ = 0;   ///< with headers
  Bound most_;
};

void Bounds::add_links() {
  if (peaks_.inner.bytes > 0) {
    const double per_byte = own_.link.cycles_per_byte;
    most_.raise({last_latency(latencies(peaks_.routes), wire_ * per_byte),
                 static_cast<double>(peaks_.inner.bytes) * per_byte, Term::kLink,
                 peaks_.inner.link});
  }
  for (const Peaks::OuterPeak& outer : peaks_.outer) {
    const double work =
        static_cast<double>(outer.load.bytes) * parts_.outer[outer.level].link.cycles_per_byte;
    const double each = work / static_cast<double>(outer.load.transactions);
    most_.raise({last_latency(latencies(outer.load.routes), each), work, Term::kLink, outer.link});
  }
}

/// Ports, issued transactions, memories.
void Bounds::add_endpoints() {
  const CycleRange& range = latencies(peaks_.routes);
  if (peaks_.port.bytes > 0) {
    most_.raise({last_latency(range, wire_ * own_.port.cycles_per_byte),
                 static_cast<double>(peaks_.port.bytes) * own_.port.cycles_per_byte,
                 peaks_.port.sends ? Term::kSend : Term::kReceive,
                 parts_.endpoint_of_port(peaks_.port.number)});
  }
  if (peaks_.issuer.number >= 0) {
    most_.raise({last_latency(range, std::max(issue_.each, bytes_ * issue_.per_byte)),
                 issue_.cycles(peaks_.issuer.issued, peaks_.issuer.bytes), Term::kIssue,
                 peaks_.issuer.number});
  }
  for (const Peaks::MemoryLoad& end : peaks_.memories) add_memory(end);
}

void Bounds::add_memory(const Peaks::MemoryLoad& end) {
  const auto memory = static_cast<std::size_t>(parts_.memory(end.number).memory);
  const auto sent = static_cast<double>(end.sent);
  const auto received = static_cast<double>(end.received);
  const std::optional<double> cycles =
      machine_.memory_cycles(machine_.memory[memory], sent, received);
  if (!cycles || *cycles == 0) return;
  const double each = *cycles / (sent + received) * bytes_;
  most_.raise({last_latency(latencies(peaks_.routes), each), *cycles, Term::kMemory, end.number});
}

/// The longest route, with a message of average size. A single message is also all that its ports
/// carry, and rounding must not decide what is named.
void Bounds::add_alone() {
  constexpr double kRounding = 1e-12;
  const auto messages = static_cast<double>(peaks_.messages);
  const auto more = static_cast<double>(peaks_.transactions - peaks_.messages) / messages;
  const double wire = static_cast<double>(peaks_.wire) / messages * own_.port.cycles_per_byte;
  const double moved = static_cast<double>(peaks_.bytes) / messages * issue_.per_byte;
  Bound alone;
  alone.latency = latencies(peaks_.routes).longest;
  alone.work = std::max({wire, more * issue_.each, moved});
  if (most_.latency + most_.work < (alone.latency + alone.work) * (1 - kRounding)) most_ = alone;
}

}  // namespace

Peaks Peaks::of(MessageSums& sums, const Mechanism* mechanism) {
  Peaks peaks;
  peaks.bytes = sums.bytes;
  peaks.wire = sums.wire;
  peaks.messages = sums.messages;
  peaks.transactions = sums.transactions;
  peaks.hops = sums.hops;
  peaks.longest_distance = sums.longest_distance;
  peaks.routes = sums.routes;
  for (const std::int32_t number : sums.ports.listed()) {
    const PortLoad& port = sums.ports[number];
    const std::int64_t most = std::max(port.sent, port.received);
    if (most < peaks.port.bytes || (most == peaks.port.bytes && number > peaks.port.number)) {
      continue;
    }
    peaks.port = {number, most, port.sent == most};
  }
  const IssueRate rate(mechanism);
  double longest = -1;
  for (const std::int32_t number : sums.ends.listed()) {
    const EndpointLoad& end = sums.ends[number];
    peaks.most_sent = std::max(peaks.most_sent, end.sent);
    peaks.most_received = std::max(peaks.most_received, end.received);
    peaks.most_issued = std::max(peaks.most_issued, end.issued);
    if (!sums.parts.is_place(number)) {
      peaks.memories.push_back({number, end.sent, end.received});
      continue;
    }
    if (mechanism == nullptr || end.issued == 0) continue;
    const double work = rate.cycles(end.issued, end.issued_bytes);
    if (work < longest || (work == longest && number > peaks.issuer.number)) continue;
    longest = work;
    peaks.issuer = {number, end.issued, end.issued_bytes};
  }
  std::sort(peaks.memories.begin(), peaks.memories.end(),
            [](const MemoryLoad& x, const MemoryLoad& y) { return x.number < y.number; });
  peaks.inner = sums.inner.largest();
  if (!sums.uses_outer) return peaks;
  for (std::size_t level = 0; level < sums.parts.outer.size(); ++level) {
    const OuterLevel& outer = sums.parts.outer[level];
    for (std::int64_t link = outer.first_link; link < outer.first_link + outer.links; ++link) {
      const OuterLoad& load = sums.outer[static_cast<std::size_t>(link - sums.first_outer)];
      if (load.transactions > 0) peaks.outer.push_back({link, level, load});
    }
  }
  return peaks;
}

std::optional<Peaks> Peaks::scaled(const Topology::Parts& parts, const InnerNetwork& own,
                                   const Message& message) const {
  if (messages == 0) return *this;
  const std::int64_t unit = wire_bytes(own.link, {0, 1, 1, 1}).value_or(1);  // now on each link
  const std::optional<std::int64_t> wire_each = wire_bytes(own.link, message);
  if (!wire_each) return std::nullopt;
  bool fits = true;
  const auto times = [&](std::int64_t count, std::int64_t each) {
    std::int64_t product = 0;
    fits = !__builtin_mul_overflow(count, each, &product) && fits;
    return product;
  };
  Peaks all = *this;
  all.bytes = times(messages, message.bytes);
  all.wire = times(messages, *wire_each);
  all.transactions = times(messages, message.transactions);
  all.hops = times(hops, message.bytes);
  all.most_sent = times(most_sent, message.bytes);
  all.most_received = times(most_received, message.bytes);
  all.most_issued = times(most_issued, message.transactions);
  all.port.bytes = times(port.bytes / unit, *wire_each);
  all.issuer.issued = times(issuer.issued, message.transactions);
  all.issuer.bytes = times(issuer.bytes, message.bytes);
  for (MemoryLoad& end : all.memories) {
    end.sent = times(end.sent, message.bytes);
    end.received = times(end.received, message.bytes);
  }
  all.inner.bytes = times(inner.bytes / unit, *wire_each);
  for (OuterPeak& peak : all.outer) {
    const std::optional<std::int64_t> size = wire_bytes(parts.outer[peak.level].link, message);
    if (!size) return std::nullopt;
    peak.load.bytes = times(peak.load.transactions, *size);
    peak.load.transactions = (Checked(peak.load.transactions) * message.transactions).saturated();
  }
  if (!fits) return std::nullopt;
  return all;
}

PeakCost cost_of(const Topology::Parts& parts, const target::Machine& machine, const Travel& travel,
                 const Peaks& peaks) {
  PeakCost cost;
  if (peaks.messages == 0) return cost;
  const Mechanism* const mechanism = mechanism_of(machine, travel);
  Bounds bounds(parts, machine, travel.network, mechanism, peaks);
  bounds.add_links();
  bounds.add_endpoints();
  bounds.add_alone();
  const Bound& bound = bounds.most();
  const double overhead = mechanism != nullptr ? mechanism->overhead_cycles.value_or(0) : 0;
  cost.cycles = overhead + bound.latency + bound.work;
  if (bound.carrier >= 0 && bound.work >= overhead + bound.latency) {
    cost.dominated_by = bound.term;
    cost.carrier = bound.carrier;
  }
  return cost;
}

}  // namespace tessera::fabric
