// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/base/text.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMostNodes = std::int64_t{1} << 26;

bool is_single(const std::vector<std::int64_t>& mesh) {
  return std::all_of(mesh.begin(), mesh.end(), [](std::int64_t extent) { return extent == 1; });
}

/// The mesh in which a placement's places are counted: the physical one if it has a device map.
void hold(const Placement& placement, std::vector<std::vector<std::int64_t>>& meshes) {
  for (const FormPiece& piece : form_pieces(placement)) {
    const bool mapped =
        piece.device_map != nullptr && piece.device_map->kind() != DeviceMap::Kind::kIdentity;
    const Shape& mesh = mapped ? piece.device_map->physical() : piece.form->mesh;
    meshes.push_back(mesh.extents());
  }
}

}  // namespace

Result<PhysicalMesh> PhysicalMesh::of(const Machine& machine) {
  TESSERA_CHECK_OK(machine.check());
  PhysicalMesh physical;
  physical.mesh = machine.shape();
  physical.dead = machine.dead_places();
  Result<fabric::FabricMesh> fabric = fabric::fabric_of(machine);
  if (fabric) {
    physical.fabric = *fabric;
  } else {
    physical.why_no_fabric = fabric.error().message;
  }
  return physical;
}

Result<PhysicalMesh> PhysicalMesh::around(const Placement& a, const Placement& b) {
  std::vector<std::vector<std::int64_t>> meshes;
  hold(a, meshes);
  hold(b, meshes);
  std::vector<std::int64_t> extents;
  for (const std::vector<std::int64_t>& mesh : meshes) {
    // A single place is the first place of any mesh.
    if (is_single(extents) && (mesh.size() > extents.size() || !is_single(mesh))) {
      extents.assign(mesh.size(), 1);
    }
    if (is_single(mesh)) continue;
    if (mesh.size() != extents.size()) {
      return Error{ErrorCode::kMeshMismatch,
                   cat("the relative position of the places of a mesh ", bracketed(extents),
                       " and of a mesh ", bracketed(mesh), " on one machine is not specified"),
                   std::nullopt,
                   "name the target of both, or write both on meshes of the same rank"};
    }
    for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
      extents[axis] = std::max(extents[axis], mesh[axis]);
    }
  }
  PhysicalMesh physical;
  TESSERA_TRY(physical.mesh, Shape::make(extents));
  if (extents.size() > 2) {
    physical.why_no_fabric = cat("a mesh of ", extents.size(), " axes has no rows and columns");
  } else if (physical.mesh.elements() > kMostNodes) {
    physical.why_no_fabric = cat("a mesh of ", physical.mesh.elements(), " places");
  } else {
    fabric::FabricMesh fabric;
    if (extents.size() == 2) fabric.rows = static_cast<std::int32_t>(extents[0]);
    if (!extents.empty()) fabric.cols = static_cast<std::int32_t>(extents.back());
    physical.fabric = fabric;
  }
  return physical;
}

Result<PhysicalMesh> PhysicalMesh::in_a_row(const Placement& a, const Placement& b) {
  std::vector<std::vector<std::int64_t>> meshes;
  hold(a, meshes);
  hold(b, meshes);
  std::int64_t most = 1;
  for (const std::vector<std::int64_t>& mesh : meshes) {
    TESSERA_TRY(const Shape shape, Shape::make(mesh));
    most = std::max(most, shape.elements());
  }
  PhysicalMesh physical;
  TESSERA_TRY(physical.mesh, Shape::make({most}));
  physical.why_no_fabric = "places are numbered, and their connections are not specified";
  return physical;
}

}  // namespace tessera::reshard
