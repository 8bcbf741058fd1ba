// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/shape.h"

namespace tessera {

/// Half-open box of logical indices, one range a dim.
struct Box {
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
  /// All of a shape.
  static Box whole(const Shape& shape);
  std::int64_t elements() const;
  bool contains(const Index& index) const;
  friend bool operator==(const Box&, const Box&) = default;
};

/// What two boxes of one rank share; nothing when that is empty.
std::optional<Box> meet(const Box& a, const Box& b);

/// An index counted from a box's corner, and back.
Index minus(Index index, const Index& corner);
Index plus(Index index, const Index& corner);

}  // namespace tessera
