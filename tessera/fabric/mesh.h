// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/target/machine.h"

/// fabric/: links, routers and routes. A rectangle of routers and the messages that cross it come
/// in; wavelets delivered, cycles and the load of every link go out. It knows nothing of tensors.
///
/// Routes are XY: a wavelet first runs along its source's row to the destination's column, then
/// along that column to the destination. A multicast is a tree of such routes: one copy along the
/// row, one copy down each column where there is a destination.
namespace tessera::fabric {

/// One wavelet a cycle passes each directed link; a hop takes a cycle; a ramp (between a processor
/// and its router) passes one wavelet a cycle each way and takes `ramp_cycles`.
struct FabricMesh {
  std::int32_t rows = 1;
  std::int32_t cols = 1;
  std::int64_t wavelet_bits = 32;
  std::int64_t ramp_cycles = 2;  ///< T_R
  std::int64_t colours = 21;     ///< static routes that one router can tell apart

  /// Routers are numbered row-major.
  std::int32_t node(std::int32_t row, std::int32_t col) const { return row * cols + col; }
  std::int32_t nodes() const { return rows * cols; }
  friend bool operator==(const FabricMesh&, const FabricMesh&) = default;
};

/// The way out of a router. Rows count southwards, columns eastwards.
enum class Port : std::uint8_t { kEast, kWest, kSouth, kNorth, kRamp };

/// The fabric of a machine, or kNotSupported with the reason: more than one mesh level, more than
/// two axes, a network whose routes are not XY, hops or wavelets that do not take one cycle.
/// A figure that the description leaves out is that of FabricMesh above only for `colours`.
Result<FabricMesh> fabric_of(const Machine& machine);

}  // namespace tessera::fabric
