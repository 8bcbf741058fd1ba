// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/shape.h"

#include <algorithm>
#include <cassert>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera {

Result<Shape> Shape::make(std::vector<std::int64_t> extents) {
  if (extents.size() > kMaxRank) {
    return Error{ErrorCode::kRankTooLarge,
                 cat("rank ", extents.size(), " is more than the ", kMaxRank, " dims supported"),
                 std::nullopt, "collapse dims that are always used together"};
  }
  Checked elements = 1;
  bool empty = false;
  for (std::size_t dim = 0; dim < extents.size(); ++dim) {
    if (extents[dim] < 0) {
      return Error{ErrorCode::kBadShape,
                   cat("dim ", dim, " has the negative extent ", extents[dim]), std::nullopt,
                   "extents are 0 or more"};
    }
    empty = empty || extents[dim] == 0;
    if (extents[dim] > 0) elements *= extents[dim];
  }
  Shape shape;
  // Strides of an empty tensor are still products of its other extents, so those must fit too.
  TESSERA_TRY(const std::int64_t count,
              elements.value(cat("the number of elements of ", join(extents, "x"))));
  shape.elements_ = empty ? 0 : count;
  shape.extents_ = std::move(extents);
  return shape;
}

std::vector<std::int64_t> Shape::row_major_strides() const {
  std::vector<std::int64_t> strides(rank(), 1);
  for (std::size_t dim = rank(); dim-- > 1;) {
    strides[dim - 1] = strides[dim] * std::max<std::int64_t>(extents_[dim], 1);
  }
  return strides;
}

std::int64_t Shape::linear(const Index& index) const {
  assert(contains(index));
  std::int64_t rank_of_index = 0;
  for (std::size_t dim = 0; dim < rank(); ++dim) {
    rank_of_index = rank_of_index * extents_[dim] + index[dim];
  }
  return rank_of_index;
}

Index Shape::delinear(std::int64_t linear) const {
  assert(linear >= 0 && linear < elements_);
  Index index(rank(), 0);
  for (std::size_t dim = rank(); dim-- > 0;) {
    index[dim] = linear % extents_[dim];
    linear /= extents_[dim];
  }
  return index;
}

bool Shape::contains(const Index& index) const {
  if (index.size() != rank()) return false;
  for (std::size_t dim = 0; dim < rank(); ++dim) {
    if (index[dim] < 0 || index[dim] >= extents_[dim]) return false;
  }
  return true;
}

bool Shape::next(Index& index) const {
  for (std::size_t dim = rank(); dim-- > 0;) {
    if (++index[dim] < extents_[dim]) return true;
    index[dim] = 0;
  }
  return false;
}

std::string Shape::to_string() const { return join(extents_, "x"); }

}  // namespace tessera
