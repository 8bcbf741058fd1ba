// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/device_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "tessera/testing/build.h"

namespace tessera::test {
namespace {

/// Law: no two virtual places share a physical place and layer, and all lie inside the physical
/// mesh.
void expect_one_to_one(const DeviceMap& map, const Shape& mesh) {
  ASSERT_TRUE(map.check(mesh).ok()) << map.check(mesh).error().message;
  std::set<std::pair<Place, std::int64_t>> seen;
  for (std::int64_t q = 0; q < mesh.elements(); ++q) {
    const PhysicalPlace physical = map.map(mesh, mesh.delinear(q));
    EXPECT_TRUE(seen.emplace(physical.place, physical.layer).second);
    if (map.kind() != DeviceMap::Kind::kIdentity) {
      EXPECT_TRUE(map.physical().contains(physical.place));
    }
  }
}

TEST(DeviceMap, Identity) {
  expect_one_to_one(DeviceMap::identity(), shape({3, 4}));
  EXPECT_EQ(DeviceMap::identity().map(shape({3, 4}), {2, 1}), (PhysicalPlace{{2, 1}, 0}));
}

// Virtual place (0, v) is physical (v div 8, v mod 8).
TEST(DeviceMap, OneBy64On8x8) {
  const DeviceMap map = DeviceMap::folded(shape({8, 8}), {fold(x(1), {on(0, 8, 8), on(1, 1, 8)})});
  const Shape mesh = shape({1, 64});
  expect_one_to_one(map, mesh);
  for (std::int64_t v = 0; v < 64; ++v) {
    EXPECT_EQ(map.map(mesh, {0, v}), (PhysicalPlace{{v / 8, v % 8}, 0}));
  }
}

// Page v is in bank v mod 12, as the (v div 12)-th page there.
TEST(DeviceMap, PagesRoundRobinOver12Banks) {
  const DeviceMap map = DeviceMap::folded(shape({12}), {fold(x(0), {mem(12, 9, 1), on(0, 1, 12)})});
  const Shape mesh = shape({100});
  expect_one_to_one(map, mesh);
  for (std::int64_t v = 0; v < 100; ++v) {
    EXPECT_EQ(map.map(mesh, {v}), (PhysicalPlace{{v % 12}, v / 12}));
  }
}

// Virtual (r, c) is physical (r, (r + c) mod 8): neighbours in a column are on a diagonal.
TEST(DeviceMap, StaircaseWrapsAround) {
  const DeviceMap map = DeviceMap::folded(
      shape({8, 8}), {fold(x(0), {on(0, 1, 8)}), fold({x(0), x(1)}, {nowhere(8, 2), on(1, 1, 8)})});
  const Shape mesh = shape({8, 8});
  expect_one_to_one(map, mesh);
  EXPECT_EQ(map.map(mesh, {3, 4}), (PhysicalPlace{{3, 7}, 0}));
  EXPECT_EQ(map.map(mesh, {3, 5}), (PhysicalPlace{{3, 0}, 0}));
  EXPECT_EQ(map.map(mesh, {7, 7}), (PhysicalPlace{{7, 6}, 0}));
}

TEST(DeviceMap, OriginMovesTheWholeMesh) {
  const DeviceMap map = DeviceMap::folded(
      shape({10, 13}), {fold(x(0), {on(0, 1, 4)}), fold(x(1), {on(1, 1, 5)})}, {6, 8});
  expect_one_to_one(map, shape({4, 5}));
  EXPECT_EQ(map.map(shape({4, 5}), {3, 4}), (PhysicalPlace{{9, 12}, 0}));
}

TEST(DeviceMap, Table) {
  const DeviceMap map = DeviceMap::table(shape({2, 2}), {{1, 1}, {0, 0}, {0, 1}});
  expect_one_to_one(map, shape({3}));
  EXPECT_EQ(map.map(shape({3}), {2}), (PhysicalPlace{{0, 1}, 0}));
}

TEST(DeviceMap, WhatCannotBeIsAnError) {
  struct Bad {
    const char* what;
    DeviceMap map;
    std::vector<std::int64_t> mesh;
  };
  const std::vector<Cut> plain = {on(0, 1, 4)};
  const std::vector<Bad> cases = {
      {"two places on one",
       DeviceMap::folded(shape({4}), {fold(x(0), {nowhere(4, 2), on(0, 1, 4)})}),
       {8}},
      {"outside", DeviceMap::folded(shape({3}), {fold(x(0), plain)}), {4}},
      {"outside by the origin", DeviceMap::folded(shape({4}), {fold(x(0), plain)}, {1}), {4}},
      {"origin of another rank", DeviceMap::folded(shape({4}), {fold(x(0), plain)}, {0, 0}), {4}},
      {"negative origin", DeviceMap::folded(shape({4}), {fold(x(0), plain)}, {-1}), {4}},
      {"a malformed fold", DeviceMap::folded(shape({4}), {fold(x(3), plain)}), {4}},
      {"a forgotten dim", DeviceMap::folded(shape({4}), {fold(x(0), plain)}), {4, 2}},
      {"short table", DeviceMap::table(shape({2, 2}), {{0, 0}}), {2}},
      {"long table", DeviceMap::table(shape({2, 2}), {{0, 0}, {0, 1}, {1, 0}}), {2}},
      {"repeat in a table", DeviceMap::table(shape({2, 2}), {{0, 0}, {0, 0}}), {2}},
      {"table outside", DeviceMap::table(shape({2, 2}), {{0, 0}, {0, 2}}), {2}},
      {"table of another rank", DeviceMap::table(shape({2, 2}), {{0, 0}, {1}}), {2}},
  };
  for (const Bad& bad : cases) {
    const Status status = bad.map.check(shape(bad.mesh));
    ASSERT_FALSE(status.ok()) << bad.what;
    EXPECT_EQ(status.error().code, ErrorCode::kBadDeviceMap) << bad.what;
  }
}

}  // namespace
}  // namespace tessera::test
