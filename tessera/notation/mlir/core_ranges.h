// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/device_map.h"
#include "tessera/notation/text/cursor.h"

namespace tessera::notation {

/// A rectangle of cores as tt-mlir and TTNN texts specify it: (x, y) corners, both included. Places
/// here are [row, col] = [y, x].
struct CoreRange {
  std::array<std::int64_t, 2> start{};  ///< x, y
  std::array<std::int64_t, 2> end{};    ///< x, y
  friend bool operator==(const CoreRange&, const CoreRange&) = default;

  std::int64_t width() const { return end[0] - start[0] + 1; }
  std::int64_t height() const { return end[1] - start[1] + 1; }
};

/// Reads `<[#ttnn.core_range<(0,0), (7,7)>, ..]>`, also with `#ttnn.core_range_set` before it.
/// The end corner is not below the start corner, coordinates are 0 or more, and no core is in two
/// ranges (kContradiction). `span` is set to the span of `<[..]>`.
Result<std::vector<CoreRange>> read_core_ranges(Cursor& cursor, Span* span = nullptr);
/// `<[#ttnn.core_range<(0,0), (7,7)>]>`, as MLIR prints it.
std::string write_core_ranges(const std::vector<CoreRange>& ranges);

/// Checks what `read_core_ranges` guarantees, for ranges that do not come from a text.
Status check_core_ranges(const std::vector<CoreRange>& ranges);
/// The number of cores in the ranges. Only for ranges that `check_core_ranges` accepts.
Result<std::int64_t> cores_in(const std::vector<CoreRange>& ranges);

/// The ranges of the first `cores` cores of a device `width` cores wide, row by row: full rows as
/// one rectangle, then what is left of a row.
/// Example: 12 cores, 8 wide: (0,0)-(7,0) and (0,1)-(3,1).
std::vector<CoreRange> canonical_core_ranges(std::int64_t cores, std::int64_t width);
/// The same number of cores as `canonical_core_ranges` has, from the core `start` on.
std::vector<CoreRange> core_ranges_from(const std::array<std::int64_t, 2>& start,
                                        std::int64_t cores, std::int64_t width);
/// Whether a compiler would choose these ranges for some device: a rectangle at the origin, or full
/// rows followed by a part of the next row.
bool are_canonical(const std::vector<CoreRange>& ranges);

/// Maps places to cores. Cores are numbered range after range in the given order, row by row in
/// each range; places are numbered row by row on their grid.
/// Law: place number k is on core number k, at [y, x] of the device.
/// Example: a 12x1 grid on (0,0)-(7,0), (0,1)-(3,1): place [9, 0] is [1, 1].
/// Requires as many cores as places. kTooLarge for more than 2^16 cores on ranges that are neither
/// one rectangle nor canonical, because those need a table.
Result<DeviceMap> device_map_of(const std::vector<CoreRange>& ranges, const Shape& grid);

/// The ranges whose cores are the physical places of a grid, in order; as few as joining them row
/// by row gives.
/// Law: device_map_of(core_ranges_of(m, g), g) maps every place as m does. kNotSupported for a map
/// to something other than rows and columns, or with several places on one core.
Result<std::vector<CoreRange>> core_ranges_of(const DeviceMap& map, const Shape& grid);

}  // namespace tessera::notation
