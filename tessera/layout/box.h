// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/shape.h"

namespace tessera {

/// Half-open box of logical indices, one range per dim.
struct Box {
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
  /// The box of all indices of a shape.
  static Box whole(const Shape& shape);
  std::int64_t elements() const;
  bool contains(const Index& index) const;
  friend bool operator==(const Box&, const Box&) = default;
};

/// The intersection of two boxes of equal rank; empty optional if they do not intersect.
std::optional<Box> meet(const Box& a, const Box& b);

/// Converts an index to one relative to a box's corner (`minus`), and back (`plus`).
Index minus(Index index, const Index& corner);
Index plus(Index index, const Index& corner);

}  // namespace tessera
