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

/// The physical places that two placements share, and what joins them.
struct PhysicalMesh {
  Shape mesh;                                ///< the machine's places, numbered row-major
  std::optional<fabric::FabricMesh> fabric;  ///< nothing where routes are not known
  std::string why_no_fabric;                 ///< half a sentence; empty when there is one
  std::vector<std::int64_t> dead;            ///< rising place numbers

  /// The places of a machine, which `check` must accept.
  static Result<PhysicalMesh> of(const Machine& machine);
  /// The smallest mesh that holds the meshes of both (of device maps: the physical one), joined by
  /// links with the figures of FabricMesh: for questions without a machine. kMeshMismatch when
  /// their ranks differ and neither is a single place.
  static Result<PhysicalMesh> around(const Placement& a, const Placement& b);
  /// Places are only numbers: place i of either, row-major on its own (of device maps: the
  /// physical) mesh, is the same one. For files and ranks, which have numbers too; devices 0 to 5
  /// on one side and a grid of 2x3 on the other need no more.
  static Result<PhysicalMesh> in_a_row(const Placement& a, const Placement& b);
};

}  // namespace tessera::reshard
