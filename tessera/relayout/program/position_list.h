// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"

namespace tessera::relayout {

/// The maximum number of elements, and of slots on all places together.
inline constexpr std::int64_t kMostListed = std::int64_t{1} << 28;

/// The positions of every element of a placement, listed by evaluating its definition one element
/// at a time. Positions are counted over all places: place · slots + slot. It uses no algebra, so
/// that code that works from this list shares nothing with make_program.
///
/// Law: element e (row-major) is at first[e] + d for each d in copies(e), and nowhere else.
/// Example: [2, 3] row-major on each of 4 places: first = {0, 1, 2, 3, 4, 5} and every element has
/// the copies {0, 6, 12, 18}.
class PositionList {
 public:
  /// `which` names the placement in errors: "source" or "destination".
  /// Errors: kTooLarge beyond kMostListed; kNotSupported when the placement keeps partial sums.
  static Result<PositionList> make(const Placement& placement, std::string_view which);

  std::int64_t elements() const { return static_cast<std::int64_t>(first_.size()); }
  std::int64_t first(std::int64_t element) const {
    return first_[static_cast<std::size_t>(element)];
  }
  /// The distances from the first position of an element to each of its positions: 0, and more for
  /// replicas; increasing, each once.
  const std::vector<std::int64_t>& copies(std::int64_t element) const {
    return copies_[box_.empty() ? 0 : box_[static_cast<std::size_t>(element)]];
  }
  /// Whether the element is stored at this position.
  bool holds(std::int64_t element, std::int64_t position) const;

 private:
  std::vector<std::int32_t> first_;
  std::vector<std::uint16_t> box_;  // which box each element is in; empty when there is one
  std::vector<std::vector<std::int64_t>> copies_;  // of each box
};

}  // namespace tessera::relayout
