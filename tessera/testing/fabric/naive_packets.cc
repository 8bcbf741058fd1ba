// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/fabric/naive_packets.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/testing/fabric/naive_network.h"

namespace tessera::test {
namespace {

using fabric::IssueOrder;
using fabric::Message;
using target::Bandwidth;
using target::Mechanism;
using target::MemorySpace;

/// Cycles per byte, or nothing if the bandwidth is not known.
std::optional<std::int64_t> per_byte(const Bandwidth& bandwidth) {
  if (!bandwidth.bytes_per_cycle) return std::nullopt;
  return std::llround(1 / *bandwidth.bytes_per_cycle);
}

/// A visit of a packet to a station.
struct Visit {
  std::string station;
  std::int64_t alone_cycles = 0;  ///< if nothing else changes what it takes
  std::int64_t hop_cycles = 0;
  const MemorySpace* mixed = nullptr;  ///< a memory whose reads and writes share a bandwidth
  bool reads = false;
  std::int64_t bytes = 0;  ///< for mixed memories
};

struct Travelling {
  std::size_t message = 0;
  std::int64_t arrives = 0;  ///< at the next station
  std::size_t next = 0;
  std::int64_t tail = 0;  ///< when the last byte is there
  bool queued = false;
  std::int64_t acknowledge = 0;
  std::vector<Visit> visits;
};

struct Served {
  std::deque<std::size_t> queue;
  std::int64_t free = 0;
  std::int64_t read = 0;
  std::int64_t written = 0;
  std::int64_t level = 0;  ///< of mixed memories: the cycles of both so far
};

class Stepper {
 public:
  Stepper(const Machine& machine, std::span<const Message> messages, const fabric::Travel& travel,
          IssueOrder order)
      : machine_(machine),
        network_(machine, travel.network),
        messages_(messages),
        order_(order),
        packet_bytes_(
            machine.mesh.back().networks[static_cast<std::size_t>(travel.network)].packet_bytes) {
    if (travel.mechanism >= 0) {
      mechanism_ = machine.mesh.back().mechanisms[static_cast<std::size_t>(travel.mechanism)];
    }
    answer_.messages.resize(messages.size());
  }

  NaivePackets run() {
    for (std::int64_t end = 0; end < network_.endpoints(); ++end) issue(end);
    constexpr std::int64_t kMost = 100'000;
    std::size_t left = packets_.size();
    for (std::int64_t cycle = 0; cycle < kMost && left > 0; ++cycle) {
      bool moved = true;
      while (moved) moved = start_one(cycle, left) || queue_one(cycle);
    }
    answer_.finished = left == 0;
    return answer_;
  }

 private:
  std::int64_t whole(const std::optional<double>& figure) const {
    return std::llround(figure.value_or(0));
  }
  bool by_place(const Message& message) const {
    return mechanism_ &&
           (network_.memory(message.source) < 0 || network_.memory(message.destination) < 0);
  }
  bool read(const Message& message) const {
    if (!by_place(message)) return false;
    if (network_.memory(message.source) >= 0) return true;
    if (network_.memory(message.destination) >= 0) return false;
    return mechanism_->name == "read";
  }
  std::int64_t issuer(const Message& message) const {
    return read(message) ? message.destination : message.source;
  }

  std::vector<std::size_t> turns(std::int64_t end) const;
  void issue(std::int64_t end);
  void cut(std::size_t message, std::int64_t bytes, std::int64_t cycle);
  std::vector<Visit> visits(const Message& message, std::int64_t from, std::int64_t to) const;
  std::optional<Visit> memory_visit(std::int64_t end, bool reads, std::int64_t bytes) const;
  bool start_one(std::int64_t cycle, std::size_t& left);
  bool queue_one(std::int64_t cycle);
  std::int64_t serve(Served& station, const Visit& visit) const;

