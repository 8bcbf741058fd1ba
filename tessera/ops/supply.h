// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/work_map.h"

namespace tessera::ops {

/// What a place lacks along a dim that a window slides over: up to the first and the last element
/// that it reads (where windows have more than 1024 taps: that they span), the most on any place.
/// Example: 112 output rows of a 3x3 convolution with stride 2 over 8 places, 14 each, need 29
/// input rows of which 28 are there: {1, 0}.
struct Halo {
  std::int64_t before = 0;
  std::int64_t after = 0;
  friend bool operator==(const Halo&, const Halo&) = default;
};

/// Whether a layout has on each place what the place reads.
struct Supply {
  bool complete = false;    ///< nothing is missing but the halos
  std::vector<Halo> halos;  ///< one per dim
  /// For each dim with a halo, how many coordinates of its mesh axis read, from 0 on: more than
  /// have blocks if places behind the last one read as well.
  std::vector<std::int64_t> readers;
  std::string reason;  ///< if it is not complete: what is missing where
  /// An element that is read on a place that does not have it, if one was found.
  std::optional<Index> element;
  std::optional<Place> place;

  bool has_halos() const;
};

/// Compares a layout of an operand, a form with the mesh of the work map, with what the work reads.
/// Law: complete without halos ⇔ for every iteration f, every place of W(f) holds the element
/// access(f), if that lies inside the operand. Under a window, where both the dim and the positions
/// are divided into contiguous blocks along one mesh axis, the halos are what the blocks lack. For
/// other divisions under a window there are no halos: every place has all that it reads (windows of
/// up to 1024 taps are looked at), or the answer is not complete.
/// Errors: kMeshMismatch, and those of checked arithmetic.
Result<Supply> supplies(const Loops& loops, const Access& access, const Form& operand,
                        const WorkMap& work);

/// For each factor, the range in which the access lies inside `shape` for all values of the others;
/// empty where no iteration reads. Dims that several factors touch bound none.
std::vector<Range> reading_ranges(const Loops& loops, const Access& access, const Shape& shape);

/// A dim over which a window slides: position·stride + what the other factors add.
struct WindowDim {
  int position = 0;         ///< the factor that passes
  std::int64_t stride = 1;  ///< its coefficient
  std::int64_t first = 0;   ///< the smallest and largest of start + Σ over the other factors
  std::int64_t last = 0;
};
/// Empty for a dim of this extent whose index has one factor, or several as digits: two that pass,
/// or one that passes below digits that stay whole.
std::optional<WindowDim> window_dim(const Loops& loops, const DimAccess& dim, std::int64_t extent);

}  // namespace tessera::ops
