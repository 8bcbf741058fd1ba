// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/fabric/mesh.h"
#include "tessera/layout/placement.h"
#include "tessera/target/machine.h"

namespace tessera::reshard {

/// The physical places that two placements share, and the fabric that connects them.
struct PhysicalMesh {
  Shape mesh;                                ///< the machine's places, numbered row-major
  std::optional<fabric::FabricMesh> fabric;  ///< empty where the routes are not known
  std::string why_no_fabric;                 ///< half a sentence; empty when there is a fabric
  std::vector<std::int64_t> dead;            ///< place numbers in ascending order

  /// The places of a machine. `check` must accept the machine.
  static Result<PhysicalMesh> of(const Machine& machine);
  /// The smallest mesh that holds the meshes of both placements (with a device map: its physical
  /// mesh), connected by links with the default figures of FabricMesh. For use without a machine.
  /// kMeshMismatch when the ranks of the meshes differ and neither mesh is a single place.
  static Result<PhysicalMesh> around(const Placement& a, const Placement& b);
  /// Places are only numbers: place i of A and place i of B are the same place, counted row-major
  /// on each placement's own mesh (with a device map: its physical mesh). For files and ranks,
  /// which are numbers too: devices 0 to 5 on one side match a grid of 2x3 on the other.
  static Result<PhysicalMesh> in_a_row(const Placement& a, const Placement& b);
};

}  // namespace tessera::reshard
