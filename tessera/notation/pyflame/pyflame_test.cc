// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/pyflame/pyflame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"
#include "tessera/notation/notation.h"

namespace tessera::notation {
namespace {

Tensor read(const std::string& text) {
  Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  return *std::move(tensor);
}

Layout layout_of(const std::string& text) { return read(text).layout(); }

/// The index ranges that each place holds, as "from:to" per dim; "-" for a place without data.
std::vector<std::string> tiles(const Layout& layout) {
  std::vector<std::string> out;
  for (std::int64_t place = 0; place < layout.places(); ++place) {
    const Result<Tile> tile = tile_of(layout, layout.mesh().delinear(place));
    EXPECT_TRUE(tile.ok());
    std::string text;
    for (const Box& box : tile->boxes) {
      for (std::size_t dim = 0; dim < box.from.size(); ++dim) {
        text += (dim == 0 ? text.empty() ? "" : " + " : ",") + std::to_string(box.from[dim]) + ":" +
                std::to_string(box.to[dim]);
      }
    }
    out.push_back(text.empty() ? "-" : text);
  }
  return out;
}

struct At {
  Index index;
  std::vector<Place> places;
  std::int64_t slot;
};

void expect_at(const std::string& text, const std::vector<At>& expected) {
  SCOPED_TRACE(text);
  const Layout layout = layout_of(text);
  for (const At& at : expected) {
    const Result<Location> location = layout.locate(at.index);
    ASSERT_TRUE(location.ok()) << location.error().message;
    EXPECT_EQ(location->places, at.places) << ::testing::PrintToString(at.index);
    EXPECT_EQ(location->slot, at.slot) << ::testing::PrintToString(at.index);
  }
}

bool same(const std::string& a, const std::string& b) {
  const Result<Comparison> comparison = same_function(layout_of(a), layout_of(b));
  EXPECT_TRUE(comparison.ok()) << comparison.error().message;
  return comparison->equal;
}

// The examples of section 3.2 of the PyFlame document: [1024, 1024] of four bytes each is 4 MiB.

TEST(PyflameExamples, ASinglePeHoldsEverything) {
  const Layout layout = layout_of("tensor<1024x1024xf32, pyflame.SinglePE()>");
  EXPECT_EQ(layout.mesh(), *Shape::make({1, 1}));
  EXPECT_EQ(tiles(layout), std::vector<std::string>{"0:1024,0:1024"});
  EXPECT_EQ(layout.shard_bytes(), 4 * 1024 * 1024);  // far above a PE's 48 KiB
  EXPECT_EQ(layout.locate({3, 5})->slot, 3 * 1024 + 5);
}

TEST(PyflameExamples, RowPartitionOf4Has256RowsEach) {
  const Layout layout = layout_of("tensor<1024x1024xf32, pyflame.RowPartition(4)>");
  EXPECT_EQ(layout.mesh(), *Shape::make({4, 1}));
  EXPECT_EQ(tiles(layout), (std::vector<std::string>{"0:256,0:1024", "256:512,0:1024",
                                                     "512:768,0:1024", "768:1024,0:1024"}));
  EXPECT_EQ(layout.shard_bytes(), 1024 * 1024);
}

TEST(PyflameExamples, Grid32x32Has4KiBEach) {
  const Layout layout = layout_of("tensor<1024x1024xf32, pyflame.Grid(32, 32)>");
  EXPECT_EQ(layout.places(), 1024);
  EXPECT_EQ(layout.shard_bytes(), 32 * 32 * 4);
  EXPECT_EQ(layout.allocated_bytes(), 4 * 1024 * 1024);
  expect_at("tensor<1024x1024xf32, pyflame.Grid(32, 32)>", {{{0, 0}, {{0, 0}}, 0},
                                                            {{31, 32}, {{0, 1}}, 992},
                                                            {{40, 1023}, {{1, 31}}, 8 * 32 + 31},
                                                            {{1023, 1023}, {{31, 31}}, 1023}});
}

TEST(PyflameExamples, ColPartitionSplitsColumns) {
  // 6 columns on 4 PEs: ceil(6/4) = 2, so 2, 2, 2, 0.
  EXPECT_EQ(tiles(layout_of("tensor<3x6xf32, pyflame.ColPartition(4)>")),
            (std::vector<std::string>{"0:3,0:2", "0:3,2:4", "0:3,4:6", "-"}));
  EXPECT_EQ(layout_of("tensor<3x6xf32, pyflame.ColPartition(4)>").mesh(), *Shape::make({1, 4}));
}

// Rows come first, on a wafer of 994 rows and 750 columns.
TEST(PyflameErrata, TheWholeWaferIsRowsByColumns) {
  const Layout layout = layout_of("tensor<9940x7500xf16, pyflame.Grid(994, 750)>");
  EXPECT_EQ(layout.places(), 745500);
  EXPECT_EQ(layout.slots(), 100);
  expect_at("tensor<9940x7500xf16, pyflame.Grid(994, 750)>", {{{9939, 7}, {{993, 0}}, 97}});
}

// Tile i is [min(i·t, n), min((i+1)·t, n)), t = ceil(n/p).
TEST(PyflameErrata, UnevenSplitsAreClippedAndMayBeEmpty) {
  EXPECT_EQ(tiles(layout_of("tensor<5xf32, pyflame.RowPartition(4)>")),
            (std::vector<std::string>{"0:2", "2:4", "4:5", "-"}));
  EXPECT_EQ(tiles(layout_of("tensor<2xf32, pyflame.RowPartition(5)>")),
            (std::vector<std::string>{"0:1", "1:2", "-", "-", "-"}));
  // t = (ceil(5/2), ceil(7/3)) = (3, 3)
  EXPECT_EQ(
      tiles(layout_of("tensor<5x7xf32, pyflame.Grid(2, 3)>")),
      (std::vector<std::string>{"0:3,0:3", "0:3,3:6", "0:3,6:7", "3:5,0:3", "3:5,3:6", "3:5,6:7"}));
  for (std::int64_t n = 0; n <= 12; ++n) {
    for (std::int64_t p = 1; p <= 7; ++p) {
      const Layout layout = layout_of("tensor<" + std::to_string(n) +
                                      "xf32, pyflame.RowPartition(" + std::to_string(p) + ")>");
      const std::int64_t t = (n + p - 1) / p;
      EXPECT_EQ(layout.slots(), t);
      for (std::int64_t i = 0; i < p; ++i) {
        const Result<Tile> tile = tile_of(layout, {i, 0});
        ASSERT_TRUE(tile.ok());
        EXPECT_EQ(tile->elements, std::min((i + 1) * t, n) - std::min(i * t, n));
      }
    }
  }
}

// Layouts are functions.
TEST(PyflameErrata, LayoutsCompareAsFunctions) {
  EXPECT_TRUE(
      same("tensor<53x63xf32, pyflame.Grid(4, 1)>", "tensor<53x63xf32, pyflame.RowPartition(4)>"));
  EXPECT_TRUE(
      same("tensor<53x63xf32, pyflame.Grid(1, 4)>", "tensor<53x63xf32, pyflame.ColPartition(4)>"));
  EXPECT_TRUE(
      same("tensor<53x63xf32, pyflame.SinglePE()>", "tensor<53x63xf32, pyflame.Grid(1, 1)>"));
  EXPECT_TRUE(same("tensor<53x63xf32, pyflame.BlockCyclic(3, 2, 18, 32)>",
                   "tensor<53x63xf32, pyflame.Grid(3, 2)>"));  // ceil(53/3) = 18, ceil(63/2) = 32
  EXPECT_FALSE(same("tensor<53x63xf32, pyflame.BlockCyclic(3, 2, 17, 32)>",
                    "tensor<53x63xf32, pyflame.Grid(3, 2)>"));
  EXPECT_FALSE(
      same("tensor<53x63xf32, pyflame.Grid(2, 3)>", "tensor<53x63xf32, pyflame.Grid(3, 2)>"));
}

// An origin, replication and partial sums, the order inside a tile.
TEST(PyflameErrata, AnOriginMovesTheGridOverTheWafer) {
  const Layout layout = layout_of("tensor<8x8xf32, pyflame.Grid(4, 2, origin=(10, 20))>");
  EXPECT_EQ(layout.locate({7, 0})->places, std::vector<Place>({{3, 0}}));
  const DeviceMap& map = layout.spec().device_map;
  EXPECT_EQ(map.physical(), *Shape::make({14, 22}));
  EXPECT_EQ(map.map(layout.mesh(), {3, 0}), (PhysicalPlace{{13, 20}, 0}));
  EXPECT_EQ(map.map(layout.mesh(), {0, 1}), (PhysicalPlace{{10, 21}, 0}));
}

TEST(PyflameErrata, CustomNamesThePeOfEachTile) {
  const std::string text =
      "tensor<4x2xf32, pyflame.Custom(2, 2, [(5, 0), (0, 1), (2, 2), (3, 4)], origin=(1, 0))>";
  expect_at(text, {{{0, 0}, {{0, 0}}, 0}, {{1, 1}, {{0, 1}}, 1}, {{3, 0}, {{1, 0}}, 1}});
  const Layout layout = layout_of(text);
  const DeviceMap& map = layout.spec().device_map;
  EXPECT_EQ(map.physical(), *Shape::make({7, 5}));
  EXPECT_EQ(map.map(layout.mesh(), {0, 0}).place, (Place{6, 0}));
  EXPECT_EQ(map.map(layout.mesh(), {0, 1}).place, (Place{1, 1}));
  EXPECT_EQ(map.map(layout.mesh(), {1, 0}).place, (Place{3, 2}));
  EXPECT_EQ(map.map(layout.mesh(), {1, 1}).place, (Place{4, 4}));
}

TEST(PyflameErrata, ReplicatedAxesHoldCopies) {
  // A bias [6] for Grid(2, 3): columns own 2 elements each, every row has a copy.
  expect_at("tensor<6xf32, pyflame.Grid(2, 3, dim_to_pe=[1], replicate=[0])>",
            {{{0}, {{0, 0}, {1, 0}}, 0}, {{3}, {{0, 1}, {1, 1}}, 1}, {{5}, {{0, 2}, {1, 2}}, 1}});
  // By default, dim 0 is not mapped to the replicated rows and stays whole; dim 1 is mapped to the
  // columns.
  expect_at("tensor<4x6xf32, pyflame.Grid(2, 3, replicate=[0])>",
            {{{3, 5}, {{0, 2}, {1, 2}}, 3 * 2 + 1}});
  const Layout everywhere = layout_of("tensor<f32, pyflame.Grid(2, 3, replicate=[0, 1])>");
  EXPECT_EQ(everywhere.locate({})->places.size(), 6u);
}

TEST(PyflameErrata, PartialAxesHoldShares) {
  const Layout layout = layout_of("tensor<4x6xf32, pyflame.Grid(2, 3, partial=[1:max])>");
  EXPECT_EQ(layout.form().fills, std::vector<Fill>{Fill::partial(1, 3, Reduction::kMax)});
  EXPECT_EQ(layout.locate({2, 5})->places, std::vector<Place>({{1, 0}, {1, 1}, {1, 2}}));
  EXPECT_EQ(layout.slots(), 2 * 6);
  EXPECT_FALSE(same("tensor<4x6xf32, pyflame.Grid(2, 3, partial=[1:sum])>",
                    "tensor<4x6xf32, pyflame.Grid(2, 3, replicate=[1])>"));
}

TEST(PyflameErrata, SlotsAreRowMajorOverTheAllocatedTile) {
  // Tiles of 3x3 are allocated on every PE; the last column of PEs holds 1 of 3 columns, and its
  // rows are still 3 slots apart.
  const std::string text = "tensor<5x7xf32, pyflame.Grid(2, 3)>";
  expect_at(text, {{{2, 6}, {{0, 2}}, 6}, {{4, 6}, {{1, 2}}, 3}, {{4, 5}, {{1, 1}}, 5}});
  const Layout layout = layout_of(text);
  EXPECT_EQ(layout.slots(), 9);
  const Result<Slot> beside = layout.element_at({0, 2}, 1);
  ASSERT_TRUE(beside.ok());
  EXPECT_EQ(std::get<Padding>(*beside), Padding{Cause::kGrid});
}

TEST(Pyflame, OtherDimsStayLocal) {
  // [4, 6, 5] on 2x3: tiles of 2x2x5.
  expect_at("tensor<4x6x5xf32, pyflame.Grid(2, 3)>", {{{3, 5, 4}, {{1, 2}}, (1 * 2 + 1) * 5 + 4}});
  // Mapped otherwise: dim 2 (5) on 2 rows has 3 each, dim 0 (4) on 3 columns has 2 each.
  expect_at("tensor<4x6x5xf32, pyflame.Grid(2, 3, dim_to_pe=[1, -1, 0])>",
            {{{3, 5, 4}, {{1, 1}}, (1 * 6 + 5) * 3 + 1}});
}

TEST(Pyflame, OneDimGoesOverBothAxes) {
  // 8388608 elements on 745,500 PEs: 12 each. The last is on PE 699050 = 932·750 + 50, element 9000
  // = 12·750 begins the second row.
  expect_at("tensor<8388608xf32, pyflame.Grid(994, 750, dim_to_pe=[[0, 1]])>",
            {{{8388607}, {{932, 50}}, 7}, {{9000}, {{1, 0}}, 0}});
  // [4, 7] on 2x3: dim 1 in pieces of 2 on 4 of 6 PEs.
  expect_at("tensor<4x7xf32, pyflame.Grid(2, 3, dim_to_pe=[-1, [0, 1]])>", {{{3, 6}, {{1, 0}}, 6}});
}

TEST(Pyflame, AxesThatNoDimUsesHoldDataAtZero) {
  expect_at("tensor<4xf32, pyflame.Grid(2, 3, dim_to_pe=[0])>", {{{3}, {{1, 0}}, 1}});
  expect_at("tensor<4x6xf32, pyflame.RowPartition(2, dim_to_pe=[-1, -1])>",
            {{{3, 5}, {{0, 0}}, 23}});
  expect_at("tensor<4x6xf32, pyflame.RowPartition(2, dim_to_pe=[1, 0])>",
            {{{3, 5}, {{1, 0}}, 3 * 3 + 2}});
  expect_at("tensor<f32, pyflame.Grid(2, 3, dim_to_pe=[])>", {{{}, {{0, 0}}, 0}});
}

TEST(Pyflame, AxesOfOnePeNeedNoDim) {
  expect_at("tensor<f32, pyflame.SinglePE()>", {{{}, {{0, 0}}, 0}});
  expect_at("tensor<4xf32, pyflame.Grid(2, 1)>", {{{3}, {{1, 0}}, 1}});
  expect_at("tensor<4xf32, pyflame.ColPartition(1)>", {{{3}, {{0, 0}}, 3}});
  expect_at("tensor<4xf32, pyflame.BlockCyclic(2, 1, 1, 9)>", {{{3}, {{1, 0}}, 1}});
}

TEST(Pyflame, BlocksAreDealtOutInTurn) {
  // Blocks of 3 on 2 PEs: PE 0 has 0 1 2 6 7 8, PE 1 has 3 4 5 9; both allocate two whole blocks.
  const std::string text = "tensor<10xf32, pyflame.BlockCyclic(2, 1, 3, 1)>";
  expect_at(text, {{{2}, {{0, 0}}, 2},
                   {{3}, {{1, 0}}, 0},
                   {{6}, {{0, 0}}, 3},
                   {{8}, {{0, 0}}, 5},
                   {{9}, {{1, 0}}, 3}});
  EXPECT_EQ(layout_of(text).slots(), 6);
  const Result<Slot> past_the_end = layout_of(text).element_at({1, 0}, 4);
  ASSERT_TRUE(past_the_end.ok());
  EXPECT_EQ(std::get<Padding>(*past_the_end), Padding{Cause::kGrid});
  // [6, 7], blocks of 2x2 on 2x2: 3 row blocks in 2 rounds, 4 column blocks in 2: tiles of 4x4.
  // Element (5, 6): row block 2 is round 1 of PE row 0, local row 2 + 1; column block 3 is round 1
  // of PE column 1, local column 2 + 0.
  const std::string square = "tensor<6x7xf32, pyflame.BlockCyclic(2, 2, 2, 2)>";
  expect_at(square, {{{5, 6}, {{0, 1}}, 3 * 4 + 2}, {{2, 1}, {{1, 0}}, 1}, {{3, 5}, {{1, 0}}, 7}});
  EXPECT_EQ(layout_of(square).slots(), 16);
}

TEST(Pyflame, BlocksLargerThanTheDimAreLegal) {
  const Layout layout = layout_of("tensor<5x6xf32, pyflame.BlockCyclic(2, 2, 100, 2)>");
  EXPECT_EQ(layout.slots(), 5 * 4);  // all 5 rows on PE row 0; 3 blocks of 2 columns in 2 rounds
  EXPECT_EQ(layout.locate({4, 5})->places, std::vector<Place>({{0, 0}}));
  EXPECT_EQ(layout.locate({4, 5})->slot, 4 * 4 + 3);
  EXPECT_TRUE(
      parse_tensor("tensor<5xf32, pyflame.BlockCyclic(4, 1, 9223372036854775807, 1)>").ok());
}

TEST(Pyflame, EmptyTensorsHaveEmptyTiles) {
  for (const std::string text :
       {"tensor<0x4xf32, pyflame.Grid(2, 2)>", "tensor<4x0xf32, pyflame.Grid(2, 2)>",
        "tensor<0xf32, pyflame.BlockCyclic(3, 1, 2, 1)>",
        "tensor<0x0xf32, pyflame.Custom(1, 2, [(0, 1), (0, 0)])>"}) {
    EXPECT_EQ(layout_of(text).slots(), 0) << text;
    EXPECT_EQ(tiles(layout_of(text)).front(), "-");
  }
}

TEST(Pyflame, TextsComeBackAsWritten) {
  for (const std::string layout :
       {"pyflame.SinglePE()", "pyflame.SinglePE(origin=(993, 749))", "pyflame.RowPartition(4)",
        "pyflame.ColPartition(4, dim_to_pe=[-1, -1, 1])", "pyflame.Grid(4, 4)",
        "pyflame.Grid(2, 3, dim_to_pe=[-1, 0, 1], origin=(3, 5))",
        "pyflame.Grid(2, 3, origin=(0, 0))",
        "pyflame.Grid(2, 3, dim_to_pe=[-1, [0, 1], -1], origin=(3, 5))",
        "pyflame.Grid(2, 3, dim_to_pe=[1, -1, -1], origin=(3, 5), replicate=[0])",
        "pyflame.Grid(2, 3, dim_to_pe=[-1, -1, -1], replicate=[0], partial=[1:sum])",
        "pyflame.Grid(2, 3, replicate=[1, 0])", "pyflame.Grid(2, 3, partial=[1:product, 0:min])",
        "pyflame.Grid(2, 3, partial=[0:and, 1:or])",
        "pyflame.BlockCyclic(2, 2, 8, 8, dim_to_pe=[-1, 0, 1])",
        "pyflame.Custom(2, 1, [(0, 1), (7, 0)], partial=[1:max])"}) {
    const std::string text = "tensor<4x5x6xbf16, " + layout + ">";
    const Tensor tensor = read(text);
    EXPECT_EQ(tensor.notation, "pyflame");
    EXPECT_EQ(print_tensor(tensor), text);
  }
}

TEST(Pyflame, ReadsAnyOrderAndNames) {
  for (const auto& [said, printed] : std::vector<std::pair<std::string, std::string>>{
           {"pyflame.Grid(rows=2, cols=3)", "pyflame.Grid(2, 3)"},
           {"pyflame.Grid(2, cols=3)", "pyflame.Grid(2, 3)"},
           {"pyflame.Grid(origin=(1, 2), cols=3, rows=2)", "pyflame.Grid(2, 3, origin=(1, 2))"},
           {"pyflame.RowPartition(num_pes=2)", "pyflame.RowPartition(2)"},
           {"pyflame.ColPartition(num_pes=2)", "pyflame.ColPartition(2)"},
           {"pyflame.BlockCyclic(1, 2, block_cols=4, block_rows=3)",
            "pyflame.BlockCyclic(1, 2, 3, 4)"},
           {"pyflame.Custom(pes=[(0, 1), (2, 2)], rows=1, cols=2)",
            "pyflame.Custom(1, 2, [(0, 1), (2, 2)])"},
           {"pyflame.Grid( 2 , 3,partial = [ 1 : sum ] , replicate=[] )",
            "pyflame.Grid(2, 3, partial=[1:sum])"},
           {"pyflame.Grid(2, 3, replicate=[0], origin=(1, 2), dim_to_pe=[-1, 1])",
            "pyflame.Grid(2, 3, dim_to_pe=[-1, 1], origin=(1, 2), replicate=[0])"}}) {
    EXPECT_EQ(print_tensor(read("tensor<5x6xf32, " + said + ">")),
              "tensor<5x6xf32, " + printed + ">");
  }
}

}  // namespace
}  // namespace tessera::notation
