// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/mesh.h"

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

Error unknown(const Machine& machine, std::string_view why, std::string_view help) {
  return Error{ErrorCode::kNotSupported,
               cat("the routes of ", machine.name, " are not known: ", why), std::nullopt,
               std::string(help)};
}

}  // namespace

Result<FabricMesh> fabric_of(const Machine& machine) {
  if (machine.mesh.size() != 1) {
    return unknown(machine, cat("it has ", machine.mesh.size(), " mesh levels, expected 1"),
                   "describe one level as a machine of its own");
  }
  const MeshLevel& level = machine.mesh.front();
  if (level.extents.empty() || level.extents.size() > 2) {
    return unknown(machine, cat("its mesh has ", level.extents.size(), " axes, expected 1 or 2"),
                   "XY routes run along rows and columns");
  }
  if (!level.links) {
    return unknown(machine, "its description has no links", "add \"links\" to the mesh level");
  }
  const Links& links = *level.links;
  if (links.network != Network::kMesh) {
    return unknown(machine,
                   cat("its network is '", network_name(links.network), "', expected 'mesh'"),
                   "XY routes are those of a mesh");
  }
  const auto need = [&](const std::optional<std::int64_t>& figure,
                        std::string_view field) -> Result<std::int64_t> {
    if (figure) return *figure;
    return unknown(machine, cat("its description has no ", field), cat("add \"", field, "\""));
  };
  TESSERA_TRY(const std::int64_t hop, need(links.hop_cycles, "hop_cycles"));
  TESSERA_TRY(const std::int64_t bits, need(links.bits_per_cycle, "bits_per_cycle"));
  TESSERA_TRY(const std::int64_t ramp, need(links.ramp_cycles, "ramp_cycles"));
  TESSERA_TRY(const std::int64_t wavelet, need(machine.rules.wavelet_bits, "wavelet_bits"));
  if (hop != 1) {
    return unknown(machine, cat("a hop takes ", hop, " cycles, expected 1"),
                   "count cycles of the links, so that a hop takes one");
  }
  if (bits != wavelet) {
    return unknown(machine,
                   cat("a link passes ", bits, " bits a cycle, and a wavelet has ", wavelet),
                   "a wavelet must pass a link in one cycle: bits_per_cycle = wavelet_bits");
  }
  const bool is_row = level.extents.size() == 1;
  const std::int64_t rows = is_row ? 1 : level.extents[0];
  const std::int64_t cols = level.extents.back();
  if ((Checked(rows) * cols).saturated() > INT32_MAX) {
    return Error{ErrorCode::kTooLarge,
                 cat("a mesh of ", rows, "x", cols, " has more than ", INT32_MAX, " routers"),
                 std::nullopt, "describe a smaller mesh"};
  }
  FabricMesh mesh;
  mesh.rows = static_cast<std::int32_t>(rows);
  mesh.cols = static_cast<std::int32_t>(cols);
  mesh.wavelet_bits = wavelet;
  mesh.ramp_cycles = ramp;
  if (machine.rules.colours) {
    mesh.colours =
        *machine.rules.colours - static_cast<std::int64_t>(machine.rules.reserved_colours.size());
  }
  return mesh;
}

}  // namespace tessera
