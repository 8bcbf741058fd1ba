// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera {

/// One digit of a layout in memory, as notations of a single place see it.
struct MemoryDigit {
  int line = 0;             ///< which of the lines
  std::int64_t width = 1;   ///< points of the line that one step passes
  std::int64_t extent = 1;  ///< values that the data need
  std::int64_t stride = 1;  ///< slots that one step passes
  std::int64_t count = 1;   ///< values that fit before the next slower digit's step
  friend bool operator==(const MemoryDigit&, const MemoryDigit&) = default;
};

/// The function of a layout on a single place, as lines and their digits.
struct MemoryDigits {
  /// The dims that each line joins row-major, slowest first: nearly always one. Dims of extent 1
  /// are in none.
  std::vector<std::vector<int>> lines;
  std::vector<MemoryDigit> digits;  ///< by falling stride
};

/// Law: slot(x) = slot of index 0 + Σ stride·((p mod outer width) div width), p the point of x on
/// the digit's line.
/// kNotSupported when the layout is spread over a mesh, or its lines are not row-major joins from 0
/// upward, or its strides do not nest.
/// Example: 6x8 in packs of four columns: lines {0}, {1}; digits (line 1, width 4, extent 2, stride
/// 24), (line 0, width 1, extent 6, stride 4), (line 1, width 1, extent 4, stride 1).
Result<MemoryDigits> memory_digits(const Layout& layout);

/// The digits of each dim by falling width, for separable layouts on a single place whatever their
/// strides; extents of 1 have none, and `count` is the extent. kNotSupported as above.
Result<std::vector<std::vector<MemoryDigit>>> digits_by_dim(const Layout& layout);

}  // namespace tessera
