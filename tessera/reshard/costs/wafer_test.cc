// SPDX-License-Identifier: Apache-2.0
// Costs on a whole wafer, where there are too many elements to walk, compared with the list of
// messages: every field and every link, each message along its own route. Without replicas, a
// message is everything that its elements' routes carry.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"
#include "tessera/target/machine.h"
#include "tessera/testing/reshard/reshard_laws.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Loads as differences: what begins and ends at each router, in the order of travel.
struct Travel {
  std::int64_t rows;
  std::int64_t cols;
  std::vector<std::int64_t> east = std::vector<std::int64_t>(at(rows * cols), 0);
  std::vector<std::int64_t> west = east;
  std::vector<std::int64_t> south = east;
  std::vector<std::int64_t> north = east;

  void send(std::int64_t p, std::int64_t q, std::int64_t wavelets) {
    const std::int64_t turn = p / cols * cols + q % cols;
    const bool eastwards = p < turn;
    (eastwards ? east : west)[at(p)] += wavelets;
    (eastwards ? east : west)[at(turn)] -= wavelets;
    const bool southwards = turn < q;
    (southwards ? south : north)[at(turn)] += wavelets;
    (southwards ? south : north)[at(q)] -= wavelets;
  }

  /// The load that leaves each router.
  reshard::LinkLoads loads() {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 1; c < cols; ++c) {
        east[at(r * cols + c)] += east[at(r * cols + c - 1)];
        west[at(r * cols + cols - 1 - c)] += west[at(r * cols + cols - c)];
      }
    }
    for (std::int64_t r = 1; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) {
        south[at(r * cols + c)] += south[at((r - 1) * cols + c)];
        north[at((rows - 1 - r) * cols + c)] += north[at((rows - r) * cols + c)];
      }
    }
    return {
        static_cast<std::int32_t>(rows), static_cast<std::int32_t>(cols), east, west, south, north};
  }
};

void agrees(std::string_view shape_and_type, std::string_view from, std::string_view to,
            std::string_view machine) {
  const Result<Tensor> a = parse_tensor(cat("tensor<", shape_and_type, ", ", from, ">"));
  const Result<Tensor> b = parse_tensor(cat("tensor<", shape_and_type, ", ", to, ">"));
  ASSERT_TRUE(a.ok() && b.ok());
  const Result<reshard::PhysicalMesh> physical = reshard::PhysicalMesh::of(**find_machine(machine));
  ASSERT_TRUE(physical.ok());
  const Result<reshard::Reshard> reshard =
      reshard::Reshard::make(a->placement, b->placement, *physical);
  ASSERT_TRUE(reshard.ok()) << reshard.error().message;
  const Result<reshard::ReshardCost> cost = reshard::cost_of(*reshard);
  ASSERT_TRUE(cost.ok()) << cost.error().message;
  const Result<std::vector<reshard::PairBytes>> pairs =
      reshard::pairs_of(*reshard, std::int64_t{1} << 23);
  ASSERT_TRUE(pairs.ok()) << pairs.error().message;

  Travel travel{physical->mesh[0], physical->mesh[1]};
  reshard::ReshardCost expected;
  reshard::FabricCost fabric;
  std::int64_t crossing = 0;
  std::vector<std::int64_t> in(at(physical->mesh.elements()), 0);
  std::vector<std::int64_t> out = in;
  for (const reshard::PairBytes& pair : *pairs) {
    const std::int64_t wavelets = naive_wavelets(a->placement, *physical, pair.elements);
    const std::int64_t distance = naive_distance(*physical, pair.source, pair.destination);
    expected.bytes += naive_bytes(a->placement, pair.elements);
    ++expected.messages;
    expected.wavelets += wavelets;
    fabric.hops += wavelets * distance;
    fabric.longest_distance = std::max(fabric.longest_distance, distance);
    in[at(pair.destination)] += wavelets;
    out[at(pair.source)] += wavelets;
    crossing += pair.elements;
    travel.send(pair.source, pair.destination, wavelets);
  }
  // Everything that does not cross stays. Elements of whole bytes need no rounding per place.
  expected.local_bytes = naive_bytes(a->placement, a->shape().elements() - crossing);
  fabric.max_ramp_wavelets =
      std::max(*std::max_element(in.begin(), in.end()), *std::max_element(out.begin(), out.end()));
  const reshard::LinkLoads loads = travel.loads();
  for (const auto* way : {&loads.east, &loads.west, &loads.south, &loads.north}) {
    for (const std::int64_t load : *way) {
      fabric.link_hops += load;
      fabric.max_link_wavelets = std::max(fabric.max_link_wavelets, load);
    }
  }
  fabric.depth = 1;
  fabric.cycles =
      std::max(fabric.max_ramp_wavelets, fabric.max_link_wavelets + fabric.longest_distance) +
      2 * physical->fabric->ramp_cycles + 1;
  expected.fabric = fabric;
  EXPECT_EQ(cost_text(*cost), cost_text(expected));
  const Result<reshard::LinkLoads> answer = reshard::link_loads(*reshard);
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->east == loads.east && answer->west == loads.west &&
              answer->south == loads.south && answer->north == loads.north);
}

TEST(Wafer, GridToSmallerGrid) {
  agrees("8192x8192xf32", "pyflame.Grid(994, 750)", "pyflame.Grid(700, 600, origin=(200, 100))",
         "wse2");
}

TEST(Wafer, Transpose) {
  agrees("4096x4096xbf16", "pyflame.Grid(500, 700)", "pyflame.Grid(700, 500, dim_to_pe=[1, 0])",
         "wse2");
}

TEST(Wafer, RowsToColumns) {
  agrees("8000x30xf32", "pyflame.RowPartition(990)", "pyflame.Grid(1, 740, dim_to_pe=[1, -1])",
         "wse2");
}

TEST(Wafer, BlockCyclicToGrid) {
  agrees("1000x1200xf64", "pyflame.BlockCyclic(64, 60, 3, 5)", "pyflame.Grid(40, 70)", "wse3");
}

// One dim over both axes: device numbers are row-major.
TEST(Wafer, DeviceNumbersToRows) {
  agrees("200000x2xf32", "gspmd{devices=[20000,1]<=[20000]}", "pyflame.RowPartition(900)", "wse2");
}

}  // namespace
}  // namespace tessera::test
