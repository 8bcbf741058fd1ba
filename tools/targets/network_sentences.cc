// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.h"
#include "tessera/target/fit.h"
#include "tools/targets/sentences.h"

namespace tessera::tools {
namespace {

std::string axis_name(const target::MeshLevel& level, std::size_t axis) {
  return level.axes.empty() ? cat("axis ", axis) : level.axes[axis];
}

std::string_view kind_words(target::NetworkKind kind) {
  return kind == target::NetworkKind::kAllToAll ? "all to all" : target::network_name(kind);
}

/// "torus (north, ..), routes take col, then row, one way: up row, up col".
std::string structure_text(const target::MeshLevel& level, const target::Network& network) {
  std::string text(kind_words(network.kind));
  if (!network.ports.empty()) text += cat(" (", join(network.ports, ", "), ")");
  if (!network.route.empty()) {
    std::string order;
    for (const std::int64_t axis : network.route) {
      order +=
          cat(order.empty() ? "" : ", then ", axis_name(level, static_cast<std::size_t>(axis)));
    }
    text += cat(", routes take ", order);
  }
  const bool ring = network.kind == target::NetworkKind::kRing;
  std::string ways;
  for (std::size_t axis = 0; axis < network.ways.size(); ++axis) {
    if (network.ways[axis] == target::Way::kBoth) continue;
    ways += cat(ways.empty() ? "" : ", ", target::way_name(network.ways[axis]), ring ? "" : " ",
                ring ? "" : axis_name(level, axis));
  }
  return ways.empty() ? text : cat(text, ", one way: ", ways);
}

std::string network_text(const Machine& machine, const target::MeshLevel& level,
                         const target::Network& network, const std::string& path) {
  constexpr double kGiga = 1e9;
  constexpr double kMicro = 1e6;
  std::vector<Figure> figures = {{structure_text(level, network), ""}};
  const auto add = [&](std::string_view field, std::string text) {
    figures.push_back({std::move(text), cat(path, "/", field)});
  };
  if (network.hop_cycles) {
    add("hop_cycles", cat(count_of(*network.hop_cycles, "cycle"), " per hop"));
  }
  if (network.hop_seconds) {
    add("hop_seconds", cat(decimal(*network.hop_seconds * kMicro), " us per hop"));
  }
  if (network.bits_per_cycle) {
    add("bits_per_cycle",
        cat(count_of(*network.bits_per_cycle, "bit"), " per cycle in each direction"));
  }
  if (network.bytes_per_second) {
    add("bytes_per_second",
        cat(decimal(*network.bytes_per_second / kGiga), " GB/s per link in each direction"));
  }
  if (network.ramp_cycles) {
    add("ramp_cycles",
        cat(count_of(*network.ramp_cycles, "cycle"), " between processor and router"));
  }
  if (network.links != 1) {
    add("links", cat(network.links, " parallel links between neighbours"));
  }
  if (network.packet_bytes) {
    add("packet_bytes", cat("packets of at most ", target::size_text(*network.packet_bytes)));
  }
  if (figures.size() == 1) figures.push_back({"figures not given", ""});
  return cat(network.name.empty() ? "links" : network.name, ": ", sentence(machine, figures));
}

std::string mechanism_text(const Machine& machine, const target::Mechanism& mechanism,
                           const std::string& path) {
  std::vector<Figure> figures;
  const auto add = [&](std::string_view field, std::string text) {
    figures.push_back({std::move(text), cat(path, "/", field)});
  };
  if (mechanism.overhead_cycles) {
    add("overhead_cycles", cat(count_of(*mechanism.overhead_cycles, "cycle"), " besides the hops"));
  }
  if (mechanism.issue_cycles) {
    add("issue_cycles",
        cat(count_of(*mechanism.issue_cycles, "cycle"), " from one transaction to the next"));
  }
  if (mechanism.bytes_per_cycle) {
    add("bytes_per_cycle", cat(count_of(*mechanism.bytes_per_cycle, "byte"), " per cycle"));
  }
  if (mechanism.receiver_cycles) {
    add("receiver_cycles", cat(count_of(*mechanism.receiver_cycles, "cycle"), " per receiver"));
  }
  if (figures.empty()) figures.push_back({"figures not given", ""});
  const std::string over = mechanism.network.empty() ? "" : cat(" over ", mechanism.network);
  return cat(mechanism.name, over, ": ", sentence(machine, figures));
}

std::string routers_text(const Machine& machine, const target::MeshLevel& level,
                         const std::string& path) {
  std::vector<Figure> figures = {{join(level.routers->extents, "x"), cat(path, "/extents")}};
  for (std::size_t axis = 0; axis < level.extents.size(); ++axis) {
    figures.push_back(
        {cat("places in ", axis_name(level, axis), " ", ranges_text(level.routers->places[axis])),
         cat(path, "/places/", axis)});
  }
  return cat("routers: ", sentence(machine, figures));
}

std::string gateways_text(const Machine& machine, const target::MeshLevel& level,
                          const std::string& path) {
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < level.gateways.size(); ++i) {
    const target::Gateway& gateway = level.gateways[i];
    std::string routers;
    for (const Place& router : gateway.routers) {
      routers += cat(routers.empty() ? "" : " ", bracketed(router));
    }
    figures.push_back(
        {cat(target::way_name(gateway.way), " ",
             axis_name(level, static_cast<std::size_t>(gateway.axis)), " at ", routers),
         cat(path, "/", i)});
  }
  return cat("gateways: ", sentence(machine, figures));
}

}  // namespace

std::vector<std::string> network_sentences(const Machine& machine, std::size_t level_index) {
  const target::MeshLevel& level = machine.mesh[level_index];
  const std::string path = cat("/mesh/", level_index);
  std::vector<std::string> out;
  if (level.routers) out.push_back(routers_text(machine, level, cat(path, "/routers")));
  for (std::size_t i = 0; i < level.networks.size(); ++i) {
    out.push_back(network_text(machine, level, level.networks[i], cat(path, "/networks/", i)));
  }
  for (std::size_t i = 0; i < level.mechanisms.size(); ++i) {
    out.push_back(mechanism_text(machine, level.mechanisms[i], cat(path, "/mechanisms/", i)));
  }
  if (!level.gateways.empty()) {
    out.push_back(gateways_text(machine, level, cat(path, "/gateways")));
  }
  return out;
}

}  // namespace tessera::tools
