// SPDX-License-Identifier: Apache-2.0
#include "tessera/pyflame/mesh_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tessera::pyflame {
namespace {

using Numbers = std::vector<std::int64_t>;

// The examples of the PyFlame document: [1024, 1024] of four bytes.
TEST(MeshLayout, ExamplesOfTheDocument) {
  const Numbers shape = {1024, 1024};
  EXPECT_EQ(*MeshLayout::SinglePE().memory_per_pe(shape, 4), 4 << 20);
  const MeshLayout rows = MeshLayout::RowPartition(4);
  EXPECT_EQ(rows.total_pes(), 4);
  EXPECT_EQ(*rows.memory_per_pe(shape, 4), 1 << 20);
  EXPECT_EQ(*rows.pe_for_element({256, 0}, shape), (PECoord{1, 0}));
  EXPECT_EQ(*rows.pe_for_element({1023, 1023}, shape), (PECoord{3, 0}));
  EXPECT_EQ(*rows.tile_shape({3, 0}, shape), (Numbers{256, 1024}));
  const MeshLayout grid = MeshLayout::Grid(32, 32);
  EXPECT_EQ(grid.total_pes(), 1024);
  EXPECT_EQ(*grid.memory_per_pe(shape, 4), 4096);
  EXPECT_EQ(*grid.tile_shape({31, 31}, shape), (Numbers{32, 32}));
  EXPECT_EQ(*grid.pe_for_element({40, 1023}, shape), (PECoord{1, 31}));
  EXPECT_EQ(*grid.local_indices({40, 1023}, shape), (Numbers{8, 31}));
}

TEST(MeshLayout, UnevenTilesAreClippedAndNeverNegative) {
  // ceil(5/4) = 2: rows 2, 2, 1, 0; the division in the PyFlame document covered less than the
  // tensor.
  const MeshLayout rows = MeshLayout::RowPartition(4);
  Numbers extents;
  for (std::int32_t pe = 0; pe < 4; ++pe) extents.push_back((*rows.tile_shape({pe, 0}, {5, 6}))[0]);
  EXPECT_EQ(extents, (Numbers{2, 2, 1, 0}));
  EXPECT_EQ(*rows.tile_shape({3, 0}, {5, 6}), (Numbers{0, 6}));
  EXPECT_EQ(*rows.tile_shape({0, 1}, {5, 6}), (Numbers{0, 0}));  // not a PE of this layout
  EXPECT_EQ(*rows.memory_per_pe({5, 6}, 4), 2 * 6 * 4);          // the largest tile
}

TEST(MeshLayout, PesAreThoseOfTheWafer) {
  MeshLayout grid = MeshLayout::Grid(4, 4);
  grid.origin = {10, 20};
  EXPECT_EQ(*grid.pe_for_element({7, 0}, {8, 8}), (PECoord{13, 20}));
  EXPECT_EQ(*grid.tile_shape({13, 20}, {8, 8}), (Numbers{2, 2}));
  EXPECT_EQ(*grid.tile_shape({3, 0}, {8, 8}), (Numbers{0, 0}));
  const MeshLayout custom = MeshLayout::Custom(2, 1, {{7, 7}, {0, 3}});
  EXPECT_EQ(*custom.pe_for_element({3}, {4}), (PECoord{0, 3}));
  EXPECT_EQ(*custom.tile_shape({7, 7}, {4}), Numbers{2});
}

TEST(MeshLayout, BlocksAreDealtOutInTurn) {
  // Blocks of 3 on 2 PEs: 0 1 2 6 7 8 and 3 4 5 9.
  const MeshLayout cyclic = MeshLayout::BlockCyclic(2, 1, 3, 1);
  EXPECT_EQ(*cyclic.pe_for_element({9}, {10}), (PECoord{1, 0}));
  EXPECT_EQ(*cyclic.local_indices({9}, {10}), Numbers{3});
  EXPECT_EQ(*cyclic.tile_shape({0, 0}, {10}), Numbers{6});
  EXPECT_EQ(*cyclic.tile_shape({1, 0}, {10}), Numbers{4});
  EXPECT_EQ(*cyclic.memory_per_pe({10}, 2), 12);
}

TEST(MeshLayout, ErrorsAreValues) {
  const auto code = [](const auto& result) {
    return result.ok() ? "ok" : std::string(code_name(result.error().code));
  };
  EXPECT_EQ(code(MeshLayout::Grid(0, 4).pe_for_element({0, 0}, {4, 4})), "bad_shape");
  EXPECT_EQ(code(MeshLayout::BlockCyclic(2, 2, 0, 1).tile_shape({0, 0}, {4, 4})), "bad_cut");
  EXPECT_EQ(code(MeshLayout::Grid(2, 4).local_indices({0}, {4})), "contradiction");
  EXPECT_EQ(code(MeshLayout::Grid(2, 2).pe_for_element({0, 4}, {4, 4})), "out_of_range");
  EXPECT_EQ(code(MeshLayout::Grid(2, 2).local_indices({0}, {4, 4})), "out_of_range");
  EXPECT_EQ(code(MeshLayout::Grid(2, 2).memory_per_pe({4, -4}, 4)), "bad_shape");
  EXPECT_EQ(code(MeshLayout::SinglePE().memory_per_pe({INT64_MAX}, 4)), "overflow");
  EXPECT_EQ(code(MeshLayout::SinglePE().memory_per_pe({4}, SIZE_MAX)), "overflow");
  EXPECT_EQ(code(MeshLayout::Custom(2, 1, {{0, 0}}).tile_shape({0, 0}, {4})), "contradiction");
  EXPECT_EQ(code(MeshLayout::SinglePE().tile_shape({0, 1}, {})), "out_of_range");
  EXPECT_EQ(code(MeshLayout::SinglePE().tile_shape({0, 0}, {})), "ok");
  MeshLayout far = MeshLayout::RowPartition(2);
  far.origin = {std::numeric_limits<std::int32_t>::max(), 0};
  EXPECT_EQ(code(far.pe_for_element({0}, {2})), "ok");
  EXPECT_EQ(code(far.pe_for_element({1}, {2})), "overflow");
  EXPECT_EQ(far.total_pes(), 2);
}

MeshLayout with(MeshLayout layout, std::vector<int> dim_to_pe, PECoord origin = {},
                std::vector<int> replicate = {},
                std::vector<std::pair<int, Reduction>> partial = {}) {
  layout.dim_to_pe = std::move(dim_to_pe);
  layout.origin = origin;
  layout.replicate = std::move(replicate);
  layout.partial = std::move(partial);
  return layout;
}

/// Layouts of every kind and option, small enough to check every PE.
std::vector<MeshLayout> small_layouts() {
  const std::vector<MeshLayout> grids = {
      MeshLayout::SinglePE(),
      MeshLayout::RowPartition(2),
      MeshLayout::RowPartition(3),
      MeshLayout::ColPartition(3),
      MeshLayout::Grid(1, 1),
      MeshLayout::Grid(2, 1),
      MeshLayout::Grid(2, 3),
      MeshLayout::Grid(3, 2),
      MeshLayout::BlockCyclic(1, 1, 1, 1),
      MeshLayout::BlockCyclic(1, 1, 2, 1),
      MeshLayout::BlockCyclic(2, 1, 1, 1),
      MeshLayout::BlockCyclic(2, 1, 3, 2),
      MeshLayout::BlockCyclic(2, 3, 2, 1),
      MeshLayout::BlockCyclic(3, 2, 1, 4),
      MeshLayout::Custom(1, 1, {{0, 0}}),
      MeshLayout::Custom(2, 1, {{0, 0}, {0, 1}}),
      MeshLayout::Custom(2, 1, {{0, 0}, {1, 0}}),
      MeshLayout::Custom(1, 3, {{1, 0}, {0, 0}, {2, 0}}),
      MeshLayout::Custom(1, 3, {{0, 0}, {1, 0}, {2, 0}}),
      MeshLayout::Custom(2, 3, {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}}),
      MeshLayout::Custom(2, 3, {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}),
  };
  std::vector<MeshLayout> all;
  for (const MeshLayout& grid : grids) {
    all.push_back(grid);
    all.push_back(with(grid, {}, {1, 2}));
    for (const std::vector<int>& map :
         std::vector<std::vector<int>>{{0},
                                       {1},
                                       {0, 1},
                                       {1, 0},
                                       {-1, 0},
                                       {-1, -1},
                                       {0, -1, 1},
                                       {MeshLayout::kBothAxes},
                                       {-1, MeshLayout::kBothAxes},
                                       {MeshLayout::kBothAxes, -1, -1}}) {
      all.push_back(with(grid, map));
    }
    all.push_back(with(grid, {}, {}, {0}));
    all.push_back(with(grid, {}, {0, 1}, {0, 1}));
    all.push_back(with(grid, {}, {}, {0}, {{1, Reduction::kMax}}));
    all.push_back(with(grid, {}, {}, {1}, {{0, Reduction::kMax}}));
    all.push_back(with(grid, {}, {}, {}, {{0, Reduction::kMax}, {1, Reduction::kSum}}));
    all.push_back(with(grid, {1, -1}, {}, {}, {{0, Reduction::kSum}}));
  }
  return all;
}

