// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/relayout/program.h"

namespace tessera::relayout {

/// One loop over two arrays: `extent` steps of `src` in the source and `dst` in the destination.
struct Axis {
  std::int64_t extent = 1;
  std::int64_t src = 0;
  std::int64_t dst = 0;
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// A nest over two arrays in which places no longer matter. Units are elements when it is made,
/// bytes (or bits) from `in_bytes` on.
struct FlatNest {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  std::vector<Axis> axes;  ///< from the largest step of the destination to the smallest
  std::int64_t width = 1;  ///< of what one step moves, in the units of the steps

  std::int64_t steps() const;
};

/// The nest with destination steps made positive, loops of one step dropped, loops in order, and
/// loops joined where one continues the other on both sides.
FlatNest simplified(FlatNest nest);

/// The flat form of a program's nest, simplified.
FlatNest flatten(const Nest& nest, const Memory& from, const Memory& to);

/// The same with steps in bytes, and with as many neighbours moved at once (up to 8 bytes) as
/// always move together. `bits` are those of an element; nothing when elements smaller than a byte
/// do not move in whole bytes.
std::optional<FlatNest> in_bytes(const FlatNest& nest, std::int64_t bits);

/// The same for elements that have no address of their own, where `group` neighbours of `bytes`
/// bytes (a tile of block floats) move as one; nothing when they do not.
std::optional<FlatNest> in_tiles(const FlatNest& nest, std::int64_t group, std::int64_t bytes);

/// Cuts axis number `axis` at `extent` whole steps of `inner` each: what is left over becomes a
/// nest of its own. The axis becomes two, outer and inner, in its place.
struct Split {
  FlatNest whole;
  std::optional<FlatNest> rest;
};
Split split_axis(const FlatNest& nest, std::size_t axis, std::int64_t inner);

/// Offsets of the `i`th step of axes that run like digits, the last fastest.
struct Offsets {
  std::int64_t src = 0;
  std::int64_t dst = 0;
};
Offsets offsets_at(const std::vector<Axis>& axes, std::int64_t i);
std::int64_t steps_of(const std::vector<Axis>& axes);

}  // namespace tessera::relayout
