// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/relayout/jobs/flat_nest.h"

namespace tessera::relayout {

/// Loops that together step through one contiguous array, fastest first: the rows of a transpose
/// are contiguous in the destination, its columns in the source. Their positions on the other side
/// are a table of offsets, so that the same kernels can move two loops or six.
struct Chain {
  std::vector<Axis> axes;
  std::int64_t steps = 1;

  void add(const Axis& axis) {
    axes.push_back(axis);
    steps *= axis.extent;
  }

  /// The offsets of steps [first, first + n) by the given member of Axis. Every computed number is
  /// the offset of some step, so nothing overflows 64 bits.
  void table(std::int64_t first, std::int64_t n, std::int64_t Axis::* side,
             std::int64_t* out) const {
    std::vector<std::int64_t> digit(axes.size());
    std::int64_t offset = 0;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      digit[a] = first % axes[a].extent;
      first /= axes[a].extent;
      offset += digit[a] * (axes[a].*side);
    }
    for (std::int64_t k = 0; k < n;) {
      // To the end of the fastest loop, then one step of the others.
      const std::int64_t step = axes[0].*side;
      const std::int64_t run = std::min(n - k, axes[0].extent - digit[0]);
      for (std::int64_t i = 0; i < run; ++i) out[k + i] = offset + i * step;
      k += run;
      if (k == n) return;
      digit[0] += run - 1;
      offset += (run - 1) * step;
      std::size_t a = 0;
      for (; digit[a] + 1 == axes[a].extent; ++a) {
        offset -= digit[a] * (axes[a].*side);
        digit[a] = 0;
      }
      offset += axes[a].*side;
      ++digit[a];
    }
  }
};

/// A nest whose fastest loop differs between source and destination.
struct Transpose {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  int width = 1;            ///< bytes of an element
  Chain rows;               ///< contiguous in the destination
  Chain columns;            ///< contiguous in the source
  std::vector<Axis> outer;  ///< the other loops, largest step of the destination first

  /// Each column directly follows the previous one in the destination, is short enough for a block
  /// to hold whole columns, and does not fill whole cache lines.
  bool joined() const {
    const std::int64_t bytes = rows.steps * width;
    if (rows.steps > 512 || columns.axes[0].dst != bytes) return false;
    return bytes < 512 || bytes % 64 != 0;
  }
};

}  // namespace tessera::relayout
