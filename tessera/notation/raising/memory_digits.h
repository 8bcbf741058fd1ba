// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera::notation {

/// One digit of a layout in memory, as notations of a single place see it.
struct MemoryDigit {
  int line = 0;             ///< which of the lines
  std::int64_t width = 1;   ///< points of the line that one step passes
  std::int64_t extent = 1;  ///< values that the data need
  std::int64_t stride = 1;  ///< slots that one step passes
  std::int64_t count = 1;   ///< values that fit before the next slower digit's step
  bool top = true;          ///< no digit of its line is wider
  friend bool operator==(const MemoryDigit&, const MemoryDigit&) = default;
};

/// The function of a layout on a single place, as lines and their digits.
struct MemoryDigits {
  /// The dims that each line joins row-major, slowest first: nearly always one. Dims of extent 1
  /// are in none.
  std::vector<std::vector<int>> lines;
  std::vector<MemoryDigit> digits;  ///< by falling stride
  std::int64_t slots = 1;           ///< what the digits take: count·stride of the slowest

  /// Slots that one step of the fastest digit passes; all of them when there is no digit.
  std::int64_t step() const { return digits.empty() ? slots : digits.back().stride; }
  /// How many of the slowest digits are whole dims without padding: each the widest of its line,
  /// with exactly the values that the data need. They are the outer dims of a tiled notation.
  std::size_t outer() const;
};

/// Law: slot(x) = Σ stride·((p mod outer width) div width), p the point of x on the digit's line;
/// a digit's count times its stride is the stride of the next slower one.
/// Dims share a line where only together they nest. When the slowest stride does not divide the
/// allocation, the digits take less than all slots.
/// kNotSupported, with what the layout has as the message ("an offset of 5 slots"), when it is
/// spread over a mesh, does not begin in slot 0, has lines that are not row-major joins from 0
/// upward, or strides that do not nest. Not for empty tensors.
/// Example: 6x8 in packs of four columns: lines {0}, {1}; digits (line 1, width 4, extent 2, stride
/// 24), (line 0, width 1, extent 6, stride 4), (line 1, width 1, extent 4, stride 1).
Result<MemoryDigits> memory_digits(const Layout& layout);

/// Padding of the first digit after the outer ones, said as whole pieces of the largest power of
/// two that allows it: 53 in 56 is 7 pieces of 8. Nothing changes when none does.
/// Law: the same function, with the same counts.
void split_padded_digit(MemoryDigits& memory);

/// The digits of each dim by falling width, for separable layouts on a single place whatever their
/// strides; extents of 1 have none, and `count` is the extent. kNotSupported as above.
Result<std::vector<std::vector<MemoryDigit>>> digits_by_dim(const Layout& layout);

}  // namespace tessera::notation
