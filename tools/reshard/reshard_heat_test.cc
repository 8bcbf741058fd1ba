// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/reshard_heat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tessera/testing/generate.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

using test::Dice;

reshard::LinkLoads no_loads(std::int32_t rows, std::int32_t cols) {
  const auto links = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  reshard::LinkLoads loads;
  loads.rows = rows;
  loads.cols = cols;
  for (auto* list : {&loads.east, &loads.west, &loads.south, &loads.north}) list->assign(links, 0);
  return loads;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// 5x6 routers: row 1 sends 16 wavelets east from column 1 to 4, and 3 of them go down column 4.
reshard::LinkLoads corner() {
  reshard::LinkLoads loads = no_loads(5, 6);
  for (std::size_t col = 1; col < 4; ++col) loads.east[6 + col] = 16;
  loads.south[6 + 4] = 3;
  loads.south[12 + 4] = 3;
  return loads;
}

TEST(HeatMap, ShowsTheRectangleThatIsUsed) {
  const std::optional<HeatMap> map = heat_map(corner(), 40, 100);
  ASSERT_TRUE(map.has_value());
  // The last link leads south from [2, 4] to [3, 4].
  EXPECT_EQ(map->from_row, 1);
  EXPECT_EQ(map->to_row, 3);
  EXPECT_EQ(map->from_col, 1);
  EXPECT_EQ(map->to_col, 4);
  EXPECT_EQ(map->loads, (std::vector<std::int64_t>{16, 16, 16, 3, 0, 0, 0, 3, 0, 0, 0, 0}));
  EXPECT_EQ(map->max, 16);
}

TEST(HeatMap, Text) {
  // 16 wavelets are 8 steps of 2; 3 wavelets are on the second.
  const std::vector<std::string> lines = lines_of(heat_text(corner(), Terminal{}));
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(facts_in(lines[0]), "1 3 1 4");  // rows and columns
  EXPECT_EQ(lines[1], "1 8 8 8 2");
  EXPECT_EQ(lines[2], "2 . . . 2");
  EXPECT_EQ(lines[3], "3 . . . .");
  EXPECT_EQ(facts_in(lines[4]), "1 2 2 4 3 6 4 8 5 10 6 12 7 14 8 16");  // the scale
  EXPECT_EQ(facts_in(lines[5]), "16 1 1 3 1 4");                         // the busiest links
  Terminal unicode;
  unicode.unicode = true;
  EXPECT_EQ(lines_of(heat_text(corner(), unicode))[1], "1 █ █ █ ▂");
  Terminal colour;
  colour.colour = true;
  EXPECT_EQ(lines_of(heat_text(corner(), colour))[2],
            "2 \x1b[2m.\x1b[0m \x1b[2m.\x1b[0m \x1b[2m.\x1b[0m \x1b[34m2\x1b[0m");
  EXPECT_EQ(lines_of(heat_text(no_loads(3, 3), Terminal{})).size(), 1U);
}

TEST(HeatMap, Json) {
  const Json json = heat_json(corner());
  EXPECT_EQ(dump(json),
            "{\"from\":[1,1],\"to\":[3,4],\"cell\":[1,1],\"wavelets\":"
            "[[16,16,16,3],[0,0,0,3],[0,0,0,0]]}");
  EXPECT_TRUE(heat_json(no_loads(1, 1)).is_null());
}

TEST(HeatMap, SmallLoadsHaveAStepEach) {
  reshard::LinkLoads loads = no_loads(1, 4);
  loads.west[3] = 1;
  loads.west[2] = 2;
  loads.west[1] = 3;
  const std::vector<std::string> lines = lines_of(heat_text(loads, Terminal{}));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1], "0 . 3 2 1");
  EXPECT_EQ(facts_in(lines[2]), "1 1 2 2 3 3");
  EXPECT_EQ(facts_in(lines[3]), "3 0 1");
}

TEST(HeatMap, AWaferBecomesFortyLines) {
  reshard::LinkLoads loads = no_loads(994, 750);
  std::fill(loads.east.begin(), loads.east.end(), 5);
  for (std::size_t row = 0; row < 994; ++row) loads.east[row * 750 + 749] = 0;
  loads.north[993 * 750 + 749] = 1'000'000;
  const std::optional<HeatMap> map = heat_map(loads, 40, 76);
  ASSERT_TRUE(map.has_value());
  // ceil(994 / 40) = 25 rows per cell make 40 cells, ceil(750 / 76) = 10 columns make 75.
  EXPECT_EQ(map->cell_rows, 25);
  EXPECT_EQ(map->cell_cols, 10);
  EXPECT_EQ(map->rows, 40);
  EXPECT_EQ(map->cols, 75);
  EXPECT_EQ(map->loads.back(), 1'000'000);
  EXPECT_EQ(map->loads.front(), 5);
  EXPECT_EQ(busiest_links(loads).front().wavelets, 1'000'000);
  EXPECT_TRUE(facts_in(heat_text(loads, Terminal{})).starts_with("0 993 0 749"));
}

/// The law of HeatMap on random loads, and no line beyond the terminal's width.
TEST(HeatMap, RandomLoadsFitAnyTerminal) {
  Dice dice(7);
  for (int i = 0; i < 200; ++i) {
    reshard::LinkLoads loads = no_loads(static_cast<std::int32_t>(dice.between(1, 90)),
                                        static_cast<std::int32_t>(dice.between(1, 150)));
    const std::int64_t most = std::int64_t{1} << dice.between(0, 40);
    const auto set = [&](std::vector<std::int64_t>& list, std::int64_t row, std::int64_t col) {
      list[static_cast<std::size_t>(row * loads.cols + col)] = dice.between(1, most);
    };
    for (int k = 0; k < 30; ++k) {
      const std::int64_t row = dice.between(0, loads.rows - 1);
      const std::int64_t col = dice.between(0, loads.cols - 1);
      if (col + 1 < loads.cols && dice.chance(40)) set(loads.east, row, col);
      if (col > 0 && dice.chance(40)) set(loads.west, row, col);
      if (row + 1 < loads.rows && dice.chance(40)) set(loads.south, row, col);
      if (row > 0 && dice.chance(40)) set(loads.north, row, col);
    }
    std::int64_t max = 0;
    for (const auto* list : {&loads.east, &loads.west, &loads.south, &loads.north}) {
      max = std::max(max, *std::max_element(list->begin(), list->end()));
    }
    const std::int64_t most_rows = dice.between(1, 40);
    const std::int64_t most_cols = dice.between(1, 100);
    const std::optional<HeatMap> map = heat_map(loads, most_rows, most_cols);
    ASSERT_EQ(map.has_value(), max > 0);
    if (map) {
      EXPECT_EQ(*std::max_element(map->loads.begin(), map->loads.end()), max);
      EXPECT_EQ(map->max, max);
      EXPECT_LE(map->rows, most_rows);
      EXPECT_LE(map->cols, most_cols);
    }
    Terminal terminal;
    terminal.unicode = dice.chance(50);
    terminal.width = static_cast<int>(dice.between(kMinWidth, 140));
    for (const std::string& line : lines_of(heat_text(loads, terminal))) {
      EXPECT_LE(columns_of(line), static_cast<std::size_t>(terminal.width)) << line;
    }
  }
}

}  // namespace
}  // namespace tessera::tools
