// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/packets/parcel_shape.h"
#include "tessera/layout/atom.h"
#include "tessera/relayout/program.h"

namespace tessera::exchange {

// =================================================================================================
// Slabs
//
// A *slab* is a box of a parcel: one step of some slow axes, a range of the next one, and all of
// the others. It is packed by itself, into memory that stays in the caches.
//
// Example: 8 rows of 6 that go from a row-major shard of 12 columns to one of 6: axes 8 (12 → 6)
// and 6 (1 → 1). Slabs of at most 20 elements are 3, 3 and 2 rows.
// =================================================================================================

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
relayout::Program slab_program(const Slab& slab, SlabMove move, const Atom& atom, const SlabAt& at);

/// How many neighbouring slots of this storage begin at a byte together: 1, or 2 for i4; 1024 for
/// block floats.
std::int64_t slot_grain(const Atom& atom);

}  // namespace tessera::exchange
