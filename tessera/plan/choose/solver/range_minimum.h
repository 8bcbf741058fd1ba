// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace tessera::choose {

/// The least of any range of a fixed list, in constant time after O(n log n) preparation.
/// Example: RangeMinimum({5, 3, 4})(0, 2) is 3.
class RangeMinimum {
 public:
  explicit RangeMinimum(std::vector<std::int64_t> values) : levels_{std::move(values)} {
    const std::size_t count = levels_[0].size();
    for (std::size_t width = 2; width <= count; width *= 2) {
      const std::vector<std::int64_t>& half = levels_.back();
      std::vector<std::int64_t> level(count - width + 1);
      for (std::size_t k = 0; k < level.size(); ++k) {
        level[k] = std::min(half[k], half[k + width / 2]);
      }
      levels_.push_back(std::move(level));
    }
  }

  /// The least of [from, to), which must not be empty.
  std::int64_t operator()(std::size_t from, std::size_t to) const {
    const auto level = static_cast<std::size_t>(std::bit_width(to - from) - 1);
    return std::min(levels_[level][from], levels_[level][to - (std::size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<std::int64_t>> levels_;  ///< [j][k]: the least of [k, k + 2^j)
};

}  // namespace tessera::choose
