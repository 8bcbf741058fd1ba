// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/flows/flow_tables.h"

namespace tessera::reshard {

/// The first physical places of elements in A and in B, in the order of Coordinate.
using Point = std::array<std::int32_t, kCoordinates>;

/// A number of elements that share a point.
struct PointFlow {
  Point at{};
  std::int64_t elements = 0;
};
using PointTable = std::vector<PointFlow>;

/// The maximum number of flows of a table.
inline constexpr std::size_t kMaxFlowTable = std::size_t{1} << 22;
/// kTooLarge, for a table that would have this many flows.
Error too_many_flows(std::size_t flows);

/// One flow for each pair of flows: elements multiply, and the offsets from `base` add.
/// Law: `base` is the point of the first element in both tables and in the product.
Result<PointTable> product(const PointTable& x, const PointTable& y, const Point& base);

/// Sorts by points, and merges flows with the same point.
void gather(PointTable& table);

/// The coordinates, as bits, in which some flow differs from `base`.
unsigned driven_coordinates(const PointTable& table, const Point& base);

}  // namespace tessera::reshard
