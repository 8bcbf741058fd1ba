// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/notation/pyflame/pyflame.h"

namespace tessera::notation {

/// How one dim is distributed over the PEs of an axis: blocks of `block` elements go to one PE
/// after another, in as many rounds as needed.
///
///     element x is on PE (x div block) mod pes, where it is number
///     ((x div block) div pes)·block + x mod block
///
/// Ceil-division is one round of blocks of ceil(extent / pes); a local dim is one block on one PE.
/// Example: 10 elements in blocks of 3 on 2 PEs: 0 1 2 6 7 8 and 3 4 5 9.
struct PyflameDeal {
  int axis = -1;            ///< 0 PE rows, 1 PE columns, -1 local, or PyflameLayout::kBothAxes
  std::int64_t extent = 0;  ///< elements of the dim
  std::int64_t pes = 1;
  std::int64_t cols = 1;   ///< over both axes: PE i is in row i div cols
  std::int64_t block = 1;  ///< at most the extent, at least 1
  std::int64_t tile = 0;   ///< elements that every PE allocates: all rounds, whole blocks

  /// kOverflow when the tile does not fit in 64 bits. Blocks larger than the dim are reduced to it.
  static Result<PyflameDeal> make(int axis, std::int64_t extent, std::int64_t pes,
                                  std::int64_t block);
  static PyflameDeal local(std::int64_t extent);
  /// Over all PEs of a grid, row by row.
  static Result<PyflameDeal> over_both(std::int64_t extent, std::int64_t rows, std::int64_t cols);

  bool uses(int pe_axis) const;

  std::int64_t blocks() const;
  std::int64_t rounds() const;
  std::int64_t pe_of(std::int64_t x) const;
  std::int64_t local_of(std::int64_t x) const;
  /// The number n of elements that PE `pe` of the axis holds; their local numbers are 0 .. n-1.
  std::int64_t held_by(std::int64_t pe) const;

  /// The dim as a fold whose tile elements are `slot_stride` slots apart.
  Result<Fold> fold(int dim, std::int64_t slot_stride) const;
};

/// How each dim of the tensor is distributed. Errors: those of `lower`.
Result<std::vector<PyflameDeal>> deals(const PyflameLayout& words, const Shape& shape);

}  // namespace tessera::notation
