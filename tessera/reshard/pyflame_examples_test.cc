// SPDX-License-Identifier: Apache-2.0
// The examples of the PyFlame document (sections 5.1 and 7.1) with their true costs, computed by
// hand. All use f32, so one wavelet per element; costs are counted in units of one message.
//
// The library gets the examples as they are. The reference walks each with every dim a sixteenth as
// long, where every place sends a 256th: the same arithmetic.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/reshard.h"
#include "tessera/target/machine.h"
#include "tessera/testing/reshard/naive_reshard.h"
#include "tessera/testing/reshard/reshard_laws.h"
#include "tessera/testing/reshard/reshard_pairs.h"

namespace tessera::test {
namespace {

/// A cost in units of one message's wavelets; every message has the same size.
struct Units {
  std::int64_t wavelets = 0;  ///< of one message of the full example
  std::int64_t local = 0;     ///< amount that stays, in messages
  std::int64_t messages = 0;
  std::int64_t hops = 0;
  std::int64_t link_hops = 0;
  std::int64_t max_link = 0;
  std::int64_t max_ramp = 0;
  std::int64_t longest = 0;
};

reshard::ReshardCost cost_in(const Units& units, std::int64_t wavelets) {
  reshard::ReshardCost cost;
  cost.bytes = units.messages * wavelets * 4;
  cost.local_bytes = units.local * wavelets * 4;
  cost.messages = units.messages;
  cost.wavelets = units.messages * wavelets;
  reshard::FabricCost fabric;
  fabric.hops = units.hops * wavelets;
  fabric.link_hops = units.link_hops * wavelets;
  fabric.max_link_wavelets = units.max_link * wavelets;
  fabric.max_ramp_wavelets = units.max_ramp * wavelets;
  fabric.longest_distance = units.longest;
  fabric.depth = 1;
  fabric.cycles = units.max_link * wavelets + units.longest + 5;  // links are slower than ramps
  cost.fabric = fabric;
  return cost;
}

/// An example: [rows, cols] from one PyFlame layout to another on rows x cols of PEs.
struct Example {
  std::int64_t rows;
  std::int64_t cols;
  std::string from;
  std::string to;
  reshard::ReshardKind kind;
  Units units;
};

Placement placed(std::int64_t rows, std::int64_t cols, const std::string& layout) {
  const Result<Tensor> tensor =
      parse_tensor(cat("tensor<", rows, "x", cols, "xf32, pyflame.", layout, ">"));
  EXPECT_TRUE(tensor.ok()) << layout;
  return tensor->placement;
}

void holds(const Example& example) {
  const Placement from = placed(example.rows / 16, example.cols / 16, example.from);
  const Placement to = placed(example.rows / 16, example.cols / 16, example.to);
  const reshard::PhysicalMesh physical = physical_of(naive_around(from, to).value());
  const NaiveReshard moves = naive_reshard(from, to, physical);
  EXPECT_EQ(cost_text(naive_cost(moves, from, physical)),
            cost_text(cost_in(example.units, example.units.wavelets / 256)));
  EXPECT_EQ(naive_kind(moves, from, to, physical), example.kind);

  const Placement full_from = placed(example.rows, example.cols, example.from);
  const Placement full_to = placed(example.rows, example.cols, example.to);
  const Result<reshard::PhysicalMesh> around = reshard::PhysicalMesh::around(full_from, full_to);
  ASSERT_TRUE(around.ok());
  EXPECT_EQ(around->mesh, physical.mesh);
  for (const reshard::PhysicalMesh& on :
       {*around, reshard::PhysicalMesh::of(**find_machine("wse2")).value()}) {
    const Result<reshard::Reshard> reshard = reshard::Reshard::make(full_from, full_to, on);
    ASSERT_TRUE(reshard.ok());
    const Result<reshard::ReshardCost> cost = reshard::cost_of(*reshard);
    ASSERT_TRUE(cost.ok());
    EXPECT_EQ(cost_text(*cost), cost_text(cost_in(example.units, example.units.wavelets)));
    EXPECT_EQ(reshard::kind_name(reshard::kind_of(*reshard).value()),
              reshard::kind_name(example.kind));
  }
}

// 5.1: A is [1024, 512] by RowPartition(4): 256x512 on each of (0..3, 0). A matmul on 4x4 PEs needs
// those rows on every PE of the row. The tile of 131,072 elements leaves (r, 0) once, eastwards:
//   messages   3 in each of 4 rows; hops 4·(1 + 2 + 3); over the 3 east links of 4 rows: 12
//   a link, a ramp in and a ramp out each carry one tile; the longest route is 3
//   cycles     max(131072, 131072 + 3) + 2·2 + 1 = 131080
TEST(PyflameExamples, MatmulRowsAreReplicatedAlongTheRows) {
  holds({1024,
         512,
         "RowPartition(4)",
         "Grid(4, 4, dim_to_pe=[0, -1], replicate=[1])",
         reshard::ReshardKind::kReplicate,
         {.wavelets = 131072,
          .local = 4,
          .messages = 12,
          .hops = 24,
          .link_hops = 12,
          .max_link = 1,
          .max_ramp = 1,
          .longest = 3}});
}

// 5.1: B is [512, 256] by ColPartition(4): 512x64 on each of (0, 0..3), needed on every PE of the
// column. As above with tiles of 32,768 elements and south for east; 32776 cycles.
TEST(PyflameExamples, MatmulColumnsAreReplicatedAlongTheColumns) {
  holds({512,
         256,
         "ColPartition(4)",
         "Grid(4, 4, dim_to_pe=[-1, 1], replicate=[0])",
         reshard::ReshardKind::kReplicate,
         {.wavelets = 32768,
          .local = 4,
          .messages = 12,
          .hops = 24,
          .link_hops = 12,
          .max_link = 1,
          .max_ramp = 1,
          .longest = 3}});
}

// 5.1, the alternative: both on Grid(4, 4). Of A, (r, 0) keeps 256x128 and sends 32,768 elements to
// each of the 3 others in its row. No two need the same, so the first east link carries 3 messages,
// the next 2, the last 1 (6 per row, as many as hops), and 3 leave one ramp:
//   cycles     max(3·32768, 3·32768 + 3) + 5 = 98312
TEST(PyflameExamples, MatmulRowsAreDealtOutOverTheGrid) {
  holds({1024,
         512,
         "RowPartition(4)",
         "Grid(4, 4)",
         reshard::ReshardKind::kReshard,
         {.wavelets = 32768,
          .local = 4,
          .messages = 12,
          .hops = 24,
          .link_hops = 24,
          .max_link = 3,
          .max_ramp = 3,
          .longest = 3}});
}

// The same for B, 128x64 = 8,192 elements per message, southwards; 24584 cycles.
TEST(PyflameExamples, MatmulColumnsAreDealtOutOverTheGrid) {
  holds({512,
         256,
         "ColPartition(4)",
         "Grid(4, 4)",
         reshard::ReshardKind::kReshard,
         {.wavelets = 8192,
          .local = 4,
          .messages = 12,
          .hops = 24,
          .link_hops = 24,
          .max_link = 3,
          .max_ramp = 3,
          .longest = 3}});
}

// 7.1: a [1024, 512] was Grid(2, 8), 512x64 per PE, and becomes RowPartition(4), 256x512 per PE.
// (r, c) sends 256x64 = 16,384 elements to (2r, 0) and as many to (2r + 1, 0); (0, 0) keeps its
// upper half. 4·8 - 1 messages.
//   hops       c to the west, summed 4·28; |i - r| = 0, 1, 1, 2 southwards for 8 columns each: 32
//   links      west out of column 1 of either row: 7 columns, 2 messages each: 14. South in column
//              0: 8 leave row 0, 16 row 1 (for rows 2 and 3), 8 row 2. Without multicasts all
//              links together are the hops
//   ramps      8 messages into (1..3, 0), 7 into (0, 0), 2 out of any
//   longest    from (1, 7) to (3, 0): 9
//   cycles     max(8·16384, 16·16384 + 9) + 5 = 262158
TEST(PyflameExamples, PropagatedGridBecomesRows) {
  holds({1024,
         512,
         "Grid(2, 8)",
         "RowPartition(4)",
         reshard::ReshardKind::kReshard,
         {.wavelets = 16384,
          .local = 1,
          .messages = 31,
          .hops = 144,
          .link_hops = 144,
          .max_link = 16,
          .max_ramp = 8,
          .longest = 9}});
}

// 7.1 as c = Grid(4, 4) needs it: those rows on every PE of 4 columns. (r, c) sends each half,
// once, to the 4 PEs of row 2r or 2r + 1; (0, 0..3) keep their part of the upper half. 4·8·4 - 4
// messages.
//   hops       Σ |c - j| over c < 8, j < 4 is 28 + 22 + 18 + 16 = 84, for 4 (row, half): 336;
//              |i - r| sums to 4 for 32 (c, j) each: 128
//   links      in each of rows 0 and 1: west out of column k carries (8 - k)·2, together 56, east
//              out of column k < 3 carries (k + 1)·2, together 12. In each of 4 columns: 8, 16 and
//              8 southwards. 2·68 + 4·32 = 264
//   ramps      8 halves into a PE, 2 out of one
TEST(PyflameExamples, PropagatedGridBecomesReplicatedRows) {
  holds({1024,
         512,
         "Grid(2, 8)",
         "Grid(4, 4, dim_to_pe=[0, -1], replicate=[1])",
         reshard::ReshardKind::kReshard,
         {.wavelets = 16384,
          .local = 4,
          .messages = 124,
          .hops = 464,
          .link_hops = 264,
          .max_link = 16,
          .max_ramp = 8,
          .longest = 9}});
}

// 7.1 with a moved to exactly the grid of c: 512x64 per PE to 256x128 per PE. (i div 2, c) sends
// 256x64 = 16,384 elements to (i, c div 2), for i < 4 and c < 8; only (0, 0) to (0, 0) stays. 31
// messages.
//   hops       c - c div 2 sums to 0 + 1 + 1 + 2 + 2 + 3 + 3 + 4 = 16, for 4 i: 64
//              i - i div 2 sums to 4, for 8 c: 32
//   links      west out of column k in either row: c with c div 2 < k <= c. For k = 1..7 that are
//              1, 2, 3, 4, 3, 2, 1, with 2 messages each: at most 8. South in each of 4 columns:
//              2, 4 and 2
//   ramps      2 into any PE, 2 out of any
//   longest    from (1, 7) to (3, 3): 6
//   cycles     max(2·16384, 8·16384 + 6) + 5 = 131083
TEST(PyflameExamples, PropagatedGridBecomesTheOtherGrid) {
  holds({1024,
         512,
         "Grid(2, 8)",
         "Grid(4, 4)",
         reshard::ReshardKind::kReshard,
         {.wavelets = 16384,
          .local = 1,
          .messages = 31,
          .hops = 96,
          .link_hops = 96,
          .max_link = 8,
          .max_ramp = 2,
          .longest = 6}});
}

// The worked example of reshard.h. Two elements leave (0, 0) in one tree: east, south from both
// columns; two leave (1, 0): east, north from both. Hops 2·(1 + 1 + 2) each; 3 links of 2 each, all
// different; 2 in from either side at most: (0, 1) and (1, 1) get 2 from both.
TEST(PyflameExamples, WorkedExampleOfTheEssay) {
  const Result<Tensor> from = parse_tensor("tensor<4xf32, pyflame.RowPartition(2)>");
  const Result<Tensor> to = parse_tensor("tensor<4xf32, pyflame.Grid(2, 2, replicate=[0, 1])>");
  ASSERT_TRUE(from.ok() && to.ok());
  const reshard::PhysicalMesh physical = physical_of(*Shape::make({2, 2}));
  const NaiveReshard moves = naive_reshard(from->placement, to->placement, physical);
  reshard::ReshardCost cost{48, 16, 6, 12, reshard::FabricCost{16, 12, 2, 4, 2, 1, 9}};
  EXPECT_EQ(cost_text(naive_cost(moves, from->placement, physical)), cost_text(cost));
  EXPECT_EQ(cost_mistake({from->placement, to->placement, physical}, moves), "");
  EXPECT_EQ(loads_mistake({from->placement, to->placement, physical}, moves), "");
  const reshard::LinkLoads loads = naive_loads(moves, from->placement, physical);
  EXPECT_EQ(loads.east, (std::vector<std::int64_t>{2, 0, 2, 0}));
  EXPECT_EQ(loads.south, (std::vector<std::int64_t>{2, 2, 0, 0}));
  EXPECT_EQ(loads.north, (std::vector<std::int64_t>{0, 0, 2, 2}));
  EXPECT_EQ(loads.west, (std::vector<std::int64_t>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace tessera::test
