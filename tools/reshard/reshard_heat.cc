// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/reshard_heat.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::int64_t kMostRows = 40;
constexpr std::int64_t kMostCols = 100;
constexpr std::int64_t kSteps = 8;
constexpr std::array<std::string_view, kSteps + 1> kBlocks = {"·", "▁", "▂", "▃", "▄",
                                                              "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, kSteps + 1> kDigits = {".", "1", "2", "3", "4",
                                                              "5", "6", "7", "8"};
// From cold to hot, in the sixteen colours that every colour terminal has.
constexpr std::array<std::string_view, kSteps + 1> kColours = {
    "\x1b[2m",  "\x1b[34m", "\x1b[34m", "\x1b[36m",  "\x1b[36m",
    "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[1;31m"};

/// A direction: its loads, and the direction of its links.
struct Direction {
  const char* name;
  const std::vector<std::int64_t>& loads;
  std::int64_t down, right;
};

std::array<Direction, 4> directions(const reshard::LinkLoads& loads) {
  return {{{"east", loads.east, 0, 1},
           {"west", loads.west, 0, -1},
           {"south", loads.south, 1, 0},
           {"north", loads.north, -1, 0}}};
}

/// The number of adjacent routers per cell, so that `extent` of them take at most `most` cells.
std::int64_t cell_of(std::int64_t extent, std::int64_t most) {
  return ceil_div(extent, std::max<std::int64_t>(1, most));
}

std::string padded(std::string_view text, std::size_t width) {
  return cat(std::string(width - std::min(width, text.size()), ' '), text);
}

/// The step of the scale for a load: 0 for none, otherwise 1 to kSteps.
std::size_t step_of(std::int64_t load, std::int64_t step_wavelets) {
  return load == 0 ? 0 : static_cast<std::size_t>(1 + (load - 1) / step_wavelets);
}

std::string glyph(std::size_t step, const Terminal& terminal) {
  const std::string_view text = terminal.unicode ? kBlocks[step] : kDigits[step];
  return terminal.colour ? cat(kColours[step], text, "\x1b[0m") : std::string(text);
}

/// ". none, 1 to 128, 2 to 256, ..", in lines whose escape sequences do not count.
std::string scale(const HeatMap& map, std::int64_t step_wavelets, const Terminal& terminal) {
  const std::size_t top = step_of(map.max, step_wavelets);
  std::string out;
  std::size_t used = 0;
  for (std::size_t step = 0; step <= top; ++step) {
    const std::int64_t most =
        step == top ? map.max : static_cast<std::int64_t>(step) * step_wavelets;
    std::string words = step == 0 ? std::string("none") : cat("to ", most);
    if (step < top) words += ",";
    const std::size_t columns = 3 + columns_of(words);
    if (step > 0 && used + columns > static_cast<std::size_t>(terminal.width)) {
      out += "\n";
      used = 0;
    }
    if (used == 0) out += " ";
    out += cat(" ", glyph(step, terminal), " ", words);
    used += columns + (used == 0 ? 1 : 0);
  }
  return out + "\n";
}

/// "row 3", "rows 0 to 24".
std::string range_text(std::string_view what, std::int64_t from, std::int64_t to) {
  return from == to ? cat(what, " ", from) : cat(what, "s ", from, " to ", to);
}

}  // namespace

