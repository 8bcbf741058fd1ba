// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera::notation {

/// A row-major memory under construction: dims from slowest to fastest, each a digit of a line.
///
/// Tiled notations start with one physical dim per line and split: a dim of n steps of width w, cut
/// by t, is ceil(n / t) steps of w·t and t steps of w. The notation decides the order of the dims
/// in memory; the strides follow from the final order.
struct TiledDim {
  int line = -1;           ///< line of `lower_physical`; -1: only index 0 holds data
  std::int64_t width = 1;  ///< elements of the line per step
  std::int64_t count = 1;  ///< steps allocated
  Cause cause = Cause::kAlignment;
  /// Which part this dim is at each split: 0 outer, 1 inner. A line's digits are cut in this order,
  /// not by width: a tile in a smaller tile has the larger width.
  std::vector<int> splits;
  friend bool operator==(const TiledDim&, const TiledDim&) = default;
};

/// Both parts of a dim cut by `by` (at least 1). A part with only one value has no line. kOverflow
/// when the width of the outer part does not fit in 64 bits.
struct SplitDim {
  TiledDim outer;
  TiledDim inner;
};
Result<SplitDim> split_dim(const TiledDim& dim, std::int64_t by, Cause cause);

/// The layout of a single place whose memory is row-major over `dims`, where line i joins the terms
/// of lines[i]. Dims without a line are padding.
Result<Layout> lower_physical(const Shape& shape, DType dtype,
                              const std::vector<std::vector<Term>>& lines,
                              const std::vector<TiledDim>& dims);

}  // namespace tessera::notation
