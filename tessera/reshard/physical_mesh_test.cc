// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tessera/notation/notation.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"

namespace tessera::reshard {
namespace {

Placement placement(const std::string& text) { return parse_tensor(text).value().placement; }

TEST(PhysicalMesh, InARowPlacesAreNumbers) {
  // Four devices in a row against a 2x2 grid: device p is the place of row-major number p.
  const Placement devices = placement("tensor<8x8xf32, gspmd{devices=[2,2]<=[4]}>");
  const Placement grid = placement("tensor<8x8xf32, pyflame.Grid(2, 2)>");
  EXPECT_EQ(PhysicalMesh::around(devices, grid).error().code, ErrorCode::kMeshMismatch);
  const PhysicalMesh physical = PhysicalMesh::in_a_row(devices, grid).value();
  EXPECT_EQ(physical.mesh, Shape::make({4}).value());
  EXPECT_FALSE(physical.fabric.has_value());
  EXPECT_FALSE(physical.why_no_fabric.empty());
  const Reshard same = Reshard::make(devices, grid, physical).value();
  std::int64_t transfers = 0;
  std::int64_t crossing = 0;
  const Status listed = for_each_transfer(same, {}, [&](const Transfer& transfer) -> Status {
    ++transfers;
    crossing += transfer.source == transfer.destination ? 0 : 1;
    return ok_status();
  });
  EXPECT_TRUE(listed.ok());
  EXPECT_EQ(transfers, 4);
  EXPECT_EQ(crossing, 0);  // block (i, j) is on device 2·i + j, and so on place [i, j]
}

TEST(PhysicalMesh, InARowIsAsLongAsTheLarger) {
  const Placement six = placement("tensor<12x2xf32, pyflame.Grid(3, 2)>");
  const Placement four = placement("tensor<12x2xf32, pyflame.Grid(1, 4)>");
  const Placement one = placement("tensor<12x2xf32, strided<[2, 1]>>");
  const Placement eight = placement("tensor<12x2xf32, gspmd{devices=[8,1]<=[8]}>");
  EXPECT_EQ(PhysicalMesh::in_a_row(six, four).value().mesh, Shape::make({6}).value());
  EXPECT_EQ(PhysicalMesh::in_a_row(one, six).value().mesh, Shape::make({6}).value());
  EXPECT_EQ(PhysicalMesh::in_a_row(one, one).value().mesh, Shape::make({1}).value());
  EXPECT_EQ(PhysicalMesh::in_a_row(six, eight).value().mesh, Shape::make({8}).value());
  EXPECT_EQ(PhysicalMesh::in_a_row(eight, six).value().mesh, Shape::make({8}).value());
}

}  // namespace
}  // namespace tessera::reshard
