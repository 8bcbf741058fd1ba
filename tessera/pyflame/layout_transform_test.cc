// SPDX-License-Identifier: Apache-2.0
#include "tessera/pyflame/layout_transform.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace tessera::pyflame {
namespace {

using Numbers = std::vector<std::int64_t>;
using Transfer = LayoutTransform::CommunicationPattern::Transfer;

PECoord pe_of(const Layout& layout, const Place& place) {
  const Place pe = layout.spec().device_map.map(layout.mesh(), place).place;
  return {static_cast<std::int32_t>(pe[0]), static_cast<std::int32_t>(pe[1])};
}

/// Where each element of `size` bytes is read and written: (source offset, destination offset) in
/// bytes.
std::vector<std::pair<std::int64_t, std::int64_t>> elements_of(const Transfer& transfer) {
  std::vector<std::pair<std::int64_t, std::int64_t>> at = {
      {transfer.start_offset, transfer.dest_offset}};
  for (const reshard::BoxLoop& loop : transfer.loops) {
    std::vector<std::pair<std::int64_t, std::int64_t>> next;
    for (const auto& [from, to] : at) {
      for (std::int64_t i = 0; i < loop.extent; ++i) {
        next.emplace_back(from + i * loop.source_stride, to + i * loop.destination_stride);
      }
    }
    at = std::move(next);
  }
  return at;
}

/// Applies the pattern to numbered elements and checks every slot of every destination tile.
void check_conservation(const MeshLayout& from, const MeshLayout& to, const Numbers& shape,
                        DType dtype, std::int64_t element_bytes) {
  SCOPED_TRACE(notation::write(from.terms()) + " to " + notation::write(to.terms()) + " of " +
               ::testing::PrintToString(shape));
  const Result<LayoutTransform> transform =
      LayoutTransformer::create_transform(from, to, shape, dtype);
  ASSERT_TRUE(transform.ok()) << transform.error().message;
  const Result<LayoutTransform::CommunicationPattern> pattern = transform->generate_pattern();
  ASSERT_TRUE(pattern.ok()) << pattern.error().message;
  const Layout a = *from.lower(shape, dtype);
  const Layout b = *to.lower(shape, dtype);
  using Position = std::pair<PECoord, std::int64_t>;  // PE, byte
  std::map<Position, std::int64_t> source;
  std::map<Position, std::int64_t> wanted;
  for (std::int64_t i = 0; i < a.shape().elements(); ++i) {
    const Location in_a = *a.locate(a.shape().delinear(i));
    const Location in_b = *b.locate(a.shape().delinear(i));
    for (const Place& place : in_a.places) {
      source[{pe_of(a, place), in_a.slot * element_bytes}] = i;
    }
    for (const Place& place : in_b.places) {
      wanted[{pe_of(b, place), in_b.slot * element_bytes}] = i;
    }
  }
  if (transform->type == TransformType::IDENTITY) {
    EXPECT_TRUE(pattern->transfers.empty());
    EXPECT_EQ(source, wanted);
    return;
  }
  std::map<Position, std::int64_t> written;
  for (const Transfer& transfer : pattern->transfers) {
    const auto elements = elements_of(transfer);
    EXPECT_EQ(static_cast<std::int64_t>(elements.size()) * element_bytes, transfer.size);
    for (const auto& [read, write] : elements) {
      const auto found = source.find({transfer.source, read});
      ASSERT_NE(found, source.end()) << "reads what is not there";
      EXPECT_TRUE(written.emplace(Position{transfer.dest, write}, found->second).second)
          << "written twice";
    }
  }
  EXPECT_EQ(written, wanted);
}

TransformType type_of(const MeshLayout& from, const MeshLayout& to, const Numbers& shape) {
  const Result<LayoutTransform> made = LayoutTransformer::create_transform(from, to, shape);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made->type;
}

std::vector<Transfer> transfers_of(const LayoutTransform& transform) {
  const Result<LayoutTransform::CommunicationPattern> pattern = transform.generate_pattern();
  EXPECT_TRUE(pattern.ok()) << pattern.error().message;
  return pattern->transfers;
}

MeshLayout replicated(MeshLayout layout, std::vector<int> axes) {
  layout.replicate = std::move(axes);
  return layout;
}

TEST(LayoutTransform, Types) {
  const MeshLayout grid = MeshLayout::Grid(2, 2);
  MeshLayout turned = grid;
  turned.dim_to_pe = {1, 0};
  MeshLayout moved = grid;
  moved.origin = {3, 0};
  MeshLayout shares = MeshLayout::Grid(2, 2);
  shares.partial = {{0, Reduction::kSum}};
  shares.dim_to_pe = {-1, 1};
  const Numbers shape = {8, 8};
  EXPECT_EQ(type_of(grid, grid, shape), TransformType::IDENTITY);
  EXPECT_EQ(type_of(MeshLayout::Grid(4, 1), MeshLayout::RowPartition(4), shape),
            TransformType::IDENTITY);
  EXPECT_EQ(type_of(grid, MeshLayout::SinglePE(), shape), TransformType::GATHER);
  EXPECT_EQ(type_of(MeshLayout::SinglePE(), grid, shape), TransformType::SCATTER);
  EXPECT_EQ(type_of(grid, turned, shape), TransformType::TRANSPOSE);
  EXPECT_EQ(type_of(grid, moved, shape), TransformType::REDISTRIBUTE);
  EXPECT_EQ(type_of(MeshLayout::ColPartition(2), replicated(grid, {0}), shape),
            TransformType::REPLICATE);
  EXPECT_EQ(type_of(grid, MeshLayout::Grid(4, 4), shape), TransformType::RESHARD);
  EXPECT_EQ(type_of(shares, MeshLayout::ColPartition(2), shape), TransformType::REDUCE);
}

TEST(LayoutTransform, NeedsTransform) {
  EXPECT_FALSE(
      LayoutTransformer::needs_transform(MeshLayout::Grid(4, 1), MeshLayout::RowPartition(4)));
  EXPECT_FALSE(LayoutTransformer::needs_transform(MeshLayout::SinglePE(), MeshLayout::Grid(1, 1)));
  EXPECT_TRUE(LayoutTransformer::needs_transform(MeshLayout::Grid(4, 1), MeshLayout::Grid(1, 4)));
  EXPECT_TRUE(
      LayoutTransformer::needs_transform(MeshLayout::RowPartition(4), MeshLayout::ColPartition(4)));
}

TEST(LayoutTransform, GatherOfUnevenTiles) {
  // 5 rows of 6 on 4 PEs: tiles of 2, 2, 1 and 0 rows. The first stays, the last sends nothing.
  const LayoutTransform gather = *LayoutTransformer::create_transform(
      MeshLayout::RowPartition(4), MeshLayout::SinglePE(), {5, 6});
  std::map<PECoord, std::int64_t> bytes;
  std::map<PECoord, std::int64_t> first;
  for (const Transfer& transfer : transfers_of(gather)) {
    EXPECT_EQ(transfer.dest, (PECoord{0, 0}));
    EXPECT_EQ(transfer.start_offset, 0);
    EXPECT_EQ(transfer.is_local(), transfer.source == (PECoord{0, 0}));
    bytes[transfer.source] += transfer.size;
    first[transfer.source] = transfer.dest_offset;
  }
  EXPECT_EQ(bytes, (std::map<PECoord, std::int64_t>{{{0, 0}, 48}, {{1, 0}, 48}, {{2, 0}, 24}}));
  EXPECT_EQ(first, (std::map<PECoord, std::int64_t>{{{0, 0}, 0}, {{1, 0}, 48}, {{2, 0}, 96}}));
  // 12 wavelets over one hop and 6 over two; two 16-bit elements share a wavelet.
  EXPECT_EQ(*gather.estimated_cost(), 12 * 1 + 6 * 2);
  LayoutTransform narrow = gather;
  narrow.dtype = DType::kBF16;
  EXPECT_EQ(*narrow.estimated_cost(), 6 * 1 + 3 * 2);
}

TEST(LayoutTransform, ScatterOfATileThatIsStrided) {
  // [4, 4] to 2x2 PEs: PE (0, 1) gets rows 0 and 1 of columns 2 and 3, which lie 16 bytes apart.
  const LayoutTransform scatter =
      *LayoutTransformer::create_transform(MeshLayout::SinglePE(), MeshLayout::Grid(2, 2), {4, 4});
  std::set<std::int64_t> read;
  for (const Transfer& transfer : transfers_of(scatter)) {
    if (transfer.dest != PECoord{0, 1}) continue;
    for (const auto& [from, to] : elements_of(transfer)) read.insert(from);
  }
  EXPECT_EQ(read, (std::set<std::int64_t>{8, 12, 24, 28}));
}

TEST(LayoutTransform, EveryElementIsWrittenOnce) {
  MeshLayout turned = MeshLayout::Grid(3, 2);
  turned.dim_to_pe = {1, 0};
  turned.origin = {1, 4};
  const std::vector<MeshLayout> layouts = {MeshLayout::SinglePE(),
                                           MeshLayout::RowPartition(4),
                                           MeshLayout::ColPartition(3),
                                           MeshLayout::Grid(2, 3),
                                           MeshLayout::BlockCyclic(2, 2, 2, 1),
                                           MeshLayout::Custom(2, 1, {{3, 3}, {0, 1}}),
                                           turned,
                                           replicated(MeshLayout::Grid(2, 2), {0, 1}),
                                           replicated(MeshLayout::RowPartition(2), {1})};
  const auto of_rank_3 = [](MeshLayout layout) {
    if (!layout.dim_to_pe.empty()) layout.dim_to_pe.push_back(-1);
    return layout;
  };
  for (const MeshLayout& from : layouts) {
    for (const MeshLayout& to : layouts) {
      check_conservation(from, to, {5, 7}, DType::kF32, 4);
      check_conservation(of_rank_3(from), of_rank_3(to), {4, 3, 2}, DType::kF16, 2);
      check_conservation(from, to, {0, 4}, DType::kF32, 4);
    }
  }
}

TEST(LayoutTransform, ReshardIsNotEmpty) {
  // Section 7.1 of the PyFlame document: c needs Grid(4, 4), a has Grid(2, 8). By hand: [16, 16]
  // has 8x2 tiles on 2x8 and 4x4 tiles on 4x4.
  const LayoutTransform reshard = *LayoutTransformer::create_transform(
      MeshLayout::Grid(2, 8), MeshLayout::Grid(4, 4), {16, 16});
  EXPECT_EQ(reshard.type, TransformType::RESHARD);
  std::int64_t bytes = 0;
  std::int64_t local = 0;
  for (const Transfer& transfer : transfers_of(reshard)) {
    (transfer.is_local() ? local : bytes) += transfer.size;
  }
  EXPECT_EQ(bytes + local, 16 * 16 * 4);
  // PE (r, c) of both holds rows 8r..8r+8 and 4r..4r+4: shared only on r = 0 (4 rows), r = 1 has
  // 8..16 against 4..8; columns 2c..2c+2 against 4c..4c+4: shared only on c = 0 (2 columns).
  EXPECT_EQ(local, 4 * 2 * 4);
}

TEST(LayoutTransform, SharesAreCombined) {
  MeshLayout shares = MeshLayout::RowPartition(3);
  shares.partial = {{0, Reduction::kSum}};
  const LayoutTransform reduce =
      *LayoutTransformer::create_transform(shares, MeshLayout::SinglePE(), {4});
  EXPECT_EQ(reduce.type, TransformType::REDUCE);
  std::map<std::int64_t, int> combined;
  for (const Transfer& transfer : transfers_of(reduce)) {
    EXPECT_TRUE(transfer.combines);
    for (const auto& [from, to] : elements_of(transfer)) ++combined[to];
  }
  EXPECT_EQ(combined, (std::map<std::int64_t, int>{{0, 3}, {4, 3}, {8, 3}, {12, 3}}));
}

TEST(LayoutTransform, ErrorsAreValues) {
  const auto made =
      LayoutTransformer::create_transform(MeshLayout::Grid(2, 2), MeshLayout::SinglePE(), {4});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kContradiction);
  LayoutTransform nibbles{
      TransformType::GATHER, MeshLayout::RowPartition(2), MeshLayout::SinglePE(), {8}, DType::kI4};
  EXPECT_EQ(nibbles.generate_pattern().error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(*nibbles.estimated_cost(), 1);  // 4 elements of 4 bits over one hop
}

}  // namespace
}  // namespace tessera::pyflame
