// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/relayout/program.h"

namespace tessera::tools {

/// One step of a loop: how it changes the position, on the mesh and in memory.
struct PlacedStep {
  Place place;  ///< what one step adds to each coordinate
  std::int64_t slot = 0;
  friend bool operator==(const PlacedStep&, const PlacedStep&) = default;
};

/// One side of a nest whose places are coordinates: the position with counters i is `place + Σ
/// i·step.place`, slot `slot + Σ i·step.slot`.
struct PlacedSide {
  Place place;
  std::int64_t slot = 0;
  std::vector<PlacedStep> steps;  ///< one per loop
};

/// A copy nest, or (without a source) a fill nest, as plain loops.
struct PlacedNest {
  std::vector<std::int64_t> extents;  ///< none of them 1
  PlacedSide from;
  PlacedSide to;
};

/// The nests of a program in mesh coordinates.
///
/// A program numbers places row-major, so one loop may run past the end of a mesh row into the
/// next: 8 steps of 1 on a mesh of 2x4. No constant step in coordinates does that, so such a loop
/// is split where it wraps: 2 steps of [1, 0], each of 4 steps of [0, 1]. A loop that cannot be
/// split evenly becomes several nests.
///
/// Law: running the nests as plain loops over coordinates visits the same pairs of positions as the
/// program, each equally often.
struct PlacedProgram {
  std::vector<PlacedNest> copies;
  std::vector<PlacedNest> fills;  ///< `from` is empty
};

/// The most nests that are listed.
inline constexpr std::int64_t kMostNests = 1 << 16;

/// kTooLarge when there would be more than kMostNests of either kind.
Result<PlacedProgram> place_program(const relayout::Program& program);

}  // namespace tessera::tools