  const Machine& machine_;
  const NaiveNetwork network_;
  const std::span<const Message> messages_;
  const IssueOrder order_;
  const std::optional<std::int64_t> packet_bytes_;
  std::optional<Mechanism> mechanism_;
  std::vector<Travelling> packets_;
  std::map<std::string, Served> stations_;
  NaivePackets answer_;
};

/// The messages that an endpoint issues, in turn.
std::vector<std::size_t> Stepper::turns(std::int64_t end) const {
  std::vector<std::size_t> list;
  const std::int64_t count = network_.endpoints();
  for (std::int64_t step = 1; step < count; ++step) {
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const Message& message = messages_[m];
      if (message.source == message.destination || issuer(message) != end) continue;
      const std::int64_t other = end == message.source ? message.destination : message.source;
      if (other == (end + step) % count) list.push_back(m);
    }
  }
  if (order_ == IssueOrder::kNext || list.empty()) return list;
  const auto size = static_cast<std::int64_t>(list.size());
  std::int64_t best = 1;
  for (std::int64_t s = 1; s * 1000 <= size * 618; ++s) {
    if (std::gcd(s, size) == 1) best = s;
  }
  std::vector<std::size_t> spread;
  for (std::int64_t k = 0, at = 0; k < size; ++k, at = (at + best) % size) {
    spread.push_back(list[static_cast<std::size_t>(at)]);
  }
  return spread;
}

void Stepper::issue(std::int64_t end) {
  const std::vector<std::size_t> list = turns(end);
  std::int64_t cycle = mechanism_ ? whole(mechanism_->overhead_cycles) : 0;
  std::vector<std::int64_t> left_bytes(messages_.size());
  std::vector<std::int64_t> left_pieces(messages_.size());
  for (const std::size_t m : list) {
    left_bytes[m] = messages_[m].bytes;
    left_pieces[m] = messages_[m].transactions;
  }
  for (bool more = true; more;) {
    more = false;
    for (const std::size_t m : list) {
      if (left_pieces[m] == 0) continue;
      if (left_pieces[m] == messages_[m].transactions) {
        answer_.messages[m].first_issue = static_cast<double>(cycle);
      }
      const std::int64_t bytes = (left_bytes[m] + left_pieces[m] - 1) / left_pieces[m];
      left_bytes[m] -= bytes;
      --left_pieces[m];
      more = true;
      cut(m, bytes, cycle);
      if (!by_place(messages_[m])) continue;
      const std::int64_t moving =
          mechanism_->bytes_per_cycle ? bytes * std::llround(1 / *mechanism_->bytes_per_cycle) : 0;
      cycle += std::max(whole(mechanism_->issue_cycles), moving);
    }
  }
}

/// Cuts a transaction into packets.
void Stepper::cut(std::size_t m, std::int64_t bytes, std::int64_t cycle) {
  const Message& message = messages_[m];
  std::int64_t back = 0;
  for (const NaiveNetwork::Hop& hop : network_.walk(message.source, message.destination).back) {
    back += std::llround(network_.hop_cycles(hop));
  }
  for (std::int64_t from = 0; from < bytes;) {
    const std::int64_t to = packet_bytes_ ? std::min(bytes, from + *packet_bytes_) : bytes;
    Travelling packet;
    packet.message = m;
    packet.arrives = cycle + (read(message) ? back : 0);
    packet.acknowledge = by_place(message) && !read(message) ? back : 0;
    packet.visits = visits(message, from, to);
    packets_.push_back(packet);
    from = to;
  }
}

std::optional<Visit> Stepper::memory_visit(std::int64_t end, bool reads, std::int64_t bytes) const {
  const std::int64_t number = network_.memory(end);
  if (number < 0) return std::nullopt;
  const MemorySpace& memory = machine_.memory[static_cast<std::size_t>(number)];
  std::optional<std::int64_t> speed = per_byte(reads ? memory.read : memory.write);
  const bool mixed = per_byte(memory.mixed).has_value();
  if (!speed) speed = per_byte(memory.mixed);
  if (!speed) return std::nullopt;
  Visit visit;
  visit.station = cat("memory ", end, mixed ? "" : reads ? " read" : " written");
  visit.alone_cycles = bytes * *speed;
  visit.mixed = mixed ? &memory : nullptr;
  visit.reads = reads;
  visit.bytes = bytes;
  return visit;
}

std::vector<Visit> Stepper::visits(const Message& message, std::int64_t from,
                                   std::int64_t to) const {
  std::vector<Visit> list;
  const auto processor = [&] {
    if (!mechanism_->bytes_per_cycle) return;
    Visit visit;
    visit.station = cat("processor ", issuer(message));
    visit.alone_cycles = (to - from) * std::llround(1 / *mechanism_->bytes_per_cycle);
    list.push_back(visit);
  };
  if (const auto visit = memory_visit(message.source, true, to - from)) list.push_back(*visit);
  if (by_place(message) && !read(message)) processor();
  for (const NaiveNetwork::Hop& hop : network_.walk(message.source, message.destination).there) {
    // The headers of this link's own packets that begin inside.
    std::int64_t bytes = to - from;
    std::int64_t begin = 0;
    for (const std::int64_t size : network_.packets(hop, to)) {
      if (begin >= from && begin < to) bytes += network_.header_bytes(hop);
      begin += size;
    }
    Visit visit;
    visit.station = hop.name;
    visit.alone_cycles = bytes * std::llround(network_.cycles_per_byte(hop));
    visit.hop_cycles = std::llround(network_.hop_cycles(hop));
    list.push_back(visit);
  }
  if (read(message)) processor();
  if (const auto visit = memory_visit(message.destination, false, to - from)) {
    list.push_back(*visit);
  }
  return list;
}

/// What a packet takes, when its turn has come.
std::int64_t Stepper::serve(Served& station, const Visit& visit) const {
  if (visit.mixed == nullptr) return visit.alone_cycles;
  (visit.reads ? station.read : station.written) += visit.bytes;
  const std::int64_t both = std::min(station.read, station.written);
  const std::optional<std::int64_t> reads = per_byte(visit.mixed->read);
  const std::optional<std::int64_t> writes = per_byte(visit.mixed->write);
  const bool known = (station.read == both || reads) && (station.written == both || writes);
  if (!known) return 0;  // what it adds cannot be told
  const std::int64_t level = 2 * both * *per_byte(visit.mixed->mixed) +
                             (station.read - both) * reads.value_or(0) +
                             (station.written - both) * writes.value_or(0);
  const std::int64_t added = std::max<std::int64_t>(0, level - station.level);
  station.level = std::max(level, station.level);
  return added;
}

/// Starts a packet at a station that is free; false if there is none.
bool Stepper::start_one(std::int64_t cycle, std::size_t& left) {
  for (auto& [name, station] : stations_) {
    if (station.queue.empty() || station.free > cycle) continue;
    Travelling& packet = packets_[station.queue.front()];
    station.queue.pop_front();
    packet.queued = false;
    const Visit& visit = packet.visits[packet.next++];
    const std::int64_t duration = serve(station, visit);
    station.free = cycle + duration;
    packet.tail = std::max(cycle + duration, packet.tail) + visit.hop_cycles;
    if (packet.next == packet.visits.size()) {
      --left;
      packet.arrives = -1;
      const auto end = static_cast<double>(packet.tail + packet.acknowledge);
      double& completed = answer_.messages[packet.message].completed;
      completed = std::max(completed, end);
      answer_.cycles = std::max(answer_.cycles, end);
    } else {
      const std::int64_t then = packet.visits[packet.next].alone_cycles;
      packet.arrives = std::max(cycle + visit.hop_cycles, packet.tail - then);
    }
    return true;
  }
  return false;
}

/// Queues the first packet that arrives in this cycle; false if there is none.
bool Stepper::queue_one(std::int64_t cycle) {
  for (std::size_t p = 0; p < packets_.size(); ++p) {
    Travelling& packet = packets_[p];
    if (packet.queued || packet.arrives != cycle) continue;
    packet.queued = true;
    stations_[packet.visits[packet.next].station].queue.push_back(p);
    return true;
  }
  return false;
}

Bandwidth whole_bandwidth(Dice& dice) {
  Bandwidth bandwidth;
  if (dice.chance(75)) bandwidth.bytes_per_cycle = dice.chance(50) ? 1 : 0.5;
  return bandwidth;
}

}  // namespace

