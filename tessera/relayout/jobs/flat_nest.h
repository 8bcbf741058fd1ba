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

/// A nest over two flat arrays, without places. Units are elements when it is made, and bytes (or
/// bits) after `in_bytes`.
struct FlatNest {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  std::vector<Axis> axes;  ///< from the largest step of the destination to the smallest
  std::int64_t width = 1;  ///< of what one step moves, in the unit of the steps

  std::int64_t steps() const;
};

/// The nest with positive destination steps, without loops of one step, with loops in order, and
/// with loops joined if one continues the other on both sides.
FlatNest simplified(FlatNest nest);

/// The flat form of a program's nest, simplified.
FlatNest flatten(const Nest& nest, const Memory& from, const Memory& to);

/// The same with steps in bytes. Adjacent elements that always move together are moved at once
/// (up to 8 bytes). `bits` is the size of an element; nullopt when elements smaller than a byte do
/// not move in whole bytes.
std::optional<FlatNest> in_bytes(const FlatNest& nest, std::int64_t bits);

/// The same for elements that have no address of their own: groups of `group` adjacent elements
/// with `bytes` bytes (a tile of block floats) move as one; nullopt when they do not.
std::optional<FlatNest> in_tiles(const FlatNest& nest, std::int64_t group, std::int64_t bytes);

/// Cuts axis number `axis` into whole steps of `inner` each; the remainder becomes a separate nest.
/// The axis is replaced by two axes, outer and inner.
struct Split {
  FlatNest whole;
  std::optional<FlatNest> rest;
};
Split split_axis(const FlatNest& nest, std::size_t axis, std::int64_t inner);

/// Offsets of step `i` of a nest of axes, the last axis fastest.
struct Offsets {
  std::int64_t src = 0;
  std::int64_t dst = 0;
};
Offsets offsets_at(const std::vector<Axis>& axes, std::int64_t i);
std::int64_t steps_of(const std::vector<Axis>& axes);

}  // namespace tessera::relayout
