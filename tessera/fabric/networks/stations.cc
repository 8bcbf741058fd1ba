// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/networks/stations.h"

#include <optional>

#include "tessera/fabric/networks/message_sums.h"
#include "tessera/fabric/networks/travel.h"

namespace tessera::fabric {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// Makes each station when the first message needs it.
class StationMaker {
 public:
  StationMaker(const Topology& topology, const Machine& machine, const Travel& travel,
               MessageWays& ways)
      : topology_(topology),
        machine_(machine),
        mechanism_(mechanism_of(machine, travel)),
        ways_(ways),
        of_link_(static_cast<std::size_t>(topology.links()), kNone),
        of_processor_(topology.parts().places.size(), kNone),
        of_memory_(topology.parts().memories.size() * 2, kNone) {}

  void pass_link(std::int32_t number) {
    std::uint32_t& station = of_link_[static_cast<std::size_t>(number)];
    if (station == kNone) {
      const LinkFacts& facts = topology_.link(number);
      Station made;
      made.cycles_per_byte = facts.cycles_per_byte;
      made.hop_cycles = facts.hop_cycles;
      made.packet_bytes = facts.packet_bytes;
      made.header_bytes = facts.header_bytes;
      made.link = number;
      station = add(made);
    }
    ways_.route.push_back(station);
  }

  void pass_processor(std::int64_t place) {
    if (mechanism_ == nullptr || !mechanism_->bytes_per_cycle) return;
    std::uint32_t& station = of_processor_[static_cast<std::size_t>(place)];
    if (station == kNone) {
      Station made;
      made.cycles_per_byte = 1 / *mechanism_->bytes_per_cycle;
      station = add(made);
    }
    ways_.route.push_back(station);
  }

  /// Nothing if the endpoint is a place, or its bandwidth is not known.
  void pass_memory(std::int64_t endpoint, bool reads) {
    const Topology::Parts& parts = topology_.parts();
    if (parts.is_place(endpoint)) return;
    const std::size_t number = static_cast<std::size_t>(endpoint) - parts.places.size();
    std::uint32_t& station = of_memory_[number * 2 + (reads ? 0 : 1)];
    if (station == kNone) {
      const target::MemorySpace& space =
          machine_.memory[static_cast<std::size_t>(parts.memories[number].memory)];
      const std::optional<double> alone =
          machine_.memory_cycles(space, reads ? 1 : 0, reads ? 0 : 1);
      const std::optional<double> mixed = machine_.per_cycle(space.mixed);
      if (!alone && !mixed) return;
      Station made;
      made.cycles_per_byte = alone ? *alone : 1 / *mixed;
      made.reads = reads;
      if (mixed) {
        const std::uint32_t other = of_memory_[number * 2 + (reads ? 1 : 0)];
        made.memory = other != kNone ? ways_.stations[other].memory
                                     : static_cast<std::int32_t>(ways_.memories.size());
        if (other == kNone) ways_.memories.push_back({&space, 0, 0, 0, 0});
      }
      station = add(made);
    }
    ways_.route.push_back(station);
  }

 private:
  std::uint32_t add(const Station& station) {
    ways_.stations.push_back(station);
    return static_cast<std::uint32_t>(ways_.stations.size() - 1);
  }

  const Topology& topology_;
  const Machine& machine_;
  const target::Mechanism* const mechanism_;
  MessageWays& ways_;
  std::vector<std::uint32_t> of_link_;
  std::vector<std::uint32_t> of_processor_;
  std::vector<std::uint32_t> of_memory_;  ///< read, written
};

}  // namespace

MessageWays::MessageWays(const Topology& topology, const Machine& machine,
                         std::span<const Message> all, const Travel& travel) {
  StationMaker maker(topology, machine, travel, *this);
  const target::Mechanism* const mechanism = mechanism_of(machine, travel);
  std::vector<std::int32_t> links;
  for (const Message& message : all) {
    MessageWay way;
    way.first = route.size();
    way.issuer = message.source;
    if (message.source != message.destination) {
      const std::optional<std::int64_t> issuer =
          mechanism == nullptr ? std::nullopt
                               : issuer_of(topology.parts(), message, is_read(mechanism));
      if (issuer) way.issuer = *issuer;
      way.by_processor = issuer.has_value();
      const bool read = issuer && *issuer == message.destination;
      const bool write = issuer && !read;
      maker.pass_memory(message.source, true);
      if (write) maker.pass_processor(*issuer);
      links.clear();
      topology.route(travel.network, message.source, message.destination, links);
      for (const std::int32_t link : links) maker.pass_link(link);
      if (read) maker.pass_processor(*issuer);
      maker.pass_memory(message.destination, false);
      const double back =
          topology.return_cycles(travel.network, message.source, message.destination);
      if (read) way.request_cycles = back;
      if (write) way.acknowledge_cycles = back;
    }
    way.count = route.size() - way.first;
    messages.push_back(way);
  }
}

}  // namespace tessera::fabric