void make_whole(Dice& dice, Machine& machine) {
  for (target::MeshLevel& level : machine.mesh) {
    for (target::Network& network : level.networks) {
      network.hop_seconds.reset();
      network.bytes_per_second.reset();
      network.hop_cycles = static_cast<double>(dice.between(1, 4));
      network.bits_per_cycle = dice.chance(50) ? 8 : 4;
      if (network.ramp_cycles) network.ramp_cycles = static_cast<double>(dice.between(0, 3));
      if (network.packet_bytes) network.packet_bytes = dice.between(1, 6);
      if (&level == &machine.mesh.back()) network.links = 1;
    }
    for (Mechanism& mechanism : level.mechanisms) {
      if (mechanism.overhead_cycles) mechanism.overhead_cycles = 3;
      if (mechanism.issue_cycles) mechanism.issue_cycles = static_cast<double>(dice.between(1, 6));
      if (mechanism.bytes_per_cycle) mechanism.bytes_per_cycle = dice.chance(50) ? 1 : 0.5;
    }
  }
  for (MemorySpace& memory : machine.memory) {
    memory.read = whole_bandwidth(dice);
    memory.write = whole_bandwidth(dice);
    memory.mixed = Bandwidth{};
    // Slower than either alone, so that nothing takes less than no time.
    if (dice.chance(50)) memory.mixed.bytes_per_cycle = 0.5;
  }
}

NaivePackets naive_packets(const Machine& machine, std::span<const Message> messages,
                           const fabric::Travel& travel, IssueOrder order) {
  return Stepper(machine, messages, travel, order).run();
}

}  // namespace tessera::test
