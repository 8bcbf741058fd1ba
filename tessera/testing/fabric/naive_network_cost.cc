// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tessera/testing/fabric/naive_network.h"

namespace tessera::test {
namespace {

using fabric::Message;
using fabric::NetworkCost;
using fabric::Term;
using target::Bandwidth;
using target::Mechanism;
using target::MemorySpace;

/// Everything that can be busy: its work, and the latencies and transactions of what it carries.
struct Carrier {
  double work = 0;
  std::vector<double> latencies;
  double transactions = 0;
};

/// The latency of what passes last, if each transaction takes so many cycles.
double latency_of_last(const std::vector<double>& latencies, double each) {
  const double longest = *std::max_element(latencies.begin(), latencies.end());
  const double spread = longest - *std::min_element(latencies.begin(), latencies.end());
  return std::max(longest - spread / 2, longest - std::sqrt(2 * spread * each));
}

double rate(const Machine& machine, const Bandwidth& bandwidth) {
  if (bandwidth.bytes_per_cycle) return *bandwidth.bytes_per_cycle;
  if (!bandwidth.bytes_per_second) return 0;
  return *bandwidth.bytes_per_second / static_cast<double>(*machine.clock_hz);
}

/// Equal parts of reads and writes at the mixed bandwidth, the rest at its own; without a mixed
/// one, each on its own. 0 if a figure is missing.
double memory_work(const Machine& machine, const MemorySpace& memory, double read, double written) {
  const double mixed = rate(machine, memory.mixed);
  const double both = mixed > 0 ? std::min(read, written) : 0;
  const double reads = rate(machine, memory.read);
  const double writes = rate(machine, memory.write);
  if ((read > both && reads == 0) || (written > both && writes == 0)) return 0;
  const double r = read > both ? (read - both) / reads : 0;
  const double w = written > both ? (written - both) / writes : 0;
  return mixed > 0 ? r + w + 2 * both / mixed : std::max(r, w);
}

/// The costs of one set of messages, term by term.
class Count {
 public:
  Count(const Machine& machine, const fabric::Travel& travel)
      : machine_(machine), network_(machine, travel.network) {
    if (travel.mechanism >= 0) {
      mechanism_ = machine.mesh.back().mechanisms[static_cast<std::size_t>(travel.mechanism)];
    }
  }

  void add(const Message& message);
  NaiveCost finish();

 private:
  std::int64_t issuer(const Message& message) const {
    const bool from_memory = network_.memory(message.source) >= 0;
    const bool to_memory = network_.memory(message.destination) >= 0;
    if (from_memory && to_memory) return -1;
    if (from_memory) return message.destination;
    if (to_memory) return message.source;
    return mechanism_ && mechanism_->name == "read" ? message.destination : message.source;
  }
  void consider(Term term, double latency, double work, const std::string& name);