std::string describe(const MeshLayout& layout) { return notation::write(layout.terms()); }

/// The location of one element, by the rule of the notation, computed with Layout.
struct Position {
  std::vector<PECoord> pes;  ///< in row-major order of the tiles
  std::int64_t slot = 0;
};

Position position_in_core(const Layout& layout, const Index& index) {
  const Result<Location> location = layout.locate(index);
  EXPECT_TRUE(location.ok());
  Position position;
  position.slot = location->slot;
  for (const Place& place : location->places) {
    const Place pe = layout.spec().device_map.map(layout.mesh(), place).place;
    position.pes.push_back({static_cast<std::int32_t>(pe[0]), static_cast<std::int32_t>(pe[1])});
  }
  return position;
}

const std::vector<Numbers>& small_shapes() {
  static const std::vector<Numbers> shapes = {{},     {1},    {5},    {6},       {0},      {3, 0},
                                              {1, 4}, {5, 3}, {4, 6}, {2, 3, 4}, {4, 1, 5}};
  return shapes;
}

TEST(MeshLayout, LawsHoldOnEveryElementAndEveryPe) {
  std::int64_t tried = 0;
  for (const MeshLayout& mesh : small_layouts()) {
    for (const Numbers& extents : small_shapes()) {
      SCOPED_TRACE(describe(mesh) + " of " + ::testing::PrintToString(extents));
      const Result<Layout> layout = mesh.lower(extents, DType::kI16);
      ASSERT_EQ(layout.ok(), mesh.memory_per_pe(extents, 2).ok());
      if (!layout.ok()) continue;
      ++tried;
      EXPECT_EQ(*mesh.memory_per_pe(extents, 2), layout->shard_bytes());
      EXPECT_EQ(mesh.total_pes(), layout->places());
      std::map<PECoord, std::set<Numbers>> held;
      for (std::int64_t i = 0; i < layout->shape().elements(); ++i) {
        const Index index = layout->shape().delinear(i);
        const Position position = position_in_core(*layout, index);
        EXPECT_EQ(*mesh.pe_for_element(index, extents), position.pes.front());
        EXPECT_EQ(*mesh.pes_for_element(index, extents), position.pes);
        const Numbers local = *mesh.local_indices(index, extents);
        for (const PECoord pe : position.pes) {
          EXPECT_TRUE(held[pe].insert(local).second) << "two elements in one place of a tile";
          const Numbers tile = *mesh.tile_shape(pe, extents);
          for (std::size_t dim = 0; dim < tile.size(); ++dim) EXPECT_LT(local[dim], tile[dim]);
        }
      }
      for (std::int32_t row = -1; row < 6; ++row) {
        for (std::int32_t col = -1; col < 6; ++col) {
          const Result<Numbers> tile = mesh.tile_shape({row, col}, extents);
          if (extents.empty()) {
            EXPECT_EQ(tile.ok(), held.count({row, col}) == 1);
            continue;
          }
          ASSERT_TRUE(tile.ok());
          std::int64_t elements = 1;
          for (const std::int64_t extent : *tile) {
            EXPECT_GE(extent, 0);
            elements *= extent;
          }
          const auto found = held.find({row, col});
          const std::size_t holds = found == held.end() ? 0 : found->second.size();
          EXPECT_EQ(elements, static_cast<std::int64_t>(holds)) << row << ", " << col;
        }
      }
    }
  }
  EXPECT_GT(tried, 1500);
}

