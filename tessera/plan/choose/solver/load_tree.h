// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::choose {

/// How far the load exceeds the room at every moment (negative where there is room left): adding to
/// a range of moments and asking for the largest of a range take logarithmic time.
class LoadTree {
 public:
  explicit LoadTree(std::span<const std::int64_t> room)
      : leaves_(std::bit_ceil(std::max<std::size_t>(1, room.size()))),
        largest_(2 * leaves_, INT64_MIN / 4),
        added_(2 * leaves_) {
    for (std::size_t m = 0; m < room.size(); ++m) largest_[leaves_ + m] = -room[m];
    for (std::size_t at = leaves_; at-- > 1;) {
      largest_[at] = std::max(largest_[2 * at], largest_[2 * at + 1]);
    }
  }

  /// Adds `bytes` at moments [from, to).
  void add(std::uint32_t from, std::uint32_t to, std::int64_t bytes) {
    if (from >= to || bytes == 0) return;
    std::size_t low = from + leaves_;
    std::size_t high = to + leaves_;
    const std::size_t first = low;
    const std::size_t last = high - 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) change(low++, bytes);
      if (high % 2 == 1) change(--high, bytes);
    }
    renew(first);
    renew(last);
  }

  /// The largest excess of all moments; a choice fits if it is at most 0.
  std::int64_t largest() const { return largest_[1]; }

  /// The largest excess of moments [from, to).
  std::int64_t largest(std::uint32_t from, std::uint32_t to) const {
    std::int64_t left = INT64_MIN / 4;
    std::int64_t right = INT64_MIN / 4;
    std::size_t low = from + leaves_;
    std::size_t high = to + leaves_;
    // What is added above a part counts when the walk passes it.
    std::size_t left_at = 0;
    std::size_t right_at = 0;
    for (; low < high; low /= 2, high /= 2) {
      if (left_at != 0) left += added_[left_at];
      if (right_at != 0) right += added_[right_at];
      if (low % 2 == 1) left = std::max(left, largest_[low++]);
      if (high % 2 == 1) right = std::max(right, largest_[--high]);
      left_at = (low - 1) / 2;
      right_at = high / 2;
    }
    for (; left_at > 0; left_at /= 2) left += added_[left_at];
    for (; right_at > 0; right_at /= 2) right += added_[right_at];
    return std::max(left, right);
  }

  /// A moment with the largest excess.
  std::uint32_t fullest() const {
    std::size_t at = 1;
    while (at < leaves_) at = 2 * at + (largest_[2 * at] >= largest_[2 * at + 1] ? 0 : 1);
    return static_cast<std::uint32_t>(at - leaves_);
  }

 private:
  void change(std::size_t at, std::int64_t bytes) {
    largest_[at] += bytes;
    added_[at] += bytes;
  }
  void renew(std::size_t at) {
    for (at /= 2; at > 0; at /= 2) {
      largest_[at] = std::max(largest_[2 * at], largest_[2 * at + 1]) + added_[at];
    }
  }

  std::size_t leaves_;
  std::vector<std::int64_t> largest_;  ///< of the part below, with what was added to all of it
  std::vector<std::int64_t> added_;    ///< to all of the part below
};

}  // namespace tessera::choose
