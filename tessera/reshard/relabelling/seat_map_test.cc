// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/relabelling/seat_map.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tessera::reshard {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(SeatMap, SaysWhatItWasGiven) {
  const std::vector<std::pair<Numbers, DeviceMap::Kind>> lists = {
      {{0, 1, 2, 3}, DeviceMap::Kind::kFolded},       {{5}, DeviceMap::Kind::kFolded},
      {{4, 6, 8, 2}, DeviceMap::Kind::kFolded},       {{3, 2, 1, 0}, DeviceMap::Kind::kFolded},
      {{1, 0, 3, 2}, DeviceMap::Kind::kFolded},       {{0, 3, 1, 4, 2}, DeviceMap::Kind::kFolded},
      {{0, 4, 1, 5, 2, 6}, DeviceMap::Kind::kFolded}, {{1, 0, 4, 3, 2}, DeviceMap::Kind::kFolded},
      {{0, 1, 5, 6, 10}, DeviceMap::Kind::kTable},    {{0, 1, 3, 2}, DeviceMap::Kind::kTable}};
  for (const auto& [rows, kind] : lists) {
    for (const bool exchanged : {false, true}) {
      const Shape physical = *Shape::make({12, 12});
      const std::vector<std::size_t> axis_of = {exchanged ? 1U : 0U, exchanged ? 0U : 1U};
      const Shape mesh = *Shape::make({static_cast<std::int64_t>(rows.size()), 3});
      const Numbers cols = {7, 8, 9};
      const DeviceMap map = *map_of_axes(mesh, physical, axis_of, {rows, cols});
      EXPECT_EQ(map.kind(), kind) << ::testing::PrintToString(rows);
      EXPECT_TRUE(map.check(mesh).ok());
      Numbers places;
      for (std::int64_t v = 0; v < mesh.elements(); ++v) {
        const Place place = map.map(mesh, mesh.delinear(v)).place;
        EXPECT_EQ(place[axis_of[0]], rows[static_cast<std::size_t>(v / 3)]);
        EXPECT_EQ(place[axis_of[1]], cols[static_cast<std::size_t>(v % 3)]);
        places.push_back(physical.linear(place));
      }
      EXPECT_EQ(*map_of_places(mesh, physical, places), map);
    }
  }
}

TEST(SeatMap, IdlePlacesStepEvenly) {
  const std::vector<bool> first_two = {true, true, false, false};
  const Numbers seats = {0, 1, 2, 3};
  EXPECT_EQ(evenly({2, 3, 1, 0}, first_two, seats), (Numbers{2, 3, 0, 1}));
  EXPECT_EQ(evenly({0, 1, 3, 2}, first_two, seats), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(evenly({3, 2, 0, 1}, first_two, seats), (Numbers{3, 2, 1, 0}));
  EXPECT_EQ(evenly({0, 2, 1, 3}, first_two, seats), (Numbers{0, 2, 1, 3}));  // 2 of 4 comes back
  EXPECT_EQ(evenly({4, 1, 3, 0}, first_two, {0, 1, 3, 4}), (Numbers{4, 1, 3, 0}));
  EXPECT_EQ(evenly({5, 9, 7, 3}, first_two, {3, 5, 7, 9}), (Numbers{5, 9, 7, 3}));
  EXPECT_EQ(evenly({2, 1, 0}, {false, false, true}, {0, 1, 2}), (Numbers{2, 1, 0}));
  EXPECT_EQ(evenly({1, 2, 9}, {true, true, false}, {1, 2, 3, 9}), (Numbers{1, 2, 3}));
  EXPECT_EQ(evenly({7}, {true}, {7}), Numbers{7});
}

}  // namespace
}  // namespace tessera::reshard
