// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/mesh.h"

#include "tessera/base/text.h"

namespace tessera::fabric {
namespace {

constexpr std::int64_t kMostNodes = std::int64_t{1} << 26;

Error no_fabric(std::string why) {
  return Error{ErrorCode::kNotSupported, std::move(why), std::nullopt,
               "name a target whose places are a mesh with one-cycle hops, such as wse2"};
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
  if (!level.links)
    return no_fabric(cat(machine.name, " does not specify how its places are connected"));
  const target::Links& links = *level.links;
  if (links.network != target::Network::kMesh) {
    return no_fabric(cat("the places of ", machine.name, " are connected by a ",
                         target::network_name(links.network),
                         ", whose routes its description does not specify"));
  }
  if (!links.hop_cycles || !links.bits_per_cycle || !links.ramp_cycles ||
      !machine.rules.wavelet_bits) {
    return no_fabric(cat(machine.name, " does not specify what its links carry"));
  }
  if (*links.hop_cycles != 1 || *links.bits_per_cycle != *machine.rules.wavelet_bits) {
    return no_fabric(cat("links of ", machine.name, " take ", *links.hop_cycles,
                         " cycles per hop and carry ", *links.bits_per_cycle,
                         " bits per cycle of wavelets of ", *machine.rules.wavelet_bits));
  }
  if (machine.places() > kMostNodes) {
    return no_fabric(cat(machine.name, " has ", machine.places(), " places"));
  }
  FabricMesh fabric;
  const std::vector<std::int64_t>& extents = level.extents;
  if (extents.size() == 2) fabric.rows = static_cast<std::int32_t>(extents[0]);
  if (!extents.empty()) fabric.cols = static_cast<std::int32_t>(extents.back());
  fabric.wavelet_bits = *machine.rules.wavelet_bits;
  fabric.ramp_cycles = *links.ramp_cycles;
  if (machine.rules.colours) {
    fabric.colours =
        *machine.rules.colours - static_cast<std::int64_t>(machine.rules.reserved_colours.size());
  }
  return fabric;
}

}  // namespace tessera::fabric
