// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/packets/parcel_shape.h"
#include "tessera/layout/layout.h"
#include "tessera/relayout/program.h"

namespace tessera::exchange {

// =================================================================================================
// Slabs
//
// A *slab* is a box of a parcel: one step of some slow axes, a range of the next one, and all of
// the others. Each slab is packed separately, into memory that stays in the caches.
//
// Example: 8 rows of 6 that go from a row-major shard of 12 columns to one of 6: axes 8 (12 → 6)
// and 6 (1 → 1). Slabs of at most 20 elements are 3, 3 and 2 rows.
// =================================================================================================

/// See above. Its axes are those that remain to step through.
struct Slab {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::vector<AxisPtr> axes;
  std::int64_t elements = 1;
};

/// Calls `visit` with the slabs of a parcel in packed order until it returns an error. No slab has
/// more than `most` elements. If elements have no address of their own (block floats, `grain` of
/// them per tile), slabs consist of whole tiles.
/// Error kNotSupported when `most` elements hold no step that is a multiple of the grain.
Status for_each_slab(const ParcelShape& parcel, std::int64_t most, std::int64_t grain,
                     const std::function<Status(const Slab&)>& visit);

/// The two sides between which a slab is moved.
enum class SlabMove : std::uint8_t {
  kPack,    ///< A's slots to packed positions
  kUnpack,  ///< packed positions to B's slots
  kDirect,  ///< A's slots to B's
};

/// The memory that a move of a slab touches on both sides, and a key for the rest of the move.
/// Slots count from the first one that is touched, so identical slabs have the same key and share
/// one program.
struct SlabAt {
  std::int64_t from_slot = 0;  ///< the start of the program's memories
  std::int64_t to_slot = 0;
  std::int64_t from_slots = 0;  ///< their lengths
  std::int64_t to_slots = 0;
  PositionPair base;              ///< the start of the axes in them
  std::vector<std::int64_t> key;  ///< equal for equal programs
};

/// `source` and `destination` are the first slots of the places that the slab is read from and
/// written to, in the memory of their ranks; packed positions begin at 0.
SlabAt slab_at(const Slab& slab, SlabMove move, const Atom& atom, std::int64_t source,
               std::int64_t destination);

/// The program of the move.
relayout::Program slab_program(const Slab& slab, SlabMove move, const Atom& atom, const SlabAt& at);

/// The number of neighbouring slots of this storage that begin at a byte together: 1, or 2 for i4;
/// 1024 for block floats.
std::int64_t slot_grain(const Atom& atom);

}  // namespace tessera::exchange
