// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/layout/form.h"
#include "tessera/reshard/flows/flow_tables.h"
#include "tessera/reshard/flows/place_map.h"

namespace tessera::reshard {

/// Copies of what is at a coordinate of one physical axis: at coordinate + shift + i·stride, for
/// i < count.
struct Copies {
  std::int32_t count = 1;
  std::int32_t stride = 1;
  std::int32_t shift = 0;
};
using AxisCopies =
    std::array<Copies, 2>;  ///< along the row coordinate, along the column coordinate

/// How the replicas of a form repeat along the physical axes, or nothing when they do not evenly.
/// Example: replicate(m1#3*2) on a 4x8 mesh that is the physical mesh's repeats columns: {3, 2, 0}.
std::optional<AxisCopies> copies_of(const Form& form, const PlaceMap& map, std::int32_t cols);

/// What one physical axis of a flow becomes with copies on either side.
struct Lane {
  std::int32_t source = 0;
  Span1D destinations;
};

/// Each copy of `destination` takes from the nearest copy of `source`, the smaller one of two;
/// destinations of one source stay together. Replaces what `lanes` holds.
/// Example: sources 0 and 4 and destinations 1, 2, 3 make {0, 1 and 2} and {4, 3}.
void lanes_of(std::int32_t source, std::int32_t destination, const Copies& of_a, const Copies& of_b,
              std::vector<Lane>& lanes);

}  // namespace tessera::reshard