std::optional<HeatMap> heat_map(const reshard::LinkLoads& loads, std::int64_t most_rows,
                                std::int64_t most_cols) {
  HeatMap map;
  map.from_row = loads.rows;
  map.from_col = loads.cols;
  for (const Direction& direction : directions(loads)) {
    std::size_t at = 0;
    for (std::int64_t row = 0; row < loads.rows; ++row) {
      for (std::int64_t col = 0; col < loads.cols; ++col, ++at) {
        const std::int64_t load = direction.loads[at];
        if (load == 0) continue;
        map.max = std::max(map.max, load);
        map.from_row = std::min({map.from_row, row, row + direction.down});
        map.to_row = std::max({map.to_row, row, row + direction.down});
        map.from_col = std::min({map.from_col, col, col + direction.right});
        map.to_col = std::max({map.to_col, col, col + direction.right});
      }
    }
  }
  if (map.max == 0) return std::nullopt;
  const std::int64_t height = map.to_row - map.from_row + 1;
  const std::int64_t width = map.to_col - map.from_col + 1;
  map.cell_rows = cell_of(height, most_rows);
  map.cell_cols = cell_of(width, most_cols);
  map.rows = ceil_div(height, map.cell_rows);
  map.cols = ceil_div(width, map.cell_cols);
  map.loads.assign(static_cast<std::size_t>(map.rows * map.cols), 0);
  for (const Direction& direction : directions(loads)) {
    for (std::int64_t row = map.from_row; row <= map.to_row; ++row) {
      const std::int64_t cell_row = (row - map.from_row) / map.cell_rows * map.cols;
      for (std::int64_t col = map.from_col; col <= map.to_col; ++col) {
        std::int64_t& cell =
            map.loads[static_cast<std::size_t>(cell_row + (col - map.from_col) / map.cell_cols)];
        cell = std::max(cell, direction.loads[static_cast<std::size_t>(row * loads.cols + col)]);
      }
    }
  }
  return map;
}

std::vector<BusiestLink> busiest_links(const reshard::LinkLoads& loads) {
  std::vector<BusiestLink> links;
  for (const Direction& direction : directions(loads)) {
    const auto most = std::max_element(direction.loads.begin(), direction.loads.end());
    if (most == direction.loads.end() || *most == 0) continue;
    const std::int64_t at = most - direction.loads.begin();
    BusiestLink link{direction.name, at / loads.cols, at % loads.cols, *most};
    auto before = links.begin();
    while (before != links.end() && before->wavelets >= link.wavelets) ++before;
    links.insert(before, link);
  }
  return links;
}

std::string heat_text(const reshard::LinkLoads& loads, const Terminal& terminal) {
  const std::size_t label = std::to_string(std::max<std::int64_t>(0, loads.rows - 1)).size();
  const std::int64_t room =
      std::min<std::int64_t>(kMostCols, terminal.width - static_cast<std::int64_t>(label) - 1);
  const std::optional<HeatMap> map = heat_map(loads, kMostRows, room);
  if (!map) return wrap("no link carries anything", terminal, "", "");
  std::string title =
      cat("wavelets over the busiest link: ", range_text("row", map->from_row, map->to_row),
          " down, ", range_text("column", map->from_col, map->to_col), " across");
  if (map->cell_rows > 1 || map->cell_cols > 1) {
    title += cat(", one character per ", map->cell_rows, "x", map->cell_cols, " places");
  }
  std::string out = wrap(title, terminal, "", "  ");
  // A character is about twice as high as it is wide.
  const std::string_view between = map->cols * 2 <= room ? " " : "";
  const std::int64_t step_wavelets = ceil_div(map->max, kSteps);
  for (std::int64_t row = 0; row < map->rows; ++row) {
    out += padded(std::to_string(map->from_row + row * map->cell_rows), label);
    out += " ";
    for (std::int64_t col = 0; col < map->cols; ++col) {
      const std::int64_t load = map->loads[static_cast<std::size_t>(row * map->cols + col)];
      if (col > 0) out += between;
      out += glyph(step_of(load, step_wavelets), terminal);
    }
    out += "\n";
  }
  out += scale(*map, step_wavelets, terminal);
  std::string busiest;
  for (const BusiestLink& link : busiest_links(loads)) {
    busiest += cat(busiest.empty() ? "busiest: " : ", ", link.wavelets, " ", link.direction,
                   " of [", link.row, ", ", link.col, "]");
  }
  return out + wrap(busiest, terminal, "", "  ");
}

Json heat_json(const reshard::LinkLoads& loads) {
  const std::optional<HeatMap> map = heat_map(loads, kMostRows, kMostCols);
  if (!map) return nullptr;
  Json json;
  json["from"] = {map->from_row, map->from_col};
  json["to"] = {map->to_row, map->to_col};
  json["cell"] = {map->cell_rows, map->cell_cols};
  json["wavelets"] = Json::array();
  for (std::int64_t row = 0; row < map->rows; ++row) {
    const auto begin = map->loads.begin() + row * map->cols;
    json["wavelets"].push_back(std::vector<std::int64_t>(begin, begin + map->cols));
  }
  return json;
}

}  // namespace tessera::tools
