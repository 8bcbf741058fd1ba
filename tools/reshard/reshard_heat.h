// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/reshard/reshard.h"
#include "tools/json/json.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// The load of the links of a mesh at low resolution: the rectangle of routers that any wavelet
/// touches, divided into cells of equally many routers (cells at the south and east edges may have
/// fewer). The value of a cell is the largest load of one directed link, in any of the four
/// directions, that leaves one of its routers.
/// Law: the largest cell is the largest load.
struct HeatMap {
  std::int64_t from_row = 0, from_col = 0;  ///< of the rectangle
  std::int64_t to_row = 0, to_col = 0;      ///< both included
  std::int64_t cell_rows = 1, cell_cols = 1;
  std::int64_t rows = 0, cols = 0;  ///< number of cells
  std::vector<std::int64_t> loads;  ///< row-major
  std::int64_t max = 0;
};

/// A map of at most that many cells; nothing when no link carries anything.
std::optional<HeatMap> heat_map(const reshard::LinkLoads& loads, std::int64_t most_rows,
                                std::int64_t most_cols);

/// The busiest link of a direction.
struct BusiestLink {
  const char* direction;          ///< "east", "west", "south", "north"
  std::int64_t row = 0, col = 0;  ///< of the router that it leaves
  std::int64_t wavelets = 0;
};
/// For each direction that carries anything, the first of its busiest links; the busiest direction
/// comes first.
std::vector<BusiestLink> busiest_links(const reshard::LinkLoads& loads);

/// The map as lines of at most the terminal's width: one character per cell, on a scale of eight
/// even steps whose bounds are printed below it.
std::string heat_text(const reshard::LinkLoads& loads, const Terminal& terminal);

/// {"from", "to": [row, col], both included, "cell": [rows, cols], "wavelets": [[..], ..]}; null
/// when no link carries anything.
Json heat_json(const reshard::LinkLoads& loads);

}  // namespace tessera::tools
