// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera::notation {

/// One digit of a layout in memory, for notations of a single place.
struct MemoryDigit {
  int line = 0;             ///< number of the line
  std::int64_t width = 1;   ///< points of the line per step
  std::int64_t extent = 1;  ///< values that the data need
  std::int64_t stride = 1;  ///< slots per step
  std::int64_t count = 1;   ///< values that fit before the next slower digit's step
  bool top = true;          ///< it is the widest digit of its line
  friend bool operator==(const MemoryDigit&, const MemoryDigit&) = default;
};

/// The function of a layout on a single place, as lines and their digits.
struct MemoryDigits {
  /// The dims that each line joins row-major, slowest first: nearly always one dim. Dims of extent
  /// 1 are in no line.
  std::vector<std::vector<int>> lines;
  std::vector<MemoryDigit> digits;  ///< by decreasing stride
  std::int64_t slots = 1;           ///< used by the digits: count·stride of the slowest

  /// Slots per step of the fastest digit; all slots when there is no digit.
  std::int64_t step() const { return digits.empty() ? slots : digits.back().stride; }
  /// The number of slowest digits that are whole dims without padding: each is the widest of its
  /// line and has exactly the values that the data need. They are the outer dims of a tiled
  /// notation.
  std::size_t outer() const;
};

/// Law: slot(x) = Σ stride·((p mod outer width) div width), p the point of x on the digit's line;
/// a digit's count times its stride is the stride of the next slower one.
/// Dims share a line if only their join nests. When the slowest stride does not divide the
/// allocation, the digits do not use all slots. kNotSupported, with the obstacle as message and
/// reason ("an offset of 5 slots"), when the layout is on several places, does not begin in slot 0,
/// has lines that are not row-major joins from 0 upward, or has strides that do not nest. The
/// tensor must not be empty. Example: 6x8 in packs of four columns: lines {0}, {1}; digits (line 1,
/// width 4, extent 2, stride 24), (line 0, width 1, extent 6, stride 4), (line 1, width 1, extent
/// 4, stride 1).
Result<MemoryDigits> memory_digits(const Layout& layout);

/// Splits the first digit after the outer ones, if it is padded, into whole pieces of the largest
/// possible power of two: 53 in 56 is 7 pieces of 8. Changes nothing when no power of two is
/// possible.
/// Law: the same function, with the same counts.
void split_padded_digit(MemoryDigits& memory);

/// The digits of each dim by decreasing width, for separable layouts on a single place with any
/// strides. Dims of extent 1 have none, and `count` is the extent. kNotSupported as above.
Result<std::vector<std::vector<MemoryDigit>>> digits_by_dim(const Layout& layout);

}  // namespace tessera::notation
