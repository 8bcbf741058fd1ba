// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/exchange/resharder.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/exchange/exchange_runs.h"

/// Checkpoints between the notations in common use, on 1 to 6 ranks.
namespace tessera::exchange {
namespace {

struct NamedPair {
  const char* name;
  const char* from;
  const char* to;
};

constexpr NamedPair kPairs[] = {
    {"gspmd rows to ttnn block shards", "tensor<70x90xf32, gspmd{devices=[6,1]<=[6]}>",
     "tensor<70x90xf32, ttnn<stride=[6300, 90, 1], shard_shape=[24, 32], tile_shape=[8, 16]>>"},
    {"ttnn height shards to width shards",
     "tensor<96x96xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <3x1>, memref<1x3x!ttcore.tile<"
     "32x32, bf16>, #ttnn.buffer_type<l1>>, <height_sharded>, core_ranges = "
     "<[#ttnn.core_range<(0,0), (2,0)>]>>>",
     "tensor<96x96xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x3>, memref<3x1x!ttcore.tile<"
     "32x32, bf16>, #ttnn.buffer_type<l1>>, <width_sharded>, core_ranges = "
     "<[#ttnn.core_range<(0,0), (2,0)>]>>>"},
    {"block-cyclic 8x8 to 10x10, column-major shards",
     "tensor<61x77xf64, native<mesh=[2, 3], {d0} / (16 -> mem*8, 8 -> m0, 1 -> mem), "
     "{d1} / (24 -> mem*256, 8 -> m1, 1 -> mem*32)>>",
     "tensor<61x77xf64, native<mesh=[3, 2], {d0} / (30 -> mem*10, 10 -> m0, 1 -> mem), "
     "{d1} / (20 -> mem*300, 10 -> m1, 1 -> mem*30)>>"},
    {"block-cyclic to gspmd columns",
     "tensor<64x64xi32, native<mesh=[2, 2], {d0} / (8 -> mem*4, 4 -> m0, 1 -> mem), "
     "{d1} / (8 -> mem*128, 4 -> m1, 1 -> mem*32)>>",
     "tensor<64x64xi32, gspmd{devices=[1,4]<=[4]}>"},
    {"gspmd replicas to shards",
     "tensor<48x40xf32, gspmd{devices=[2,1,3]<=[6] last_tile_dim_replicate}>",
     "tensor<48x40xf32, gspmd{devices=[1,6]<=[6]}>"},
    {"shards to everywhere", "tensor<48x40xf32, gspmd{devices=[6,1]<=[6]}>",
     "tensor<48x40xf32, gspmd{replicated num_partitions=6}>"},
    {"pyflame grid to metal", "tensor<53x63xf32, pyflame.Grid(2, 3)>",
     "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<18x32xf32, "
     "#tt.memory_space<l1>>>>"},
    {"i4 rows to columns",
     "tensor<30x42xi4, native<mesh=[6], {d0} / (5 -> m0, 1 -> mem*42), {d1} / (1 -> mem)>>",
     "tensor<30x42xi4, native<mesh=[6], {d0} / (1 -> mem*7), {d1} / (7 -> m0, 1 -> mem)>>"},
    {"partial sums to shards",
     "tensor<32x32xf64, native<mesh=[4], {d0} / (1 -> mem*32), {d1} / (1 -> mem), "
     "partial(m0, sum)>>",
     "tensor<32x32xf64, native<mesh=[4], {d0} / (8 -> m0, 1 -> mem*32), {d1} / (1 -> mem)>>"},
};

TEST(Notations, ArriveOnAnyNumberOfRanks) {
  for (const NamedPair& pair : kPairs) {
    const auto a = parse_tensor(pair.from);
    const auto b = parse_tensor(pair.to);
    ASSERT_TRUE(a.ok()) << pair.name << ": " << render(a.error(), pair.from);
    ASSERT_TRUE(b.ok()) << pair.name << ": " << render(b.error(), pair.to);
    auto physical = reshard::PhysicalMesh::in_a_row(a->placement, b->placement);
    ASSERT_TRUE(physical.ok()) << pair.name << ": " << physical.error().message;
    const test::ReshardPair question{a->placement, b->placement, *physical};
    const test::NaiveReshard moves =
        test::naive_reshard(question.from, question.to, question.physical);
    ASSERT_TRUE(test::can_be_exchanged(question, moves)) << pair.name;
    const test::ExchangeCase data = test::exchange_case(question, moves);
    for (const int ranks : {1, 2, 3, 4, 6}) {
      const RankMap from = *distribute_places(question.from, *physical, ranks);
      const RankMap to = *distribute_places(question.to, *physical, ranks, RankOrder::kCyclic);
      test::RankCase rank_case{question, data, from, to, {}, false, 1};
      rank_case.options.packet_bytes = 512;
      rank_case.options.staging_bytes = 4096;
      rank_case.options.padding = relayout::PaddingRule::kZero;
      EXPECT_EQ(
          test::on_ranks(
              ranks, [&](Exchange& exchange) { return test::rank_mistake(exchange, rank_case); }),
          "")
          << pair.name << " on " << ranks;
    }
  }
}

std::string block_float(const std::string& grid, const std::string& shard,
                        const std::string& kind) {
  return cat("tensor<128x128xbfp_bf8, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <", grid,
             ">, memref<", shard, "x!ttcore.tile<32x32, bfp_bf8>, #ttnn.buffer_type<l1>>, <", kind,
             ">, core_ranges = <[#ttnn.core_range<(0,0), (3,0)>]>>>");
}

/// Tiles of block floats move as bytes: tile (r, c) is 1088 bytes of the number 4·r + c.
TEST(Notations, BlockFloatsMoveByWholeTiles) {
  constexpr std::int64_t kTileBytes = 1088;
  const auto a = parse_tensor(block_float("4x1", "1x4", "height_sharded"));
  const auto b = parse_tensor(block_float("1x4", "4x1", "width_sharded"));
  ASSERT_TRUE(a.ok()) << a.error().message;
  ASSERT_TRUE(b.ok()) << b.error().message;
  const reshard::PhysicalMesh physical =
      *reshard::PhysicalMesh::in_a_row(a->placement, b->placement);
  const auto reshard = reshard::Reshard::make(a->placement, b->placement, physical);
  ASSERT_TRUE(reshard.ok()) << reshard.error().message;
  // The position of each tile, directly from locate.
  const auto tiles_of = [](const Placement& placement, const RankSide& side) {
    std::vector<int> tiles(static_cast<std::size_t>(side.bytes() / kTileBytes), -1);
    for (std::int64_t tile = 0; tile < 16; ++tile) {
      const Location at = *placement.locate({tile / 4 * 32, tile % 4 * 32});
      const std::int64_t place = placement.mesh().linear(at.places.front());
      for (std::size_t i = 0; i < side.places.size(); ++i) {
        if (side.places[i] != place) continue;
        const auto slot = static_cast<std::int64_t>(i) * side.memory.slots + at.slot;
        tiles[static_cast<std::size_t>(slot / 1024)] = static_cast<int>(tile);
      }
    }
    return tiles;
  };
  for (const int ranks : {1, 2, 4}) {
    const RankMap map = *distribute_places(a->placement, physical, ranks);
    const RankMap to_map = *distribute_places(b->placement, physical, ranks, RankOrder::kCyclic);
    const std::string mistakes = test::on_ranks(ranks, [&](Exchange& exchange) -> std::string {
      auto made = Resharder::make(exchange, *reshard, map, to_map);
      if (!made.ok()) return made.error().message;
      std::vector<std::byte> from(static_cast<std::size_t>(made->from().bytes()));
      std::vector<std::byte> to(static_cast<std::size_t>(made->to().bytes()));
      const std::vector<int> held = tiles_of(a->placement, made->from());
      for (std::size_t t = 0; t < held.size(); ++t) {
        std::memset(from.data() + t * kTileBytes, held[t], kTileBytes);
      }
      const Status done = made->run(from, to);
      if (!done.ok()) return done.error().message;
      const std::vector<int> wanted = tiles_of(b->placement, made->to());
      for (std::size_t i = 0; i < to.size(); ++i) {
        const int expected = wanted[i / kTileBytes];
        if (expected >= 0 && to[i] != static_cast<std::byte>(expected)) {
          return cat("byte ", i, " of rank ", exchange.rank(), " is of another tile; ");
        }
      }
      return "";
    });
    EXPECT_EQ(mistakes, "");
  }
}

TEST(Notations, BlockFloatsThatFallApartAreRefused) {
  const auto a = parse_tensor(block_float("4x1", "1x4", "height_sharded"));
  const auto b = parse_tensor(
      "tensor<128x128xbfp_bf8, native<mesh=[8], {d0} / (16 -> m0, 1 -> mem*128), {d1} / (1 -> "
      "mem), atom=tile(32x32, bfp_bf8)>>");
  ASSERT_TRUE(b.ok()) << b.error().message;
  const reshard::PhysicalMesh physical =
      *reshard::PhysicalMesh::in_a_row(a->placement, b->placement);
  const auto reshard = reshard::Reshard::make(a->placement, b->placement, physical);
  ASSERT_TRUE(reshard.ok()) << reshard.error().message;
  const RankMap map = *RankMap::blocks(physical.mesh.elements(), 1);
  EXPECT_EQ(test::on_ranks(1,
                           [&](Exchange& exchange) {
                             const auto made = Resharder::make(exchange, *reshard, map, map);
                             return std::string(made.ok() ? "made" : code_name(made.error().code));
                           }),
            "not_supported");
}

}  // namespace
}  // namespace tessera::exchange
