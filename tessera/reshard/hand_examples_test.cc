// SPDX-License-Identifier: Apache-2.0
// Small reshards with every number computed by hand, compared with the reference and the library.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/notation/notation.h"
#include "tessera/reshard/part.h"
#include "tessera/testing/reshard/reshard_laws.h"

namespace tessera::test {
namespace {

ReshardPair pair_of(std::string_view from, std::string_view to, std::vector<std::int64_t> mesh) {
  const Result<Tensor> a = parse_tensor(from);
  const Result<Tensor> b = parse_tensor(to);
  EXPECT_TRUE(a.ok()) << from;
  EXPECT_TRUE(b.ok()) << to;
  return {a->placement, b->placement, physical_of(*Shape::make(std::move(mesh)))};
}

void costs(const ReshardPair& pair, const reshard::ReshardCost& cost) {
  const NaiveReshard moves = naive_reshard(pair.from, pair.to, pair.physical);
  EXPECT_EQ(cost_text(naive_cost(moves, pair.from, pair.physical)), cost_text(cost))
      << describe(pair);
  for (const auto law :
       {transfer_mistake, pairs_mistake, cost_mistake, loads_mistake, kind_mistake}) {
    EXPECT_EQ(law(pair, moves), "") << describe(pair);
  }
}

void is_kind(const ReshardPair& pair, reshard::ReshardKind kind) {
  const NaiveReshard moves = naive_reshard(pair.from, pair.to, pair.physical);
  EXPECT_EQ(reshard::kind_name(naive_kind(moves, pair.from, pair.to, pair.physical)),
            reshard::kind_name(kind))
      << describe(pair);
  EXPECT_EQ(kind_mistake(pair, moves), "") << describe(pair);
}

// Copies in columns 0 and 4 of one row. Column 2 is equally near to both: the smaller number sends.
// Column 3 is one step from column 4.
TEST(HandExamples, TheNearestCopySends) {
  const std::string from =
      "tensor<4xf32, native<mesh=[1, 5], {d0} / (1 -> mem), fixed(m0=0), replicate(m1#2*4)>>";
  const ReshardPair middle = pair_of(
      from, "tensor<4xf32, native<mesh=[1, 5], {d0} / (1 -> mem), fixed(m0=0), fixed(m1=2)>>",
      {1, 5});
  costs(middle, {16, 0, 1, 4, reshard::FabricCost{8, 8, 4, 4, 2, 1, 11}});
  EXPECT_EQ(naive_loads(naive_reshard(middle.from, middle.to, middle.physical), middle.from,
                        middle.physical)
                .east,
            (std::vector<std::int64_t>{4, 4, 0, 0, 0}));
  costs(pair_of(from,
                "tensor<4xf32, native<mesh=[1, 5], {d0} / (1 -> mem), fixed(m0=0), fixed(m1=3)>>",
                {1, 5}),
        {16, 0, 1, 4, reshard::FabricCost{4, 4, 4, 4, 1, 1, 10}});
}

// A row of 3 places keeps shares of 4 elements; the first place receives the others' shares and has
// its own. West out of column 2: 4 wavelets, out of column 1: 8. max(8, 8 + 2) + 5 cycles.
TEST(HandExamples, SharesAreCombined) {
  const ReshardPair pair = pair_of(
      "tensor<4xf32, native<mesh=[1, 3], {d0} / (1 -> mem), fixed(m0=0), partial(m1, sum)>>",
      "tensor<4xf32, pyflame.SinglePE()>", {1, 3});
  costs(pair, {32, 16, 2, 8, reshard::FabricCost{12, 12, 8, 8, 2, 1, 15}});
  is_kind(pair, reshard::ReshardKind::kReduce);
}

// In the other direction share 0 is the value, and the other shares start as 0: nothing crosses.
TEST(HandExamples, SharesAreBorn) {
  const ReshardPair pair = pair_of(
      "tensor<4xf32, pyflame.SinglePE()>",
      "tensor<4xf32, native<mesh=[1, 3], {d0} / (1 -> mem), fixed(m0=0), partial(m1, sum)>>",
      {1, 3});
  costs(pair, {0, 16, 0, 0, reshard::FabricCost{}});
  is_kind(pair, reshard::ReshardKind::kScatter);
}

// Shares that are alike move one by one: share i from column i to column 2 - i. Columns 0 and 2
// exchange 4 wavelets each over 2 links, column 1 keeps its own.
TEST(HandExamples, SharesAlikeMoveOneByOne) {
  const ReshardPair pair = pair_of(
      "tensor<4xf32, native<mesh=[1, 3], {d0} / (1 -> mem), fixed(m0=0), partial(m1, sum)>>",
      "tensor<4xf32, native<mesh=[1, 3], {d0} / (1 -> mem), fixed(m0=0), partial(m1, sum), "
      "device=folded([1, 3], {d0} / (1 -> m0), {-d1 + 2} / (1 -> m1))>>",
      {1, 3});
  costs(pair, {32, 16, 2, 8, reshard::FabricCost{16, 16, 4, 4, 2, 1, 11}});
  is_kind(pair, reshard::ReshardKind::kRedistribute);
}

// Six pages over two banks hold one element each; in B the first three are on bank 0. Element 1
// crosses from bank 1, element 4 from bank 0, the others change slots.
TEST(HandExamples, StackedPagesAreOnePlace) {
  costs(pair_of("tensor<6xf32, native<mesh=[6], {d0} / (1 -> m0), "
                "device=folded([2], {d0} / (2 -> mem, 1 -> m0))>>",
                "tensor<6xf32, native<mesh=[2], {d0} / (3 -> m0, 1 -> mem)>>", {2}),
        {8, 16, 2, 2, reshard::FabricCost{2, 2, 1, 1, 1, 1, 7}});
}

// Two elements from the middle of 3x3 to all: east and west, then north and south in each of three
// columns: 8 links. Four places are 1 step away, four 2 steps.
TEST(HandExamples, AMulticastIsATree) {
  const ReshardPair pair =
      pair_of("tensor<2xf32, native<mesh=[3, 3], {d0} / (1 -> mem), fixed(m0=1), fixed(m1=1)>>",
              "tensor<2xf32, native<mesh=[3, 3], {d0} / (1 -> mem), replicate(m0), replicate(m1)>>",
              {3, 3});
  costs(pair, {64, 8, 8, 16, reshard::FabricCost{24, 16, 2, 2, 2, 1, 9}});
  const reshard::LinkLoads loads =
      naive_loads(naive_reshard(pair.from, pair.to, pair.physical), pair.from, pair.physical);
  EXPECT_EQ(loads.east, (std::vector<std::int64_t>{0, 0, 0, 0, 2, 0, 0, 0, 0}));
  EXPECT_EQ(loads.west, (std::vector<std::int64_t>{0, 0, 0, 0, 2, 0, 0, 0, 0}));
  EXPECT_EQ(loads.north, (std::vector<std::int64_t>{0, 0, 0, 2, 2, 2, 0, 0, 0}));
  EXPECT_EQ(loads.south, (std::vector<std::int64_t>{0, 0, 0, 2, 2, 2, 0, 0, 0}));
}

// Element 0 goes to columns 1 and 2, element 1 only to column 1: two trees of one wavelet each,
// both over the first link, although the message to column 1 would fit in one wavelet.
TEST(HandExamples, TreesRoundUpOneByOne) {
  costs(pair_of("tensor<2xi4, native<mesh=[1, 3], {d0} / (1 -> mem), fixed(m0=0), fixed(m1=0)>>",
                "tensor<2xi4, native.pieces<[0:1] native<mesh=[1, 3], {d0} / (1 -> mem), "
                "fixed(m0=0), fixed(m1=1), replicate(m1#2)>, [1:2] native<mesh=[1, 3], {d0} / (1 "
                "-> mem), fixed(m0=0), fixed(m1=1), offset=1>>>",
                {1, 3}),
        {2, 0, 2, 2, reshard::FabricCost{3, 3, 2, 2, 2, 1, 9}});
}

// Element n is on virtual place n of 3x2, counted row by row, which is at (n mod 2, n div 2) on
// 2x3: a step of d0 is three places further, from one row of the virtual mesh into another. Routes
// have lengths 1, 1, 2, 2 and 3; 4 elements go east from (0, 0), 2 of them further; 5 leave by its
// ramp. max(5, 4 + 3) + 5.
TEST(HandExamples, ALineRunsFromAxisToAxis) {
  const ReshardPair pair =
      pair_of("tensor<2x3xf32, strided<[3, 1]>>",
              "tensor<2x3xf32, native<mesh=[3, 2], {3*d0 + d1} / (2 -> m0, 1 -> m1), "
              "device=folded([2, 3], {d0} / (1 -> m1), {d1} / (1 -> m0))>>",
              {2, 3});
  costs(pair, {20, 4, 5, 5, reshard::FabricCost{9, 9, 4, 5, 3, 1, 12}});
  is_kind(pair, reshard::ReshardKind::kScatter);
}

// Virtual places (r, c) of 2x3 are numbers 3r + c of a machine two wide: (0, 0), (0, 1), (1, 0), ..
// The numbers are sums of one list per axis, but the coordinates are not, which shows where the
// physical mesh is wider than the map: 3x3. All five others come to (0, 0), west and then north:
// routes of 1, 1, 2, 2 and 3, four elements over the last link north. max(5, 4 + 3) + 5.
TEST(HandExamples, AVirtualMeshCountedOnANarrowerOne) {
  const ReshardPair pair = pair_of(
      "tensor<6xf32, native<mesh=[2, 3], {d0} / (3 -> m0, 1 -> m1), "
      "device=folded([3, 2], {3*d0 + d1} / (2 -> m0, 1 -> m1))>>",
      "tensor<6xf32, pyflame.SinglePE()>", {3, 3});
  costs(pair, {20, 4, 5, 5, reshard::FabricCost{9, 9, 4, 5, 3, 1, 12}});
  is_kind(pair, reshard::ReshardKind::kGather);
}

// Place numbers 0, 1, 3 and 4 are 0 + 0, 0 + 1, 3 + 0 and 3 + 1, but rows 0, 0, 1 and 2 are no such
// sum. One element each comes to (0, 0): from (0, 1) west, from (1, 1) west and north, from (2, 0)
// north twice. max(3, 2 + 2) + 5.
TEST(HandExamples, ATableWhoseNumbersAddUpByChance) {
  const ReshardPair pair = pair_of(
      "tensor<2x2xf32, native<mesh=[2, 2], {d0} / (1 -> m0), {d1} / (1 -> m1), "
      "device=table([3, 2], [[0, 0], [0, 1], [1, 1], [2, 0]])>>",
      "tensor<2x2xf32, pyflame.SinglePE()>", {3, 2});
  costs(pair, {12, 4, 3, 3, reshard::FabricCost{5, 5, 2, 3, 2, 1, 9}});
  is_kind(pair, reshard::ReshardKind::kGather);
}

// 5 elements cross one link: f64 10 wavelets, f32 5, bf16 3, i8 2, i4 1 (and 3 bytes).
TEST(HandExamples, WaveletsRoundUp) {
  struct Row {
    std::string type;
    std::int64_t bytes;
    std::int64_t wavelets;
  };
  for (const Row& row : {Row{"f64", 40, 10}, Row{"f32", 20, 5}, Row{"bf16", 10, 3}, Row{"i8", 5, 2},
                         Row{"i4", 3, 1}}) {
    const std::int64_t w = row.wavelets;
    costs(pair_of("tensor<5x" + row.type + ", pyflame.SinglePE()>",
                  "tensor<5x" + row.type + ", pyflame.SinglePE(origin=(1, 0))>", {2, 1}),
          {row.bytes, 0, 1, w, reshard::FabricCost{w, w, w, w, 1, 1, w + 6}});
  }
}

TEST(HandExamples, Kinds) {
  const std::string grid = "tensor<8x8xf32, pyflame.Grid(2, 4)>";
  const std::string single = "tensor<8x8xf32, pyflame.SinglePE()>";
  is_kind(pair_of("tensor<8x8xf32, pyflame.Grid(4, 1)>", "tensor<8x8xf32, pyflame.RowPartition(4)>",
                  {4, 4}),
          reshard::ReshardKind::kIdentity);
  is_kind(
      pair_of("tensor<0x8xf32, pyflame.Grid(2, 4)>", "tensor<0x8xf32, pyflame.SinglePE()>", {4, 4}),
      reshard::ReshardKind::kIdentity);
  is_kind(pair_of(single, grid, {4, 4}), reshard::ReshardKind::kScatter);
  is_kind(pair_of(grid, single, {4, 4}), reshard::ReshardKind::kGather);
  is_kind(pair_of("tensor<8x8xf32, pyflame.RowPartition(2)>",
                  "tensor<8x8xf32, pyflame.Grid(2, 3, dim_to_pe=[0, -1], replicate=[1])>", {4, 4}),
          reshard::ReshardKind::kReplicate);
  is_kind(pair_of(grid, "tensor<8x8xf32, pyflame.Grid(4, 2, dim_to_pe=[1, 0])>", {4, 4}),
          reshard::ReshardKind::kTranspose);
  is_kind(pair_of(grid, "tensor<8x8xf32, pyflame.Grid(2, 4, origin=(1, 0))>", {4, 4}),
          reshard::ReshardKind::kRedistribute);
  is_kind(pair_of(grid, "tensor<8x8xf32, pyflame.Grid(4, 2)>", {4, 4}),
          reshard::ReshardKind::kReshard);
  // The same places, but columns before rows in memory.
  is_kind(pair_of("tensor<8x8xf32, native<mesh=[2, 1], {d0} / (4 -> m0, 1 -> mem*8), {d1} / (1 -> "
                  "mem), fixed(m1=0)>>",
                  "tensor<8x8xf32, native<mesh=[2, 1], {d0} / (4 -> m0, 1 -> mem), {d1} / (1 -> "
                  "mem*4), fixed(m1=0)>>",
                  {4, 4}),
          reshard::ReshardKind::kReshard);
}

}  // namespace
}  // namespace tessera::test
