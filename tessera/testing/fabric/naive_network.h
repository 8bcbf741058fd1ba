// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/fabric/topology.h"
#include "tessera/target/machine.h"

/// The rules of fabric/topology.h, implemented literally: a graph of routers, and routes that are
/// walked step by step. It shares nothing with Topology but its inputs and the types of its
/// answers.
namespace tessera::test {

class NaiveNetwork {
 public:
  NaiveNetwork(const Machine& machine, std::int64_t network);

  /// A router: the coordinates of all levels, those of the innermost being a router's.
  using Node = std::vector<std::int64_t>;

  /// One link of a route.
  struct Hop {
    std::string name;    ///< as Topology::link_name
    std::int64_t level;  ///< of the mesh; of the innermost and of ports, the last
    bool port = false;
    friend bool operator==(const Hop&, const Hop&) = default;
  };
  struct Walk {
    std::vector<Hop> there;  ///< ports included
    std::vector<Hop> back;   ///< between the same routers
  };

  std::int64_t endpoints() const { return static_cast<std::int64_t>(ends_.size()); }
  const std::string& name(std::int64_t endpoint) const {
    return ends_[static_cast<std::size_t>(endpoint)].name;
  }
  /// The index in Machine::memory, or -1 for a place.
  std::int64_t memory(std::int64_t endpoint) const {
    return ends_[static_cast<std::size_t>(endpoint)].memory;
  }
  /// Nothing if both are the same.
  Walk walk(std::int64_t from, std::int64_t to) const;

  /// Figures of a hop, from the description.
  double hop_cycles(const Hop& hop) const;
  double cycles_per_byte(const Hop& hop) const;
  /// The sizes of the packets of a transaction on such links, without headers.
  std::vector<std::int64_t> packets(const Hop& hop, std::int64_t bytes) const;
  std::int64_t header_bytes(const Hop& hop) const;
  /// The bytes of a message on a link, headers included.
  std::int64_t wire_bytes(const Hop& hop, const fabric::Message& message) const;

 private:
  struct End {
    std::string name;
    std::int64_t memory = -1;
    /// Routers; without the coordinates of a device, it is that of the other endpoint.
    std::vector<Node> at;
  };
  const target::Network& network_of(const Hop& hop) const;
  std::string port_name(const End& end, const Node& router) const;
  std::size_t first_axis(std::size_t level) const;
  std::vector<std::int64_t> routers(std::size_t level) const;
  void add_ends();
  void add_edges(std::size_t level, const target::Network& network);
  std::string end_name(std::size_t memory, const Node& device, std::int64_t bank) const;
  Node gateway(std::size_t level, std::int64_t axis, target::Way way, std::int64_t link) const;
  /// The numbers of the two endpoints, which decide between parallel links.
  using Ends = std::pair<std::int64_t, std::int64_t>;
  std::vector<Hop> route(Node from, const Node& to, const Ends& pair) const;
  std::vector<Hop> step_between(std::size_t level, Node& from, const Node& to,
                                const Ends& pair) const;
  Hop step_inside(Node& from, const Node& to) const;

  const Machine& machine_;
  const target::Network& inner_;
  std::vector<End> ends_;
  /// For each level, the coordinates of a router there and those of a neighbour.
  std::vector<std::set<std::pair<Node, Node>>> edges_;
};

/// The bytes over every link that carries something, by name; ports included.
std::map<std::string, std::int64_t> naive_link_bytes(const Machine& machine,
                                                     std::span<const fabric::Message> messages,
                                                     std::int64_t network);

/// The cost by the formula of topology.h.
struct NaiveCost {
  fabric::NetworkCost cost;  ///< `dominated_by` and `busiest` are not set
  /// What may be named as dominating: several where sums are the same but for rounding.
  std::set<std::pair<fabric::Term, std::string>> dominating;
};
NaiveCost naive_network_cost(const Machine& machine, std::span<const fabric::Message> messages,
                             const fabric::Travel& travel);

}  // namespace tessera::test