/// Where every element of a tensor is on the wafer: PEs as a set, slot, allocation, and whether the
/// PEs have copies or shares. With two different reductions, shares are identified by the
/// coordinates of their tiles.
using Picture = std::tuple<
    std::vector<std::tuple<std::set<PECoord>, std::set<std::set<PECoord>>, std::int64_t>>,
    std::int64_t, std::multiset<int>>;

Picture picture(const MeshLayout& mesh, const Layout& layout) {
  Picture out;
  auto& [elements, slots, reductions] = out;
  slots = layout.slots();
  std::set<std::size_t> share_axes;
  for (const Fill& fill : layout.form().fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count == 1) continue;
    reductions.insert(static_cast<int>(fill.reduction));
    share_axes.insert(static_cast<std::size_t>(fill.axis));
  }
  for (std::int64_t i = 0; i < layout.shape().elements(); ++i) {
    const Index index = layout.shape().delinear(i);
    const Result<Location> location = layout.locate(index);
    const Position position = position_in_core(layout, index);
    std::map<Place, std::set<PECoord>> shares;  // by the coordinates that identify shares
    for (std::size_t r = 0; r < position.pes.size(); ++r) {
      Place share;
      for (const std::size_t axis : share_axes) share.push_back(location->places[r][axis]);
      shares[share].insert(position.pes[r]);
    }
    std::set<std::set<PECoord>> groups;
    for (const auto& [share, pes] : shares) groups.insert(pes);
    elements.emplace_back(std::set<PECoord>(position.pes.begin(), position.pes.end()), groups,
                          position.slot);
  }
  EXPECT_EQ(mesh.total_pes(), layout.places());
  return out;
}

