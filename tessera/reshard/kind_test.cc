// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tessera/notation/notation.h"
#include "tessera/reshard/reshard.h"
#include "tessera/testing/build.h"
#include "tessera/testing/process.h"
#include "tessera/testing/reshard/reshard_laws.h"
#include "tessera/testing/reshard/reshard_runs.h"

namespace tessera::reshard {
namespace {

using test::fold;
using test::form;
using test::kind_mistake;
using test::kSanitized;
using test::layout;
using test::mem;
using test::on;
using test::reshard_law_holds;
using test::ReshardSource;
using test::x;

std::string kind_between(const Placement& a, const Placement& b) {
  const Result<PhysicalMesh> physical = PhysicalMesh::around(a, b);
  if (!physical.ok()) return physical.error().message;
  const Result<Reshard> reshard = Reshard::make(a, b, *physical);
  if (!reshard.ok()) return reshard.error().message;
  const Result<ReshardKind> kind = kind_of(*reshard);
  return kind.ok() ? std::string(kind_name(*kind)) : kind.error().message;
}

Placement placed(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << text << ": " << (tensor.ok() ? "" : tensor.error().message);
  return tensor->placement;
}

TEST(Kind, FirstThatFits) {
  struct Case {
    std::string shape, a, b, kind;
  };
  const std::vector<Case> cases = {
      {"8x8", "Grid(2, 4)", "Grid(2, 4)", "IDENTITY"},
      {"8x8", "Grid(4, 1)", "RowPartition(4)", "IDENTITY"},
      {"8x8", "SinglePE()", "Grid(1, 1)", "IDENTITY"},
      {"0x8", "SinglePE()", "Grid(2, 2)", "IDENTITY"},
      // Blocks as long as a place's share are dealt out once.
      {"8x8", "BlockCyclic(2, 2, 4, 4)", "Grid(2, 2)", "IDENTITY"},
      {"8x8", "Custom(2, 2, [(0, 0), (0, 1), (1, 0), (1, 1)])", "Grid(2, 2)", "IDENTITY"},
      {"8x8", "Grid(2, 2, partial=[0:sum], dim_to_pe=[-1, 1])",
       "Grid(2, 2, partial=[0:sum], dim_to_pe=[-1, 1])", "IDENTITY"},
      {"8x8", "Grid(2, 2, partial=[0:sum], dim_to_pe=[-1, 1])", "Grid(2, 2)", "REDUCE"},
      {"8x8", "Grid(2, 2, partial=[0:sum], dim_to_pe=[-1, 1])", "SinglePE()", "REDUCE"},
      // Two shares become four: nothing is reduced, and the tiles (columns) are the same.
      {"8x8", "Grid(2, 2, partial=[0:sum], dim_to_pe=[-1, 1])",
       "Grid(4, 2, partial=[0:sum], dim_to_pe=[-1, 1])", "REDISTRIBUTE"},
      {"8x8", "SinglePE()", "Grid(2, 2)", "SCATTER"},
      {"8x8", "SinglePE()", "Grid(2, 2, replicate=[0, 1], dim_to_pe=[-1, -1])", "SCATTER"},
      {"8x8", "Grid(2, 2)", "SinglePE()", "GATHER"},
      {"8x8", "Grid(2, 2)", "Grid(1, 1, origin=(3, 3))", "GATHER"},
      {"8x8", "Grid(1, 1, origin=(3, 3))", "Grid(1, 1, origin=(0, 2))", "REDISTRIBUTE"},
      {"8x8", "ColPartition(4)", "Grid(3, 4, replicate=[0], dim_to_pe=[-1, 1])", "REPLICATE"},
      {"8x8", "Grid(3, 4, replicate=[0], dim_to_pe=[-1, 1])", "ColPartition(4)", "REDISTRIBUTE"},
      {"8x8", "ColPartition(4)", "Grid(3, 2, replicate=[0], dim_to_pe=[-1, 1])", "RESHARD"},
      {"8x8", "Grid(2, 4)", "Grid(4, 2, dim_to_pe=[1, 0])", "TRANSPOSE"},
      {"8x8", "RowPartition(4)", "Grid(1, 4, dim_to_pe=[1, 0])", "TRANSPOSE"},
      {"8x8", "Grid(2, 4)", "Grid(2, 4, origin=(1, 1))", "REDISTRIBUTE"},
      {"8x8", "Grid(2, 2)", "Custom(2, 2, [(1, 1), (1, 0), (0, 1), (0, 0)])", "REDISTRIBUTE"},
      {"8x8", "Grid(2, 2)", "Grid(4, 1)", "RESHARD"},
      {"8x8", "Grid(2, 2)", "BlockCyclic(2, 2, 1, 1)", "RESHARD"},
      // Columns cut in 4 and rows cut in 4 are different sets of elements.
      {"8x8", "RowPartition(4)", "ColPartition(4)", "RESHARD"},
  };
  for (const Case& c : cases) {
    const auto text = [&](const std::string& layout) {
      return "tensor<" + c.shape + "xf32, pyflame." + layout + ">";
    };
    EXPECT_EQ(kind_between(placed(text(c.a)), placed(text(c.b))), c.kind) << c.a << " -> " << c.b;
  }
}

TEST(Kind, ChangesOfSlotsAlone) {
  const Placement rows = placed("tensor<4x6xf32, strided<[6, 1]>>");
  EXPECT_EQ(kind_between(rows, placed("tensor<4x6xf32, strided<[1, 4]>>")), "RESHARD");
  EXPECT_EQ(kind_between(rows, placed("tensor<4x6xf32, strided<[6, 1], offset: 2>>")), "RESHARD");
  EXPECT_EQ(kind_between(rows, rows), "IDENTITY");
}

TEST(Kind, PiecesAndDeviceNumbers) {
  const auto between = [](const std::string& a, const std::string& b) {
    return kind_between(placed(a), placed(b));
  };
  const std::string chunks = "tensor<5x4xf32, dtensor<mesh=[2,2], [Shard(0), Shard(0)]>>";
  const std::string turned = "tensor<5x4xf32, dtensor<mesh=[2,2], [Replicate(), Shard(0)]>>";
  EXPECT_EQ(between(chunks, chunks), "IDENTITY");
  EXPECT_EQ(between(chunks, turned), "RESHARD");
  const std::string devices = "tensor<8x8xf32, gspmd{devices=[4,2]<=[8]}>";
  EXPECT_EQ(between(devices, "tensor<8x8xf32, gspmd{devices=[4,2]0,1,2,3,4,5,6,7}>"), "IDENTITY");
  EXPECT_EQ(between(devices, "tensor<8x8xf32, gspmd{devices=[4,2]1,0,2,3,4,5,6,7}>"),
            "REDISTRIBUTE");
  EXPECT_EQ(between(devices, "tensor<8x8xf32, gspmd{devices=[2,4]<=[8]}>"), "RESHARD");
}

TEST(Kind, TilesOfOneLineOverBothAxes) {
  // 60 elements, 5 per place of 3x4, dealt out row by row and column by column: the same tiles.
  const Layout by_rows =
      layout(form({60}, {3, 4}, {fold(x(0), {on(0, 20, 3), on(1, 5, 4), mem(1, 5, 1)})}));
  const Layout by_cols =
      layout(form({60}, {3, 4}, {fold(x(0), {on(1, 15, 4), on(0, 5, 3), mem(1, 5, 1)})}));
  EXPECT_EQ(kind_between(Placement(by_rows), Placement(by_cols)), "REDISTRIBUTE");
  const Layout exchanged =
      layout(form({60}, {4, 3}, {fold(x(0), {on(1, 20, 3), on(0, 5, 4), mem(1, 5, 1)})}));
  EXPECT_EQ(kind_between(Placement(by_rows), Placement(exchanged)), "TRANSPOSE");
}

TEST(Kind, KindsOfRandomPairsAreThoseOfEveryElement) {
  reshard_law_holds(4000, ReshardSource::kForms, kind_mistake);
  reshard_law_holds(1000, ReshardSource::kTexts, kind_mistake);
}

TEST(Kind, AWaferTakesNoWalk) {
  const Placement a = placed("tensor<8192x8192xf32, pyflame.Grid(994, 750)>");
  const Placement b = placed("tensor<8192x8192xf32, pyflame.Grid(750, 994, dim_to_pe=[1, 0])>");
  const Result<PhysicalMesh> physical = PhysicalMesh::around(a, b);
  const Result<Reshard> reshard = Reshard::make(a, b, *physical);
  ASSERT_TRUE(reshard.ok());
  // 745,500 places and more pairs: a walk takes tens of milliseconds. The best of several runs,
  // because others use the machine too.
  std::chrono::nanoseconds best = std::chrono::seconds(1);
  for (int i = 0; i < 10; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(*kind_of(*reshard), ReshardKind::kTranspose);
    best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_LT(best, std::chrono::milliseconds(kSanitized ? 500 : 5));
}

}  // namespace
}  // namespace tessera::reshard
