// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/mlir/core_ranges.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/testing/figures.h"
#include "tessera/testing/notation/reasons.h"

namespace tessera::notation {
namespace {

Shape grid(std::vector<std::int64_t> extents) { return *Shape::make(std::move(extents)); }

std::vector<CoreRange> ranges(std::string_view text) {
  Cursor cursor(text);
  Result<std::vector<CoreRange>> read = read_core_ranges(cursor);
  EXPECT_TRUE(read.ok()) << text << ": " << read.error().message;
  return read.ok() ? *std::move(read) : std::vector<CoreRange>{};
}

/// Every core of the ranges as [row, col], one after another: what the header promises, by loops.
std::vector<Place> cores(const std::vector<CoreRange>& list) {
  std::vector<Place> places;
  for (const CoreRange& range : list) {
    for (std::int64_t y = range.start[1]; y <= range.end[1]; ++y) {
      for (std::int64_t x = range.start[0]; x <= range.end[0]; ++x) places.push_back({y, x});
    }
  }
  return places;
}

/// Both laws: place k is core k, and the map gives ranges with the same cores in the same order.
void expect_laws(const std::string& text, const Shape& places) {
  SCOPED_TRACE(text);
  const std::vector<CoreRange> said = ranges(text);
  const Result<DeviceMap> map = device_map_of(said, places);
  ASSERT_TRUE(map.ok()) << map.error().message;
  EXPECT_TRUE(map->check(places).ok());
  const std::vector<Place> expected = cores(said);
  ASSERT_EQ(static_cast<std::int64_t>(expected.size()), places.elements());
  for (std::int64_t k = 0; k < places.elements(); ++k) {
    const PhysicalPlace found = map->map(places, places.delinear(k));
    EXPECT_EQ(found.place, expected[static_cast<std::size_t>(k)]) << "place " << k;
    EXPECT_EQ(found.layer, 0);
  }
  const Result<std::vector<CoreRange>> again = core_ranges_of(*map, places);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(cores(*again), expected) << write_core_ranges(*again);
}

TEST(CoreRanges, ReadBothSpellings) {
  const std::vector<CoreRange> expected = {{{0, 1}, {7, 2}}, {{0, 3}, {3, 3}}};
  for (const std::string_view text :
       {"<[#ttnn.core_range<(0,1), (7,2)>, #ttnn.core_range<(0,3), (3,3)>]>",
        "#ttnn.core_range_set<[#ttnn.core_range<(0, 1), (7, 2)>, #ttnn.core_range<(0,3),(3,3)>]>",
        "<[ <(0,1), (7,2)>, <(0,3), (3,3)> ]>"}) {
    EXPECT_EQ(ranges(text), expected);
  }
  EXPECT_EQ(write_core_ranges(expected),
            "<[#ttnn.core_range<(0,1), (7,2)>, #ttnn.core_range<(0,3), (3,3)>]>");
  EXPECT_EQ(ranges("<>"), std::vector<CoreRange>{});
  EXPECT_EQ(ranges("#ttnn.core_range_set<>"), std::vector<CoreRange>{});
  EXPECT_EQ(write_core_ranges({}), "<>");
}

TEST(CoreRanges, RefuseWhatNoDeviceHas) {
  struct Case {
    std::string_view text;
    ErrorCode code;
    std::string_view message;
  };
  for (const Case& refused : std::vector<Case>{
           {"<[#ttnn.core_range<(4,0), (3,0)>]>", ErrorCode::kContradiction,
            "a core range from (4,0) to (3,0) runs backward"},
           {"<[#ttnn.core_range<(-1,0), (3,0)>]>", ErrorCode::kOutOfRange,
            "a core range starts at (-1,0)"},
           {"<[#ttnn.core_range<(0,0), (3,3)>, #ttnn.core_range<(3,3), (4,4)>]>",
            ErrorCode::kContradiction, "core ranges (0,0)-(3,3) and (3,3)-(4,4) overlap"},
           {"<[#ttnn.core_range<(0,0), (9223372036854775807,9)>]>", ErrorCode::kOverflow,
            "the number of cores of a range does not fit a signed 64-bit integer"},
           {"#core_ranges", ErrorCode::kUnknownName,
            "the alias '#core_ranges' is not defined here"},
           {"#tt.core_range_set<>", ErrorCode::kUnknownName, "unknown dialect 'tt'"},
           {"<[#ttnn.core_rang<(0,0), (1,1)>]>", ErrorCode::kSyntax,
            "expected 'core_range', found 'core_rang'"},
           {"<[#ttnn.core_range<(0,0), (1,1)>", ErrorCode::kSyntax,
            "expected ',' or ']', found the end of the text"},
           {"<[#ttnn.core_range<(0), (1,1)>]>", ErrorCode::kSyntax, "expected ',', found ')'"},
       }) {
    SCOPED_TRACE(refused.text);
    Cursor cursor(refused.text);
    const Result<std::vector<CoreRange>> read = read_core_ranges(cursor);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(code_name(read.error().code), code_name(refused.code));
    EXPECT_EQ(read.error().message, refused.message);
    EXPECT_FALSE(read.error().help.empty());
  }
}

TEST(CoreRanges, CanonicalSetsAreFullRowsAndThenAPart) {
  EXPECT_EQ(write_core_ranges(canonical_core_ranges(12, 8)),
            "<[#ttnn.core_range<(0,0), (7,0)>, #ttnn.core_range<(0,1), (3,1)>]>");
  EXPECT_EQ(write_core_ranges(canonical_core_ranges(64, 8)), "<[#ttnn.core_range<(0,0), (7,7)>]>");
  EXPECT_EQ(write_core_ranges(canonical_core_ranges(3, 8)), "<[#ttnn.core_range<(0,0), (2,0)>]>");
  for (std::int64_t n = 1; n <= 70; ++n) EXPECT_TRUE(are_canonical(canonical_core_ranges(n, 8)));
  EXPECT_FALSE(are_canonical({}));
  EXPECT_FALSE(are_canonical(ranges("<[#ttnn.core_range<(1,0), (7,0)>]>")));
  EXPECT_FALSE(
      are_canonical(ranges("<[#ttnn.core_range<(0,0), (7,0)>, #ttnn.core_range<(0,1), (7,1)>]>")));
  EXPECT_FALSE(
      are_canonical(ranges("<[#ttnn.core_range<(0,0), (3,0)>, #ttnn.core_range<(5,0), (6,0)>]>")));
}

TEST(CoreRanges, PlacesFillCoresInOrder) {
  expect_laws("<[#ttnn.core_range<(0,0), (7,7)>]>", grid({8, 8}));
  expect_laws("<[#ttnn.core_range<(0,0), (7,7)>]>", grid({64, 1}));
  expect_laws("<[#ttnn.core_range<(0,0), (7,7)>]>", grid({1, 64}));
  expect_laws("<[#ttnn.core_range<(0,0), (7,7)>]>", grid({16, 4}));
  expect_laws("<[#ttnn.core_range<(0,0), (0,7)>]>", grid({8, 1}));
  expect_laws("<[#ttnn.core_range<(0,0), (7,0)>]>", grid({8, 1}));
  expect_laws("<[#ttnn.core_range<(2,3), (4,9)>]>", grid({21, 1}));
  expect_laws("<[#ttnn.core_range<(5,6), (5,6)>]>", grid({1, 1}));
  expect_laws("<[#ttnn.core_range<(0,0), (7,0)>, #ttnn.core_range<(0,1), (3,1)>]>", grid({12, 1}));
  expect_laws("<[#ttnn.core_range<(1,1), (2,2)>, #ttnn.core_range<(1,3), (1,3)>]>", grid({1, 5}));
  // Neither a rectangle nor canonical: a table.
  expect_laws("<[#ttnn.core_range<(4,4), (5,5)>, #ttnn.core_range<(0,0), (1,0)>]>", grid({6, 1}));
  expect_laws("<[#ttnn.core_range<(0,0), (3,0)>, #ttnn.core_range<(0,1), (5,1)>]>", grid({10, 1}));
  expect_laws("<[#ttnn.core_range<(1,0), (1,0)>, #ttnn.core_range<(0,0), (0,0)>]>", grid({2, 1}));
}

TEST(CoreRanges, HugeRectanglesCostNothing) {
  const std::string text = "<[#ttnn.core_range<(0,0), (1099511627775,7)>]>";
  const Shape places = grid({std::int64_t{8} << 40, 1});
  const Result<DeviceMap> map = device_map_of(ranges(text), places);
  ASSERT_TRUE(map.ok()) << map.error().message;
  EXPECT_EQ(map->map(places, {(std::int64_t{1} << 40) + 5, 0}).place, (Place{1, 5}));
  const Result<std::vector<CoreRange>> again = core_ranges_of(*map, places);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(write_core_ranges(*again), text);

  const Result<DeviceMap> scattered = device_map_of(
      ranges("<[#ttnn.core_range<(0,1), (65536,1)>, #ttnn.core_range<(0,0), (0,0)>]>"),
      grid({65538, 1}));
  ASSERT_FALSE(scattered.ok());
  EXPECT_EQ(scattered.error().code, ErrorCode::kTooLarge);
}

TEST(CoreRanges, OnlyRowsAndColumnsAreCores) {
  const Result<std::vector<CoreRange>> cube =
      core_ranges_of(DeviceMap::identity(), grid({2, 2, 2}));
  ASSERT_FALSE(cube.ok());
  EXPECT_EQ(test::reasons_text(cube.error()), "device_map rank=3");
  const DeviceMap stacked = DeviceMap::folded(
      grid({1, 2}), {Fold{{{0, 1}}, 0, {{2, 2, Target::memory(), 1}, {1, 2, Target::mesh(1), 1}}}});
  const Result<std::vector<CoreRange>> layers = core_ranges_of(stacked, grid({4, 1}));
  ASSERT_FALSE(layers.ok());
  EXPECT_EQ(test::reasons_text(layers.error()), "device_map");
  const Result<DeviceMap> few =
      device_map_of(ranges("<[#ttnn.core_range<(0,0), (7,0)>]>"), grid({9, 1}));
  ASSERT_FALSE(few.ok());
  EXPECT_EQ(test::figures(few.error().message), "8 9 9x1");
}

}  // namespace
}  // namespace tessera::notation
