// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/shape.h"
#include "tessera/layout/regions.h"
#include "tessera/memory/mesh/place_sizes.h"

namespace tessera::memory {

/// A set of places that need the same number of bytes.
struct SizedSet {
  PlaceSet set;
  std::int64_t bytes = 0;
};

/// A tensor on disjoint sets of places, as a product of parts of the axes; empty when that takes
/// more than 64 sets, 255 parts of an axis or 2^16 products.
/// Law: it has the fewest parts: two coordinates are in one part ⇔ the sizes are the same on all
/// places that differ only in these coordinates.
std::optional<TensorPlaces> as_product(const Shape& mesh, const std::vector<SizedSet>& sets);

}  // namespace tessera::memory