TEST(MeshLayout, CompatibleMeansTheSameFunctionOnEveryTensor) {
  // Large enough to distinguish all rules above: more than one round of blocks on every axis.
  const std::vector<Numbers> shapes = {{13}, {7, 13}, {14, 9}, {1, 5}, {13, 2, 7}, {5, 7, 13}};
  std::vector<MeshLayout> layouts;
  for (const MeshLayout& mesh : small_layouts()) {
    // Shares of two different reductions have no canonical order for a comparison.
    if (mesh.partial.size() < 2) layouts.push_back(mesh);
  }
  std::vector<std::vector<std::optional<Picture>>> pictures;
  for (const MeshLayout& mesh : layouts) {
    pictures.emplace_back();
    for (const Numbers& extents : shapes) {
      const Result<Layout> layout = mesh.lower(extents, DType::kI8);
      pictures.back().push_back(layout.ok() ? std::optional(picture(mesh, *layout)) : std::nullopt);
    }
  }
  std::int64_t alike = 0;
  for (std::size_t a = 0; a < layouts.size(); ++a) {
    for (std::size_t b = 0; b < layouts.size(); ++b) {
      bool shared = false;
      bool same = true;
      for (std::size_t s = 0; s < shapes.size(); ++s) {
        if (!pictures[a][s] || !pictures[b][s]) continue;
        shared = true;
        same = same && *pictures[a][s] == *pictures[b][s];
      }
      EXPECT_EQ(layouts[a].compatible_with(layouts[b]), shared && same)
          << describe(layouts[a]) << "\n"
          << describe(layouts[b]);
      alike += a != b && shared && same ? 1 : 0;
    }
  }
  EXPECT_GT(alike, 100);
}

TEST(MeshLayout, CompatibleExamples) {
  EXPECT_TRUE(MeshLayout::Grid(4, 1).compatible_with(MeshLayout::RowPartition(4)));
  EXPECT_TRUE(MeshLayout::SinglePE().compatible_with(MeshLayout::Grid(1, 1)));
  EXPECT_TRUE(MeshLayout::Grid(1, 4).compatible_with(MeshLayout::ColPartition(4)));
  EXPECT_FALSE(MeshLayout::Grid(4, 1).compatible_with(MeshLayout::Grid(1, 4)));
  EXPECT_FALSE(MeshLayout::Grid(2, 2).compatible_with(MeshLayout::BlockCyclic(2, 2, 8, 8)));
  MeshLayout moved = MeshLayout::SinglePE();
  moved.origin = {0, 1};
  EXPECT_FALSE(moved.compatible_with(MeshLayout::SinglePE()));
  EXPECT_TRUE(moved.compatible_with(MeshLayout::Custom(1, 1, {{0, 1}})));
  EXPECT_FALSE(MeshLayout::Grid(0, 1).compatible_with(MeshLayout::Grid(0, 1)));  // invalid
  // Rows of the tensor along a row of PEs.
  EXPECT_TRUE(with(MeshLayout::ColPartition(2), {1, -1})
                  .compatible_with(with(MeshLayout::Custom(2, 1, {{0, 0}, {0, 1}}), {0, -1})));
}

}  // namespace
}  // namespace tessera::pyflame