  const Machine& machine_;
  NaiveNetwork network_;
  std::optional<Mechanism> mechanism_;
  NetworkCost cost_;
  std::map<std::string, Carrier> links_;
  std::map<std::string, std::int64_t> link_bytes_;
  /// By the name of the port and the number of the endpoint.
  std::map<std::pair<std::string, std::int64_t>, Carrier> out_, in_;
  std::map<std::int64_t, std::int64_t> sent_, received_, issued_, issued_bytes_;
  std::int64_t wire_ = 0;
  std::vector<double> latencies_;
  double port_ = 0;  ///< cycles per byte
  struct Candidate {
    Term term = Term::kLatency;
    double latency = 0;
    double work = 0;
    std::string name;
  };
  std::vector<Candidate> candidates_;
};

void Count::add(const Message& message) {
  if (message.source == message.destination) return;
  const NaiveNetwork::Walk walk = network_.walk(message.source, message.destination);
  double latency = 0;
  for (const NaiveNetwork::Hop& hop : walk.there) latency += network_.hop_cycles(hop);
  for (const NaiveNetwork::Hop& hop : walk.back) {
    if (mechanism_) latency += network_.hop_cycles(hop);
  }
  for (const NaiveNetwork::Hop& hop : walk.there) {
    const std::int64_t bytes = network_.wire_bytes(hop, message);
    const double work = static_cast<double>(bytes) * network_.cycles_per_byte(hop);
    if (hop.port) {
      const bool out = &hop == &walk.there.front();
      Carrier& port = out ? out_[{hop.name, message.source}] : in_[{hop.name, message.destination}];
      port.work += work;
      if (out) wire_ += bytes;
      port_ = network_.cycles_per_byte(hop);
      continue;
    }
    Carrier& link = links_[hop.name];
    link.work += work;
    const bool outer = hop.level + 1 < static_cast<std::int64_t>(machine_.mesh.size());
    if (outer) {
      link.latencies.push_back(latency);
      link.transactions += static_cast<double>(message.transactions);
    }
    link_bytes_[hop.name] += bytes;
  }
  const auto distance = static_cast<std::int64_t>(walk.there.size()) - 2;
  cost_.bytes += message.bytes;
  cost_.messages += 1;
  cost_.transactions += message.transactions;
  cost_.hops += message.bytes * distance;
  cost_.longest_distance = std::max(cost_.longest_distance, distance);
  sent_[message.source] += message.bytes;
  received_[message.destination] += message.bytes;
  if (const std::int64_t by = issuer(message); by >= 0) {
    issued_[by] += message.transactions;
    issued_bytes_[by] += message.bytes;
  }
  latencies_.push_back(latency);
}

void Count::consider(Term term, double latency, double work, const std::string& name) {
  candidates_.push_back({term, latency, work, name});
}

NaiveCost Count::finish() {
  NaiveCost answer;
  if (cost_.messages == 0) return answer;
  const auto count = static_cast<double>(cost_.messages);
  double alone = static_cast<double>(wire_) / count * port_;
  const double issue = mechanism_ ? mechanism_->issue_cycles.value_or(0) : 0;
  const double speed = mechanism_ ? mechanism_->bytes_per_cycle.value_or(0) : 0;
  alone = std::max(alone, (static_cast<double>(cost_.transactions) / count - 1) * issue);
  if (speed > 0) alone = std::max(alone, static_cast<double>(cost_.bytes) / count / speed);
  consider(Term::kLatency, *std::max_element(latencies_.begin(), latencies_.end()), alone, "");
  // Of an average transaction.
  const auto pieces = static_cast<double>(cost_.transactions);
  const double bytes = static_cast<double>(cost_.bytes) / pieces;
  const double in_port = latency_of_last(latencies_, static_cast<double>(wire_) / pieces * port_);
  for (const auto& [name, link] : links_) {
    const bool outer = !link.latencies.empty();
    consider(Term::kLink,
             outer ? latency_of_last(link.latencies, link.work / link.transactions) : in_port,
             link.work, name);
  }
  for (const auto& [name, load] : link_bytes_) {
    cost_.max_link_bytes = std::max(cost_.max_link_bytes, load);
  }
  for (const auto& [at, port] : out_) {
    consider(Term::kSend, in_port, port.work, network_.name(at.second));
  }
  for (const auto& [at, port] : in_) {
    consider(Term::kReceive, in_port, port.work, network_.name(at.second));
  }
  for (const auto& [end, n] : issued_) {
    cost_.max_issued = std::max(cost_.max_issued, n);
    if (!mechanism_) continue;
    const double each = std::max(issue, speed > 0 ? bytes / speed : 0);
    const double by_bytes = speed > 0 ? static_cast<double>(issued_bytes_[end]) / speed : 0;
    consider(Term::kIssue, latency_of_last(latencies_, each),
             std::max(static_cast<double>(n - 1) * issue, by_bytes), network_.name(end));
  }
  for (std::int64_t end = 0; end < network_.endpoints(); ++end) {
    cost_.max_send_bytes = std::max(cost_.max_send_bytes, sent_[end]);
    cost_.max_receive_bytes = std::max(cost_.max_receive_bytes, received_[end]);
    const std::int64_t memory = network_.memory(end);
    if (memory < 0) continue;
    const auto read = static_cast<double>(sent_[end]);
    const auto written = static_cast<double>(received_[end]);
    const double work =
        memory_work(machine_, machine_.memory[static_cast<std::size_t>(memory)], read, written);
    if (work == 0) continue;
    const double each = work / (read + written) * bytes;
    consider(Term::kMemory, latency_of_last(latencies_, each), work, network_.name(end));
  }
  const double overhead = mechanism_ ? mechanism_->overhead_cycles.value_or(0) : 0;
  constexpr double kRounding = 1e-9;
  double most = 0;
  for (const Candidate& part : candidates_) most = std::max(most, part.latency + part.work);
  cost_.cycles = overhead + most;
  answer.cost = cost_;
  for (const Candidate& part : candidates_) {
    if (part.latency + part.work < most * (1 - kRounding)) continue;
    const double rest = overhead + part.latency;
    if (part.term == Term::kLatency || part.work < rest * (1 + kRounding)) {
      answer.dominating.insert({Term::kLatency, ""});
    }
    if (part.term != Term::kLatency && part.work > rest * (1 - kRounding)) {
      answer.dominating.insert({part.term, part.name});
    }
  }
  return answer;
}

}  // namespace

std::map<std::string, std::int64_t> naive_link_bytes(const Machine& machine,
                                                     std::span<const Message> messages,
                                                     std::int64_t network) {
  const NaiveNetwork naive(machine, network);
  std::map<std::string, std::int64_t> bytes;
  for (const Message& message : messages) {
    for (const NaiveNetwork::Hop& hop : naive.walk(message.source, message.destination).there) {
      bytes[hop.name] += naive.wire_bytes(hop, message);
    }
  }
  return bytes;
}

NaiveCost naive_network_cost(const Machine& machine, std::span<const Message> messages,
                             const fabric::Travel& travel) {
  Count count(machine, travel);
  for (const Message& message : messages) count.add(message);
  return count.finish();
}

}  // namespace tessera::test
