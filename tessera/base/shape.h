// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"

namespace tessera {

/// One number per dim: an index into a tensor, or a place on a mesh.
using Index = std::vector<std::int64_t>;
using Place = std::vector<std::int64_t>;

/// The most dims, mesh axes, or cuts in one fold. No machine or model needs more; hostile texts ask
/// for more.
inline constexpr std::size_t kMaxRank = 64;

/// The extents of a tensor or of a mesh. Extents are never negative, and the number of elements
/// fits an int64; `make` rejects every other shape. Rank 0 has one element.
class Shape {
 public:
  Shape() = default;
  static Result<Shape> make(std::vector<std::int64_t> extents);

  std::size_t rank() const { return extents_.size(); }
  std::int64_t operator[](std::size_t dim) const { return extents_[dim]; }
  const std::vector<std::int64_t>& extents() const { return extents_; }
  std::int64_t elements() const { return elements_; }
  bool empty() const { return elements_ == 0; }

  /// The row-major stride of each dim: [2, 3, 4] has {12, 4, 1}.
  std::vector<std::int64_t> row_major_strides() const;
  /// The row-major position of `index`, which must lie inside the shape.
  std::int64_t linear(const Index& index) const;
  /// The index at row-major position `linear`. Law: linear(delinear(k)) = k.
  Index delinear(std::int64_t linear) const;
  bool contains(const Index& index) const;
  /// Moves `index` to its row-major successor; false after the last one.
  bool next(Index& index) const;

  /// "53x63"; rank 0 is "".
  std::string to_string() const;

  friend bool operator==(const Shape& a, const Shape& b) { return a.extents_ == b.extents_; }

 private:
  std::vector<std::int64_t> extents_;
  std::int64_t elements_ = 1;
};

}  // namespace tessera
