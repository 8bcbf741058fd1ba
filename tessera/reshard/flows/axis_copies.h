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

/// The copies of an element at a coordinate of one physical axis: at coordinate + shift + i·stride,
/// for i < count.
struct Copies {
  std::int32_t count = 1;
  std::int32_t stride = 1;
  std::int32_t shift = 0;
};
using AxisCopies =
    std::array<Copies, 2>;  ///< along the row coordinate, along the column coordinate

/// How the replicas of a form, or its shares, repeat along the physical axes; empty when they do
/// not repeat evenly. Example: replicate(m1#3*2) on a 4x8 mesh that is the physical mesh's repeats
/// columns: {3, 2, 0}.
std::optional<AxisCopies> copies_of(const Form& form, const PlaceMap& map, std::int32_t cols,
                                    Fill::Kind kind = Fill::Kind::kReplicate);

/// One physical axis of a flow when there are copies on either side.
struct Lane {
  std::int32_t source = 0;
  Span1D destinations;
};

/// Each copy of `destination` reads from the nearest copy of `source`; on a tie, the smaller one.
/// Destinations of one source stay together. Replaces the contents of `lanes`.
/// Example: sources 0 and 4 and destinations 1, 2, 3 make {0, 1 and 2} and {4, 3}.
void lanes_of(std::int32_t source, std::int32_t destination, const Copies& of_a, const Copies& of_b,
              std::vector<Lane>& lanes);

}  // namespace tessera::reshard
