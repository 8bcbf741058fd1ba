// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/mesh.h"

#include <cmath>

#include "tessera/base/text.h"
#include "tessera/target/number_text.h"

namespace tessera::fabric {
namespace {

constexpr double kMostRampCycles = 1e9;
constexpr std::int64_t kMostNodes = std::int64_t{1} << 26;

Error no_fabric(std::string why) {
  return Error{ErrorCode::kNotSupported, std::move(why), std::nullopt,
               "name a target whose places are a mesh with one-cycle hops, such as wse2"};
}

/// Why the fabric cannot have this network; empty if it can.
std::string network_problem(const Machine& machine, const target::Network& network) {
  const std::string_view kind = target::network_name(network.kind);
  if (network.kind != target::NetworkKind::kMesh) {
    const bool unknown = network.kind == target::NetworkKind::kNoc;
    return cat("the places of ", machine.name, " are connected by a ", kind,
               unknown ? ", whose routes its description does not specify" : ", not by a mesh");
  }
  if (!network.hop_cycles || !network.bits_per_cycle || !network.ramp_cycles ||
      !machine.rules.wavelet_bits) {
    return cat(machine.name, " does not specify what its links carry");
  }
  if (*network.hop_cycles != 1 ||
      *network.bits_per_cycle != static_cast<double>(*machine.rules.wavelet_bits)) {
    return cat("links of ", machine.name, " take ", target::number_text(*network.hop_cycles),
               " cycles per hop and carry ", target::number_text(*network.bits_per_cycle),
               " bits per cycle of wavelets of ", *machine.rules.wavelet_bits);
  }
  if (*network.ramp_cycles != std::floor(*network.ramp_cycles) ||
      *network.ramp_cycles > kMostRampCycles) {
    return cat("ramps of ", machine.name, " take ", target::number_text(*network.ramp_cycles),
               " cycles");
  }
  if (network.links != 1) {
    return cat("neighbours of ", machine.name, " have ", network.links, " parallel links");
  }
  if (!network.route.empty() &&
      network.route.front() + 1 != static_cast<std::int64_t>(network.route.size())) {
    return cat("routes of ", machine.name, " take axis ", network.route.front(), " first");
  }
  return "";
}

}  // namespace

Result<FabricMesh> fabric_of(const Machine& machine) {
  if (machine.mesh.size() != 1) {
    return no_fabric(cat(machine.name, " has ", machine.mesh.size(), " mesh levels"));
  }
  const target::MeshLevel& level = machine.mesh.front();
  if (level.extents.size() > 2) {
    return no_fabric(cat("the mesh of ", machine.name, " has ", level.extents.size(), " axes"));
  }
  if (level.networks.empty()) {
    return no_fabric(cat(machine.name, " does not specify how its places are connected"));
  }
  if (level.networks.size() != 1) {
    return no_fabric(cat("wavelets take one network, and ", machine.name, " has ",
                         level.networks.size(), " networks"));
  }
  if (level.routers) {
    return no_fabric(cat(machine.name, " has ", join(level.routers->extents, "x"), " routers for ",
                         join(level.extents, "x"), " places"));
  }
  if (!level.mechanisms.empty()) {
    return no_fabric(cat("processors of ", machine.name, " move data by ",
                         level.mechanisms.front().name, ", not word by word"));
  }
  const target::Network& network = level.networks.front();
  if (std::string problem = network_problem(machine, network); !problem.empty()) {
    return no_fabric(std::move(problem));
  }
  if (machine.places() > kMostNodes) {
    return no_fabric(cat(machine.name, " has ", machine.places(), " places"));
  }
  FabricMesh fabric;
  const std::vector<std::int64_t>& extents = level.extents;
  if (extents.size() == 2) fabric.rows = static_cast<std::int32_t>(extents[0]);
  if (!extents.empty()) fabric.cols = static_cast<std::int32_t>(extents.back());
  fabric.wavelet_bits = *machine.rules.wavelet_bits;
  fabric.ramp_cycles = static_cast<std::int64_t>(*network.ramp_cycles);
  if (machine.rules.colours) {
    fabric.static_routes = true;
    fabric.colours =
        *machine.rules.colours - static_cast<std::int64_t>(machine.rules.reserved_colours.size());
  }
  return fabric;
}

}  // namespace tessera::fabric
