// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/layout/regions.h"
#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

Layout wafer(std::int64_t rows, std::int64_t cols) {
  const std::int64_t t = (8192 + rows - 1) / rows;
  const std::int64_t u = (8192 + cols - 1) / cols;
  return layout(form(
      {8192, 8192}, {rows, cols},
      {fold(x(0), {on(0, t, rows), mem(1, t, u)}), fold(x(1), {on(1, u, cols), mem(1, u, 1)})}));
}

// Tiles of 9x11. Rows: 910 full, one of 2, 83 empty. Columns: 744 full, one of 8, 5 empty.
TEST(PlaceClasses, WaferHasFive) {
  const std::vector<PlaceClass> classes = *place_classes(wafer(994, 750));
  ASSERT_EQ(classes.size(), 5u);
  std::vector<std::pair<std::int64_t, std::int64_t>> found;  // (elements, places)
  for (const PlaceClass& one : classes) {
    found.emplace_back(one.elements, one.places);
    for (const PlaceSet& set : one.sets) EXPECT_TRUE(set.is_rectangle());
    EXPECT_LE(one.sets.size(), one.elements > 0 ? 1u : 8u);
  }
  EXPECT_EQ(classes.back().elements, 0);
  EXPECT_EQ(classes.back().places, std::int64_t{994} * 750 - std::int64_t{911} * 745);
  std::sort(found.begin(), found.end());
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {
      {0, 66805}, {16, 1}, {22, 744}, {72, 910}, {99, std::int64_t{910} * 744}};
  EXPECT_EQ(found, expected);
}

// RowPartition(4) of 5 rows has tiles of 2, 2, 1 and 0 rows.
TEST(PlaceClasses, RowPartition4Of5Rows) {
  const Layout l = layout(form({5}, {4}, {fold(x(0), {on(0, 2, 4), mem(1, 2, 1)})}));
  const std::vector<PlaceClass> classes = *place_classes(l);
  ASSERT_EQ(classes.size(), 3u);
  const std::vector<std::int64_t> rows = {2, 2, 1, 0};
  for (std::int64_t q = 0; q < 4; ++q) {
    const Tile tile = *tile_of(l, {q});
    EXPECT_EQ(tile.elements, rows[static_cast<std::size_t>(q)]);
    EXPECT_EQ(tile.needed_slots, rows[static_cast<std::size_t>(q)]);
    EXPECT_EQ(tile.allocated_slots, 2);
  }
}

TEST(Boxes, CountAndContain) {
  const Box box{{1, 2}, {3, 6}};
  EXPECT_EQ(box.elements(), 8);
  EXPECT_TRUE(box.contains({1, 2}));
  EXPECT_TRUE(box.contains({2, 5}));
  EXPECT_FALSE(box.contains({3, 2}));
  EXPECT_FALSE(box.contains({1, 1}));
  EXPECT_EQ((Box{{}, {}}).elements(), 1);
  EXPECT_EQ((Box{{0}, {0}}).elements(), 0);
}

TEST(TileOf, TheTileOfOneCoreIsOneBox) {
  const Layout l = layout(tiled_53x63());
  const Tile tile = *tile_of(l, {2, 1});
  EXPECT_EQ(tile.elements, 17 * 31);
  EXPECT_EQ(tile.needed_slots, 16 * 32 + 31);
  EXPECT_EQ(tile.allocated_slots, 1024);
  ASSERT_EQ(tile.boxes.size(), 1u);
  EXPECT_EQ(tile.boxes[0], (Box{{36, 32}, {53, 63}}));
}

TEST(TileOf, BlockCyclicTilesAreSeveralBoxes) {
  // 2-row blocks of 10 rows distributed over 2 places: place 0 has rows 0-1, 4-5, 8-9.
  const Layout l = layout(form({10}, {2}, {fold(x(0), {mem(4, 3, 2), on(0, 2, 2), mem(1, 2, 1)})}));
  const Tile tile = *tile_of(l, {0});
  EXPECT_EQ(tile.elements, 6);
  std::vector<Box> boxes = tile.boxes;
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.from < b.from; });
  EXPECT_EQ(boxes, (std::vector<Box>{{{0}, {2}}, {{4}, {6}}, {{8}, {10}}}));
}

TEST(Places, TheLaws) {
  const std::vector<Form> cases = {
      tiled_53x63(),
      form({}, {2, 2}, {}, {Fill::replicate(0, 2), Fill::fixed(1, 1)}),
      form({0, 4}, {3}, {fold(x(0), {on(0, 1, 3)}), fold(x(1), {mem(1, 4, 1)})}),
      form({7}, {9}, {fold(x(0), {on(0, 3, 3, 3), on(0, 1, 3)})}),
      form({10, 3}, {2},
           {fold(x(0), {mem(4, 3, 6), on(0, 2, 2), mem(1, 2, 3)}), fold(x(1), {mem(1, 3, 1)})}),
      form({5, 6}, {4}, {fold({x(0, 6), x(1)}, {on(0, 8, 4), mem(1, 8, 1)})}),
      form({4, 4}, {4, 4},
           {fold(x(0), {on(0, 1, 4)}), fold({x(0), x(1)}, {nowhere(4, 2), on(1, 1, 4)})}),
      form({6}, {6}, {fold(x(0, -1), {on(0, 2, 3), mem(1, 2, 1)}, 5)}, {Fill::replicate(0, 2, 3)}),
  };
  for (const Form& f : cases) {
    const Result<Layout> l = Layout::make(spec(f));
    ASSERT_TRUE(l.ok()) << why(l) << describe(f);
    EXPECT_EQ(slot_laws(*l), "");
  }
}

}  // namespace
}  // namespace tessera::test
