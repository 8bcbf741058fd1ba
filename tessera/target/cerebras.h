// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"

/// Conversion to and from coordinates of the Cerebras SDK. In Tessera a PE is (row, col) on a mesh
/// of rows x columns; in the SDK it is (x, y) with x = col and y = row, and a rectangle is width x
/// height. All conversions use these two functions.
namespace tessera::target {

/// A PE in SDK coordinates, inside the program's rectangle.
struct SdkPoint {
  std::int64_t x = 0;  ///< column, counted from the west
  std::int64_t y = 0;  ///< row, counted from the north
  friend bool operator==(const SdkPoint&, const SdkPoint&) = default;
};

/// The SDK coordinates of a place of `mesh`, or kOutOfRange if the mesh has no such place.
/// Law: from_sdk(mesh, *to_sdk(mesh, q)) = q, and vice versa.
/// Example: on wse2's 994x750, to_sdk({993, 7}) = {x = 7, y = 993}; {7, 993} is not a place.
Result<SdkPoint> to_sdk(const Shape& mesh, const Place& place);
Result<Place> from_sdk(const Shape& mesh, const SdkPoint& point);

}  // namespace tessera::target
