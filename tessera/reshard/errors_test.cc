// SPDX-License-Identifier: Apache-2.0
// What cannot be moved is refused with a stable code, the offending numbers, and help.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/reshard.h"
#include "tessera/target/machine.h"
#include "tessera/testing/figures.h"

namespace tessera::reshard {
namespace {

Placement placed(std::string_view text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << text << ": " << (tensor.ok() ? "" : tensor.error().message);
  return tensor->placement;
}

PhysicalMesh physical(std::string_view mesh, std::string_view more = "") {
  const Result<Machine> machine =
      parse_machine(cat(R"({"name": "mine", "mesh": )", mesh,
                        R"(, "memory": [{"name": "sram", "bytes": 65536}])", more, "}"));
  EXPECT_TRUE(machine.ok()) << machine.error().message;
  const Result<PhysicalMesh> made = PhysicalMesh::of(*machine);
  EXPECT_TRUE(made.ok());
  return *made;
}

/// Checks that a reshard is refused with this code, this text in its message, and help.
void refuses(std::string_view from, std::string_view to, const PhysicalMesh& on, ErrorCode code,
             const std::vector<std::string>& words) {
  const Result<Reshard> reshard = Reshard::make(placed(from), placed(to), on);
  ASSERT_FALSE(reshard.ok()) << from << " to " << to;
  const Error& error = reshard.error();
  EXPECT_EQ(code_name(error.code), code_name(code)) << error.message;
  EXPECT_FALSE(error.help.empty()) << error.message;
  for (const std::string& word : words) {
    EXPECT_NE(error.message.find(word), std::string::npos)
        << "'" << word << "' is not in: " << error.message;
  }
}

TEST(ReshardErrors, ShapesDiffer) {
  refuses("tensor<8x8xf32, pyflame.Grid(2, 2)>", "tensor<8x9xf32, pyflame.Grid(2, 2)>",
          physical("[4, 4]"), ErrorCode::kShapeMismatch, {"[8, 8]", "[8, 9]"});
  refuses("tensor<64xf32, pyflame.RowPartition(2)>", "tensor<8x8xf32, pyflame.RowPartition(2)>",
          physical("[4, 4]"), ErrorCode::kShapeMismatch, {"[64]", "[8, 8]"});
}

TEST(ReshardErrors, TypesDiffer) {
  refuses("tensor<8x8xf32, pyflame.Grid(2, 2)>", "tensor<8x8xbf16, pyflame.Grid(2, 2)>",
          physical("[4, 4]"), ErrorCode::kBadDType, {"f32", "bf16"});
  // The same logical type, stored as block floats on one side.
  refuses(
      "tensor<8x8xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <1x1>, "
      "memref<1x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>>>",
      "tensor<8x8xf32, pyflame.Grid(2, 2)>", physical("[4, 4]"), ErrorCode::kBadDType,
      {"f32", "bfp_bf8"});
}

TEST(ReshardErrors, PlacesOutsideTheTarget) {
  const std::string inside = "tensor<8x8xf32, pyflame.Grid(2, 2)>";
  refuses(inside, "tensor<8x8xf32, pyflame.Grid(5, 2)>", physical("[4, 4]"), ErrorCode::kOutOfRange,
          {"4", "4x4"});
  refuses("tensor<8x8xf32, pyflame.Grid(2, 2, origin=(1, 3))>", inside, physical("[4, 4]"),
          ErrorCode::kOutOfRange, {"4x4"});
  refuses(inside, "tensor<8x8xf32, gspmd{devices=[17,1]<=[17]}>", physical("[4, 4]"),
          ErrorCode::kOutOfRange, {"number 16", "4x4", "0 to 15"});
  refuses(inside, "tensor<8x8xf32, pyflame.Custom(2, 1, [(0, 0), (4, 1)])>", physical("[4, 4]"),
          ErrorCode::kOutOfRange, {"4"});
  // Tiles without elements are places, too: the layout allocates memory there.
  refuses(inside, "tensor<8x8xf32, pyflame.Grid(5, 1, dim_to_pe=[-1, -1])>", physical("[4, 4]"),
          ErrorCode::kOutOfRange, {"4x4"});
}

TEST(ReshardErrors, DeadPlaces) {
  const std::string single = "tensor<8x8xf32, pyflame.SinglePE()>";
  const PhysicalMesh one = physical("[4, 4]", R"(, "dead": [[1, 1]])");
  refuses(single, "tensor<8x8xf32, pyflame.Grid(2, 2)>", one, ErrorCode::kOutOfRange,
          {"dead", "[1, 1]"});
  const PhysicalMesh several = physical("[4, 4]", R"(, "dead": [{"from": [1, 0], "to": [1, 3]}])");
  refuses("tensor<8x8xf32, pyflame.ColPartition(3, origin=(1, 1))>", single, several,
          ErrorCode::kOutOfRange, {"dead", "3 ", "[1, 1]"});
  refuses(single, "tensor<8x8xf32, gspmd{devices=[6,1]<=[6]}>", several, ErrorCode::kOutOfRange,
          {"dead", "2 ", "[1, 0]"});
  EXPECT_TRUE(
      Reshard::make(placed(single), placed("tensor<8x8xf32, pyflame.ColPartition(4)>"), several)
          .ok());
}

TEST(ReshardErrors, RanksThatDoNotMeet) {
  const std::string cube =
      "tensor<8x8xf32, dtensor<mesh=[2,2,2], [Shard(0), Shard(1), Replicate()]>>";
  refuses(cube, "tensor<8x8xf32, pyflame.Grid(2, 2)>", physical("[4, 4]"), ErrorCode::kMeshMismatch,
          {"3", "2x2x2", "4x4"});
  const Result<PhysicalMesh> around =
      PhysicalMesh::around(placed(cube), placed("tensor<8x8xf32, pyflame.Grid(2, 2)>"));
  ASSERT_FALSE(around.ok());
  EXPECT_EQ(around.error().code, ErrorCode::kMeshMismatch);
  for (const char* mesh : {"[2, 2, 2]", "[2, 2] "}) {
    EXPECT_NE(cat(around.error().message, " ").find(mesh), std::string::npos) << mesh;
  }
  EXPECT_FALSE(around.error().help.empty());
}

TEST(ReshardErrors, SinglePlacesMeetEveryRank) {
  const Placement single = placed("tensor<8x8xf32, pyflame.SinglePE()>");
  const Placement cube =
      placed("tensor<8x8xf32, dtensor<mesh=[2,2,2], [Shard(0), Shard(1), Replicate()]>>");
  const Result<PhysicalMesh> around = PhysicalMesh::around(single, cube);
  ASSERT_TRUE(around.ok());
  EXPECT_EQ(around->mesh, *Shape::make({2, 2, 2}));
  EXPECT_TRUE(Reshard::make(single, cube, *around).ok());
  EXPECT_TRUE(Reshard::make(cube, single, *around).ok());
}

TEST(ReshardErrors, DestinationsWhoseElementsShareSlots) {
  refuses("tensor<8x8xf32, strided<[8, 1]>>", "tensor<8x8xf32, strided<[1, 1]>>",
          physical("[4, 4]"), ErrorCode::kNotInjective, {"[0, 1]", "[1, 0]"});
  // As a source this is valid: elements are read as often as needed.
  EXPECT_TRUE(Reshard::make(placed("tensor<8x8xf32, strided<[0, 1]>>"),
                            placed("tensor<8x8xf32, strided<[8, 1]>>"), physical("[4, 4]"))
                  .ok());
}

TEST(ReshardErrors, SharesOfSeveralReductions) {
  const std::string mixed = "tensor<8xf32, dtensor<mesh=[2,2], [Partial(sum), Partial(max)]>>";
  const std::string whole = "tensor<8xf32, dtensor<mesh=[2,2], [Shard(0), Replicate()]>>";
  refuses(mixed, whole, physical("[4, 4]"), ErrorCode::kNotSupported, {"sum", "max"});
  refuses(whole, mixed, physical("[4, 4]"), ErrorCode::kNotSupported, {"sum", "max"});
  EXPECT_TRUE(Reshard::make(placed(mixed), placed(mixed), physical("[4, 4]")).ok());
}

TEST(ReshardErrors, NumbersThatDoNotFit) {
  const PhysicalMesh wide = physical("[4, 4]");
  refuses("tensor<4611686018427387904xi8, pyflame.RowPartition(2)>",
          "tensor<4611686018427387904xi8, pyflame.RowPartition(4)>", wide, ErrorCode::kOverflow,
          {"64-bit"});
  refuses("tensor<288230376151711744xi8, pyflame.SinglePE()>",
          "tensor<288230376151711744xi8, pyflame.Grid(4, 4, replicate=[0, 1])>", wide,
          ErrorCode::kOverflow, {"64-bit"});
  // Large is not too large: 2^40 elements have places and costs.
  EXPECT_TRUE(Reshard::make(placed("tensor<1099511627776xf32, pyflame.RowPartition(3)>"),
                            placed("tensor<1099511627776xf32, pyflame.RowPartition(4)>"), wide)
                  .ok());
}

TEST(ReshardErrors, MachinesThatAreNone) {
  Machine machine;
  EXPECT_FALSE(PhysicalMesh::of(machine).ok());
}

TEST(ReshardErrors, MeshesWithoutRoutesSayWhy) {
  for (const std::string name : {"wormhole", "spyre"}) {
    const Result<const Machine*> machine = find_machine(name);
    ASSERT_TRUE(machine.ok());
    const Result<PhysicalMesh> made = PhysicalMesh::of(**machine);
    ASSERT_TRUE(made.ok());
    EXPECT_FALSE(made->fabric.has_value());
    EXPECT_NE(made->why_no_fabric.find(name), std::string::npos) << made->why_no_fabric;
  }
  const Result<PhysicalMesh> wafer = PhysicalMesh::of(**find_machine("wse2"));
  ASSERT_TRUE(wafer.ok() && wafer->fabric);
  EXPECT_EQ(wafer->fabric->rows, 994);
  EXPECT_EQ(wafer->fabric->cols, 750);
  EXPECT_EQ(wafer->why_no_fabric, "");
}

TEST(ReshardErrors, CyclesThatDoNotFit) {
  PhysicalMesh slow = physical("[4, 4]");
  slow.fabric = fabric::FabricMesh{4, 4, 32, INT64_MAX / 2, 1};
  const auto reshard = Reshard::make(placed("tensor<8x8xf32, pyflame.Grid(2, 2)>"),
                                     placed("tensor<8x8xf32, pyflame.Grid(4, 1)>"), slow);
  ASSERT_TRUE(reshard.ok()) << reshard.error().message;
  const Result<ReshardCost> cost = cost_of(*reshard);
  ASSERT_FALSE(cost.ok());
  EXPECT_EQ(cost.error().code, ErrorCode::kOverflow);
}

TEST(ReshardErrors, LinksThatAreTooManyToList) {
  PhysicalMesh wide = physical("[8192, 8192]");
  wide.fabric = fabric::FabricMesh{8192, 8192};
  const auto reshard = Reshard::make(placed("tensor<8x8xf32, pyflame.Grid(2, 2)>"),
                                     placed("tensor<8x8xf32, pyflame.Grid(4, 1)>"), wide);
  ASSERT_TRUE(reshard.ok()) << reshard.error().message;
  EXPECT_TRUE(cost_of(*reshard).ok());
  const Result<LinkLoads> loads = link_loads(*reshard);
  ASSERT_FALSE(loads.ok());
  EXPECT_EQ(loads.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(test::figures(loads.error().message).find("67108864"), std::string::npos);
}

TEST(ReshardErrors, AnAxisThatIsTooLong) {
  const auto reshard =
      Reshard::make(placed("tensor<8x8xf32, pyflame.Grid(1, 4)>"),
                    placed("tensor<8x8xf32, pyflame.Grid(1, 2)>"), physical("[1, 67108864]"));
  ASSERT_TRUE(reshard.ok()) << reshard.error().message;
  const Result<ReshardCost> cost = cost_of(*reshard);
  ASSERT_FALSE(cost.ok());
  EXPECT_EQ(cost.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(test::figures(cost.error().message).find("67108864"), std::string::npos);
}

/// Each of four elements has copies on 2^24 places, and one dim decides their rows and columns.
TEST(ReshardErrors, CopiesThatAreTooManyToList) {
  const Placement column =
      placed("tensor<4xf32, native<mesh=[8192, 8192], {d0} / (1 -> m0), fixed(m1=0)>>");
  const Placement quarters = placed(
      "tensor<4xf32, native<mesh=[8192, 8192], {d0} / (2 -> m0*4096, 1 -> m1*4096), "
      "replicate(m0#4096), replicate(m1#4096)>>");
  for (const Placement& from : {column, quarters}) {
    const auto reshard = Reshard::make(from, quarters, physical("[8192, 8192]"));
    ASSERT_TRUE(reshard.ok()) << reshard.error().message;
    const Result<ReshardCost> cost = cost_of(*reshard);
    ASSERT_FALSE(cost.ok());
    EXPECT_EQ(cost.error().code, ErrorCode::kTooLarge);
    EXPECT_NE(test::figures(cost.error().message).find("16777216"), std::string::npos)
        << cost.error().message;
  }
}

}  // namespace
}  // namespace tessera::reshard
