// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/reshard/flows/flows.h"

namespace tessera::exchange {

// =================================================================================================
// Parcels, packed
//
// A parcel is a product of axes. An *axis* is a list of pieces, each a nest of loops with a slot in
// A and one in B. The elements of the parcel are all choices of one step per axis, and their slots
// are sums. In a packet, they are stored in the order of the axes, the last one fastest:
//
//     packed position = Σ step(axis) · (steps of all later axes)
//
// Axes are sorted by their reach in B, so that elements that are close in the packet are close in
// B: unpacking writes B sequentially, and packing does any transposition. What all segments of a
// factor have in common (the 32 elements of a tile's row) is a separate axis. Runs that repeat with
// a period are listed one by one in the order of B, so that a part of an axis is a contiguous range
// of it.
// =================================================================================================

/// Part of an axis: `steps` steps, the last loop fastest.
struct AxisPiece {
  std::int64_t source = 0;       ///< slot in A of the first step
  std::int64_t destination = 0;  ///< slot in B
  std::vector<reshard::BoxLoop> loops;
  std::int64_t steps = 1;
};

/// The range of an axis on one side, in slots relative to its start.
struct AxisReach {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// See above. Axes are shared by the slabs that step through all of them.
struct ParcelAxis {
  std::vector<AxisPiece> pieces;
  std::int64_t steps = 0;
  AxisReach source;
  AxisReach destination;
  std::uint64_t print = 0;  ///< hash of the pieces: the same for the same axis
};
using AxisPtr = std::shared_ptr<const ParcelAxis>;

/// The axes of a parcel, from slow to fast, and the slots to which their steps are relative.
struct ParcelShape {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::vector<AxisPtr> axes;
  std::int64_t elements = 1;

  /// `element_bytes` is 0 where elements are not whole bytes.
  static ParcelShape of(const reshard::Flows& flows,
                        std::span<const reshard::SegmentGroup* const> groups,
                        std::int64_t element_bytes);
};

/// The number of steps of the loops with index `from` and later.
std::int64_t steps_of(const std::vector<reshard::BoxLoop>& loops, std::size_t from = 0);

/// Computes the derived fields of an axis from its pieces.
AxisPtr finished(ParcelAxis axis);

}  // namespace tessera::exchange
