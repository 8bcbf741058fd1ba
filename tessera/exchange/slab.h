// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/atom.h"
#include "tessera/relayout/program.h"
#include "tessera/reshard/flows.h"

namespace tessera {

// =================================================================================================
// Parcels, packed
//
// A parcel is a product of axes. An *axis* is a list of pieces, each a nest of loops with a slot in
// A and one in B; the elements of the parcel are all choices of one step an axis, and their slots
// are sums. Packed, they stand in the order of the axes, the last one fastest:
//
//     packed position = Σ step(axis) · (steps of all later axes)
//
// Axes stand by how far they reach in B, so that what is packed together is near together where it
// is going: unpacking writes B as it runs, and the packing does what turning there is. What all
// segments of a factor have in common (the 32 elements of a tile's row) is an axis of its own. Runs
// that repeat with a period stand one by one in the order of B, so that what is cut off an axis is
// a stretch of it.
//
// A *slab* is a box of a parcel: one step of some slow axes, a range of the next one, and all of
// the others. It is packed by itself, into memory that stays in the caches.
//
// Example: 8 rows of 6 that go from a row-major shard of 12 columns to one of 6: axes 8 (12 → 6)
// and 6 (1 → 1). Slabs of at most 20 elements are 3, 3 and 2 rows.
// =================================================================================================

/// Part of an axis: `steps` steps, the last loop fastest.
struct AxisPiece {
  std::int64_t source = 0;       ///< slot in A of the first step
  std::int64_t destination = 0;  ///< slot in B
  std::vector<BoxLoop> loops;
  std::int64_t steps = 1;
};

/// How far an axis leads on one side, in slots from where it counts.
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
  std::uint64_t print = 0;  ///< of the pieces: the same for the same axis
};
using AxisPtr = std::shared_ptr<const ParcelAxis>;

/// The axes of a parcel, from slow to fast, and what their slots count from.
struct ParcelShape {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::vector<AxisPtr> axes;
  std::int64_t elements = 1;

  /// `element_bytes` is 0 where elements have no bytes of their own.
  static ParcelShape of(const Flows& flows, std::span<const SegmentGroup* const> groups,
                        std::int64_t element_bytes);
};

/// See above. Its axes are those that are left to step through.
struct Slab {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::vector<AxisPtr> axes;
  std::int64_t elements = 1;
};

/// Calls `visit` with the slabs of a parcel in packed order until it answers an error, none with
/// more than `most` elements. Slabs of elements that have no address of their own (block floats,
/// `grain` of them a tile) have whole tiles.
/// Error kNotSupported when `most` elements hold no step that is a multiple of the grain.
Status for_each_slab(const ParcelShape& parcel, std::int64_t most, std::int64_t grain,
                     const std::function<Status(const Slab&)>& visit);

/// Between what a slab is moved.
enum class SlabMove : std::uint8_t {
  kPack,    ///< A's slots to packed positions
  kUnpack,  ///< packed positions to B's slots
  kDirect,  ///< A's slots to B's
};

/// Where a move of a slab touches the memories on both sides, and what it is besides that: slots
/// count from the first that it touches, so that slabs alike have the same key, and one program.
struct SlabAt {
  std::int64_t from_slot = 0;  ///< where the program's memories begin
  std::int64_t to_slot = 0;
  std::int64_t from_slots = 0;  ///< how long they are
  std::int64_t to_slots = 0;
  Spots base;                     ///< what the axes count from in them
  std::vector<std::int64_t> key;  ///< the same for the same program
};

/// `source` and `destination` are the first slots of the places that the slab is read from and
/// written to, in the memory of their ranks; packed positions begin at 0.
SlabAt slab_at(const Slab& slab, SlabMove move, const Atom& atom, std::int64_t source,
               std::int64_t destination);

/// The program itself.
Program slab_program(const Slab& slab, SlabMove move, const Atom& atom, const SlabAt& at);

/// How many neighbouring slots of this storage begin at a byte together: 1, or 2 for i4; 1024 for
/// block floats.
std::int64_t slot_grain(const Atom& atom);

}  // namespace tessera
