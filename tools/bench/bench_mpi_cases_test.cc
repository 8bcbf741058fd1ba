// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "tessera/notation/notation.h"
#include "tessera/reshard/transfers.h"
#include "tools/bench/bench_mpi.h"
#include "tools/bench/bench_relayout.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

std::int64_t leading_sum(const std::vector<std::int64_t>& numbers) {
  std::int64_t sum = 0;
  for (const std::int64_t number : numbers) sum += number;
  return sum;
}

TEST(BenchMpi, GridsAreAsSquareAsCanBe) {
  EXPECT_EQ(squarest_grid(2), std::pair(std::int64_t{1}, std::int64_t{2}));
  EXPECT_EQ(squarest_grid(4), std::pair(std::int64_t{2}, std::int64_t{2}));
  EXPECT_EQ(squarest_grid(6), std::pair(std::int64_t{2}, std::int64_t{3}));
  EXPECT_EQ(squarest_grid(7), std::pair(std::int64_t{1}, std::int64_t{7}));
}

TEST(BenchMpi, DealsAreLayoutsOfTheSameAddresses) {
  EXPECT_EQ(deal_text(deal(8, {1, 2}, 2, 2), 8, DType::kF64),
            "tensor<8x8xf64, native<mesh=[2], {d0} / (2 -> mem*2, 2 -> m0*2, 1 -> mem), "
            "{d1} / (4 -> mem*16, 2 -> m0, 1 -> mem*8)>>");
  // Where ScaLAPACK keeps element (i, j), counted from 0: process row i/mb mod p, local row
  // (i/mb div p)·mb + i mod mb, and columns alike; column-major with the leading dimension.
  for (const int ranks : {2, 4, 6}) {
    for (const MpiCase& c : mpi_cases(150, ranks)) {
      for (const MpiDeal& side : {c.from, c.to}) {
        const auto tensor = parse_tensor(deal_text(side, c.extent, c.dtype));
        ASSERT_TRUE(tensor.ok()) << c.name << tensor.error().message;
        for (std::int64_t i = 0; i < c.extent; i += 7) {
          for (std::int64_t j = 0; j < c.extent; j += 3) {
            const std::int64_t row = i / side.block_rows;
            const std::int64_t col = j / side.block_cols;
            const std::int64_t rank = row % side.grid_rows * side.grid_cols + col % side.grid_cols;
            const std::int64_t local_row =
                row / side.grid_rows * side.block_rows + i % side.block_rows;
            const std::int64_t local_col =
                col / side.grid_cols * side.block_cols + j % side.block_cols;
            const auto found = tensor->placement.locate({i, j});
            ASSERT_TRUE(found.ok());
            ASSERT_EQ(found->places, (std::vector<Place>{{rank}})) << c.name;
            ASSERT_EQ(found->slot, local_col * side.leading + local_row) << c.name;
          }
        }
      }
    }
  }
}

TEST(BenchMpi, BytesBetweenRanksAreThoseOfTheReshard) {
  for (const int ranks : {2, 4, 6}) {
    const std::vector<MpiCase> cases = mpi_cases(200, ranks);
    EXPECT_EQ(cases.size(), 12U);
    for (const MpiCase& c : cases) {
      const auto reshard = mpi_reshard(c);
      ASSERT_TRUE(reshard.ok()) << c.name << reshard.error().message;
      const auto pairs = reshard::pairs_of(*reshard, 1000, {});
      ASSERT_TRUE(pairs.ok());
      std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> bytes;
      for (const reshard::PairBytes& pair : *pairs)
        bytes[{pair.source, pair.destination}] += pair.bytes;
      std::int64_t all = 0;
      for (int a = 0; a < ranks; ++a) {
        const std::vector<std::int64_t> to = bytes_to(c, a);
        all += leading_sum(to);
        for (int b = 0; b < ranks; ++b) {
          const std::int64_t expected = to[static_cast<std::size_t>(b)];
          EXPECT_EQ((bytes[{a, b}]), expected) << c.name << " " << a << " to " << b;
          EXPECT_EQ(bytes_from(c, b)[static_cast<std::size_t>(a)], expected);
        }
      }
      EXPECT_EQ(all, c.bytes());
    }
  }
}

TEST(BenchMpi, AWrongElementAndAWrittenPaddingAreSeen) {
  for (const MpiCase& c : mpi_cases(150, 4)) {
    const auto tensor = parse_tensor(deal_text(c.to, c.extent, c.dtype));
    ASSERT_TRUE(tensor.ok());
    const auto bytes = static_cast<std::size_t>(tensor->placement.slots() * c.element_bytes());
    std::set<std::size_t> written;
    for (int rank = 0; rank < 4; ++rank) {
      std::vector<std::byte> shard(bytes, kUntouched);
      write_shard(c, c.to, rank, shard);
      EXPECT_TRUE(check_shard(c, c.to, rank, shard).ok()) << c.name;
      for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1}) {
        shard[at] ^= std::byte{1};
        const Status status = check_shard(c, c.to, rank, shard);
        ASSERT_FALSE(status.ok()) << c.name << " byte " << at << " of rank " << rank;
        EXPECT_EQ(status.error().code, ErrorCode::kContradiction);
        shard[at] ^= std::byte{1};
      }
    }
  }
}

TEST(BenchMpi, RowsHaveRatiosAndGoals) {
  MpiRow row;
  row.name = "32x32-to-128x128";
  row.dtype = "f64";
  row.ranks = 2;
  row.seconds = 3;
  row.shared_seconds = 2;
  row.floor_seconds = 2;
  row.memcpy_seconds = 1;
  row.peers = {{"scalapack", 9}};
  EXPECT_TRUE(row.met());  // exactly at the limits: 1.5 times the floor, a third of ScaLAPACK
  MpiRow slow = row;
  slow.seconds = 3.1;
  EXPECT_FALSE(slow.met());
  MpiRow behind = row;
  behind.peers[0].second = 8.9;
  EXPECT_FALSE(behind.met());
  MpiReport report{2, 8192, {row, slow}, false};
  const Json json = mpi_json(report);
  EXPECT_EQ(json["suite"], "mpi");
  EXPECT_EQ(json["cases"][0]["over_floor"], 1.5);
  EXPECT_EQ(json["cases"][0]["shared_over_floor"], 1.0);
  EXPECT_EQ(json["cases"][0]["floor_over_memcpy"], 2.0);
  EXPECT_EQ(json["cases"][0]["scalapack_over_ours"], 3.0);
  EXPECT_EQ(json["cases"][0]["met"], true);
  EXPECT_EQ(json["cases"][1]["met"], false);
  EXPECT_EQ(json["geometric_means"]["shared_over_floor"], 1.0);
  EXPECT_FALSE(json.contains("peers_missing"));
  EXPECT_NE(facts_in(mpi_tail(report)).find("1 2"), std::string::npos) << mpi_tail(report);
  EXPECT_NE(mpi_line(slow).find("missed"), std::string::npos);
}

}  // namespace
}  // namespace tessera::tools
