// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/exchange_figures.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "tessera/base/text.h"
#include "tessera/moves/endpoints.h"

namespace tessera::moves {

void ExchangeFigures::name_missing(const fabric::Topology& routes) {
  const auto need = [&](std::size_t memory, const target::Bandwidth& bandwidth,
                        std::string_view field) {
    const target::MemorySpace& space = machine_.memory[memory];
    if (bandwidth.known() || (ends_.memory_a == ends_.memory_b && space.mixed.known())) return;
    rates_.lacks(cat("/memory/", memory, "/", field, ": how fast ", space.name, " is"));
  };
  need(ends_.memory_a, machine_.memory[ends_.memory_a].read, "read");
  need(ends_.memory_b, machine_.memory[ends_.memory_b].write, "write");
  for (std::int64_t n = 0; n < routes.networks(); ++n) {
    const std::string& why = routes.why_left_out(n);
    if (why.empty()) continue;
    rates_.lacks(cat("/mesh/", machine_.mesh.size() - 1, "/networks/", n, ": ", why));
  }
}

void ExchangeFigures::name_missing(const fabric::Travel& travel, Way& way) const {
  if (travel.mechanism < 0) return;
  const target::Mechanism& mechanism =
      machine_.mesh.back().mechanisms[static_cast<std::size_t>(travel.mechanism)];
  const auto figure = [&](const std::optional<double>& value, std::string_view field) {
    if (value) return;
    way.missing.push_back(cat("/mesh/", machine_.mesh.size() - 1, "/mechanisms/", travel.mechanism,
                              "/", field, ": of ", mechanism.name));
  };
  figure(mechanism.overhead_cycles, "overhead_cycles");
  figure(mechanism.issue_cycles, "issue_cycles");
  figure(mechanism.bytes_per_cycle, "bytes_per_cycle");
}

void ExchangeFigures::use_memories() {
  const auto use = [&](std::size_t memory, const target::Bandwidth& bandwidth,
                       std::string_view field) {
    if (bandwidth.known()) rates_.uses(cat("/memory/", memory, "/", field));
  };
  use(ends_.memory_a, machine_.memory[ends_.memory_a].read, "read");
  use(ends_.memory_b, machine_.memory[ends_.memory_b].write, "write");
  for (const std::size_t memory : {ends_.memory_a, ends_.memory_b}) {
    if (!is_of_places(machine_, memory)) rates_.uses(cat("/memory/", memory, "/at"));
  }
}

void ExchangeFigures::use_links_between_devices(const fabric::Topology& routes,
                                                std::span<const fabric::Message> messages) {
  const std::int64_t devices = machine_.devices();
  if (devices == 1) return;
  const std::int64_t each = machine_.places() / devices;
  const auto device_of = [&](std::int32_t number) -> std::int64_t {
    const fabric::Endpoint end = routes.endpoint(number);
    if (end.kind == fabric::Endpoint::Kind::kPlace) return number / each;
    if (end.kind == fabric::Endpoint::Kind::kShared) return 0;
    return end.number / *machine_.memory[static_cast<std::size_t>(end.memory)].banks;
  };
  const bool crosses =
      std::any_of(messages.begin(), messages.end(), [&](const fabric::Message& message) {
        return device_of(message.source) != device_of(message.destination);
      });
  if (!crosses) return;
  for (std::size_t level = 0; level + 1 < machine_.mesh.size(); ++level) {
    rates_.uses(cat("/mesh/", level, "/gateways"));
    for (const char* figure :
         {"/hop_seconds", "/hop_cycles", "/bytes_per_second", "/bits_per_cycle", "/links"}) {
      rates_.uses(cat("/mesh/", level, "/networks/0", figure));
    }
  }
}

void ExchangeFigures::use_network(std::size_t network) {
  const std::string path = cat("/mesh/", machine_.mesh.size() - 1, "/networks/", network);
  for (const char* figure : {"/hop_cycles", "/bits_per_cycle", "/ramp_cycles"}) {
    rates_.uses(path + figure);
  }
}

void ExchangeFigures::use_travel(const fabric::Travel& travel) {
  use_network(static_cast<std::size_t>(travel.network));
  if (travel.mechanism < 0) return;
  rates_.uses(cat("/mesh/", machine_.mesh.size() - 1, "/mechanisms/", travel.mechanism));
}

std::string ExchangeFigures::unreached() const {
  for (const std::size_t memory : {ends_.memory_a, ends_.memory_b}) {
    const target::MemorySpace& space = machine_.memory[memory];
    if (space.owner == target::MemorySpace::Owner::kPlace || !space.at.empty()) continue;
    return cat("/memory/", memory, "/at: the routers at which ", space.name, " is reached");
  }
  return "/memory: the routers at which a memory is reached";
}

}  // namespace tessera::moves
