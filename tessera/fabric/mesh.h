// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/target/machine.h"

/// fabric/: links, routers and routes. Input is a rectangle of routers and the messages that cross
/// it; output is the delivered wavelets, the cycles and the load of every link. It does not use
/// tensors.
///
/// Routes are XY: a wavelet first moves along its source's row to the destination's column, then
/// along that column to the destination. A multicast is a tree of such routes: one copy along the
/// row, one copy down each column where there is a destination.
namespace tessera::fabric {

/// Each directed link carries one wavelet per cycle; a hop takes one cycle. A ramp (between a
/// processor and its router) carries one wavelet per cycle in each direction and takes
/// `ramp_cycles`.
struct FabricMesh {
  std::int32_t rows = 1;
  std::int32_t cols = 1;
  std::int64_t wavelet_bits = 32;
  std::int64_t ramp_cycles = 2;  ///< T_R
  std::int64_t colours = 21;     ///< static routes that one router can distinguish
  /// Routers know only colours, as on a wafer; otherwise wavelets may carry their destination.
  bool static_routes = false;

  /// Routers are numbered row-major.
  std::int32_t node(std::int32_t row, std::int32_t col) const { return row * cols + col; }
  std::int32_t nodes() const { return rows * cols; }
  friend bool operator==(const FabricMesh&, const FabricMesh&) = default;
};

/// The way out of a router. Row numbers grow to the south, column numbers to the east.
enum class Port : std::uint8_t { kEast, kWest, kSouth, kNorth, kRamp };

/// The fabric of a machine, or kNotSupported with the reason: more than one mesh level, more than
/// two axes, other than one network, routers without a place, data that are moved by mechanisms, a
/// network whose routes are not XY, hops or wavelets that do not take one cycle. Routes are static
/// if the machine has a rule about colours.
Result<FabricMesh> fabric_of(const Machine& machine);

}  // namespace tessera::fabric
