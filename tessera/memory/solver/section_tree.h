// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tessera/base/array.h"

namespace tessera::memory {

/// The highest byte in use over each section, raised and queried by ranges of sections. Both take
/// O(log sections).
class SectionTree {
 public:
  [[nodiscard]] bool reset(std::int32_t sections) {
    width_ = std::bit_ceil(static_cast<std::size_t>(std::max(sections, 1)));
    return highest_.assign(2 * width_, 0) && everywhere_.assign(2 * width_, 0);
  }
  /// Afterwards no section of [from, to) is below `height`.
  void raise(std::int32_t from, std::int32_t to, std::int64_t height) {
    raise(1, 0, width_, static_cast<std::size_t>(from), static_cast<std::size_t>(to), height);
  }
  /// The highest of [from, to).
  std::int64_t highest(std::int32_t from, std::int32_t to) const {
    return highest(1, 0, width_, static_cast<std::size_t>(from), static_cast<std::size_t>(to));
  }

 private:
  void raise(std::size_t node, std::size_t low, std::size_t high, std::size_t from, std::size_t to,
             std::int64_t height) {
    if (from >= high || to <= low) return;
    highest_[node] = std::max(highest_[node], height);
    if (from <= low && high <= to) {
      everywhere_[node] = std::max(everywhere_[node], height);
      return;
    }
    const std::size_t middle = (low + high) / 2;
    raise(2 * node, low, middle, from, to, height);
    raise(2 * node + 1, middle, high, from, to, height);
  }
  std::int64_t highest(std::size_t node, std::size_t low, std::size_t high, std::size_t from,
                       std::size_t to) const {
    if (from >= high || to <= low) return 0;
    if (from <= low && high <= to) return highest_[node];
    const std::size_t middle = (low + high) / 2;
    return std::max({everywhere_[node], highest(2 * node, low, middle, from, to),
                     highest(2 * node + 1, middle, high, from, to)});
  }

  std::size_t width_ = 1;
  Array<std::int64_t> highest_;     // of a node's sections
  Array<std::int64_t> everywhere_;  // height to which all sections of a node were raised
};

}  // namespace tessera::memory
