// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/box.h"

#include <algorithm>

namespace tessera {

Box Box::whole(const Shape& shape) { return {Index(shape.rank(), 0), shape.extents()}; }

std::int64_t Box::elements() const {
  std::int64_t product = 1;
  for (std::size_t dim = 0; dim < from.size(); ++dim) {
    product *= std::max<std::int64_t>(0, to[dim] - from[dim]);
  }
  return product;
}

bool Box::contains(const Index& index) const {
  for (std::size_t dim = 0; dim < from.size(); ++dim) {
    if (index[dim] < from[dim] || index[dim] >= to[dim]) return false;
  }
  return true;
}

std::optional<Box> meet(const Box& a, const Box& b) {
  Box both = a;
  for (std::size_t dim = 0; dim < a.from.size(); ++dim) {
    both.from[dim] = std::max(a.from[dim], b.from[dim]);
    both.to[dim] = std::min(a.to[dim], b.to[dim]);
    if (both.from[dim] >= both.to[dim]) return std::nullopt;
  }
  return both;
}

Index minus(Index index, const Index& corner) {
  for (std::size_t dim = 0; dim < index.size(); ++dim) index[dim] -= corner[dim];
  return index;
}

Index plus(Index index, const Index& corner) {
  for (std::size_t dim = 0; dim < index.size(); ++dim) index[dim] += corner[dim];
  return index;
}

}  // namespace tessera
