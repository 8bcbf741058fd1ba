// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/mesh/place_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tessera/base/checked.h"
#include "tessera/notation/pyflame/pyflame.h"
#include "tessera/testing/build.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/generate.h"

namespace tessera::memory {
namespace {

using test::Dice;
using test::shape;

notation::PyflameLayout grid(std::int64_t rows, std::int64_t cols) {
  notation::PyflameLayout terms;
  terms.kind = notation::PyflameLayout::Kind::kGrid;
  terms.rows = rows;
  terms.cols = cols;
  return terms;
}

Layout lowered(const notation::PyflameLayout& terms, std::vector<std::int64_t> extents,
               DType dtype = DType::kF32) {
  Result<Layout> layout = notation::lower(terms, shape(std::move(extents)), dtype);
  EXPECT_TRUE(layout) << layout.error().message;
  return *std::move(layout);
}

std::int64_t aligned(std::int64_t bytes, std::int64_t align) {
  return (bytes + align - 1) / align * align;
}

/// What a place needs, directly from the location of every element: sizes[place][tensor].
std::vector<std::vector<std::int64_t>> naive_sizes(const Shape& mesh,
                                                   const std::vector<SizedTensor>& tensors,
                                                   const SizeRule& rule) {
  std::vector<std::vector<std::int64_t>> sizes(static_cast<std::size_t>(mesh.elements()),
                                               std::vector<std::int64_t>(tensors.size(), 0));
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].layout == nullptr) {
      for (auto& vector : sizes) vector[t] = aligned(*tensors[t].bytes, rule.align_bytes);
      continue;
    }
    const Layout& layout = *tensors[t].layout;
    const auto physical = [&](const Place& place) {
      if (layout.mesh().rank() == 0) return std::size_t{0};
      const DeviceMap& map = layout.spec().device_map;
      const Place there =
          map.kind() == DeviceMap::Kind::kIdentity ? place : map.map(layout.mesh(), place).place;
      return static_cast<std::size_t>(mesh.linear(there));
    };
    // For each virtual place, one past its last slot with data.
    std::vector<std::int64_t> slots(static_cast<std::size_t>(layout.places()), 0);
    Index index(layout.shape().rank(), 0);
    for (bool more = !layout.shape().empty(); more; more = layout.shape().next(index)) {
      const Location at = *layout.locate(index);
      for (const Place& place : at.places) {
        std::int64_t& last = slots[static_cast<std::size_t>(layout.mesh().linear(place))];
        last = std::max(last, at.slot + 1);
      }
    }
    Place place(layout.mesh().rank(), 0);
    for (std::int64_t& last : slots) {
      const std::int64_t atom = layout.atom().elements();
      if (rule.allocated) last = layout.slots();
      std::int64_t bytes =
          aligned(*layout.atom().bytes((last + atom - 1) / atom * atom), rule.align_bytes);
      if (tensors[t].bytes && last > 0) bytes = aligned(*tensors[t].bytes, rule.align_bytes);
      sizes[physical(place)][t] += bytes;
      layout.mesh().next(place);
    }
  }
  return sizes;
}

/// The law of the header, on every place.
void check_law(const Shape& mesh, const std::vector<SizedTensor>& tensors, const SizeRule& rule) {
  const Result<PlaceSizes> made = PlaceSizes::make(mesh, tensors, rule);
  ASSERT_TRUE(made) << made.error().message;
  const PlaceSizes& sizes = *made;
  const auto naive = naive_sizes(mesh, tensors, rule);
  std::vector<std::int64_t> places(sizes.classes(), 0);
  std::vector<std::int64_t> total(tensors.size(), 0);
  std::vector<std::int64_t> most(tensors.size(), 0);
  std::vector<std::int64_t> vector(tensors.size());
  for (std::int64_t i = 0; i < mesh.elements(); ++i) {
    const auto& want = naive[static_cast<std::size_t>(i)];
    const std::size_t number = sizes.class_of(mesh.delinear(i));
    ASSERT_LT(number, sizes.classes());
    ++places[number];
    sizes.sizes(number, vector);
    ASSERT_EQ(vector, want) << "place " << i;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      ASSERT_EQ(sizes.size(number, t), want[t]);
      total[t] += want[t];
      most[t] = std::max(most[t], want[t]);
    }
  }
  std::set<std::vector<std::int64_t>> distinct;
  for (std::size_t c = 0; c < sizes.classes(); ++c) {
    ASSERT_EQ(sizes.places(c), places[c]);
    ASSERT_GT(places[c], 0);
    ASSERT_EQ(sizes.class_of(sizes.example(c)), c);
    sizes.sizes(c, vector);
    ASSERT_TRUE(distinct.insert(vector).second);
    std::vector<std::int64_t> above(tensors.size());
    sizes.sizes(sizes.maximal()[sizes.dominator(c)], above);
    for (std::size_t t = 0; t < tensors.size(); ++t) ASSERT_LE(vector[t], above[t]);
  }
  for (const std::uint32_t a : sizes.maximal()) {
    for (const std::uint32_t b : sizes.maximal()) {
      if (a == b) continue;
      bool below = true;
      for (std::size_t t = 0; t < tensors.size(); ++t) {
        below = below && sizes.size(a, t) <= sizes.size(b, t);
      }
      ASSERT_FALSE(below) << "class " << a << " is dominated by " << b;
    }
  }
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    ASSERT_EQ(sizes.total(t), total[t]);
    ASSERT_EQ(sizes.most(t), most[t]);
    for (std::size_t whole = 0; whole < tensors.size(); ++whole) {
      for (const std::int64_t delta : {0, 4}) {
        bool inside = true;
        for (const auto& want : naive) {
          inside = inside && (want[t] == 0 || want[t] + delta <= want[whole]);
        }
        ASSERT_EQ(sizes.fits_inside(t, whole, delta), inside);
      }
    }
  }
}

void check_layouts(const std::vector<std::int64_t>& mesh, const std::vector<Layout>& layouts) {
  std::vector<SizedTensor> tensors;
  for (const Layout& layout : layouts) tensors.push_back({&layout});
  for (const std::int64_t align : {1, 4, 16}) {
    for (const bool allocated : {false, true}) {
      check_law(shape(mesh), tensors, {align, allocated});
    }
  }
  for (SizedTensor& tensor : tensors) tensor.bytes = 10;
  tensors.push_back({nullptr, 7});
  for (const bool allocated : {false, true}) check_law(shape(mesh), tensors, {4, allocated});
}

// RowPartition(4) of 5 rows: tiles of 2, 2, 1 and 0 rows of 6 f32.
TEST(PlaceSizes, FindsTheClassesOfAPartition) {
  notation::PyflameLayout rows = grid(4, 1);
  const Layout layout = lowered(rows, {5, 6});
  const std::vector<SizedTensor> tensors = {{&layout}};
  const PlaceSizes sizes = *PlaceSizes::make(shape({4, 3}), tensors, {});
  ASSERT_EQ(sizes.classes(), 3u);
  EXPECT_EQ(sizes.size(sizes.class_of({0, 0}), 0), 48);
  EXPECT_EQ(sizes.size(sizes.class_of({2, 0}), 0), 24);
  EXPECT_EQ(sizes.size(sizes.class_of({3, 0}), 0), 0);
  EXPECT_EQ(sizes.class_of({3, 0}), sizes.class_of({0, 1}));
  EXPECT_EQ(sizes.places(sizes.class_of({0, 0})), 2);
  EXPECT_EQ(sizes.places(sizes.class_of({3, 0})), 9);
  EXPECT_EQ(sizes.total(0), 5 * 6 * 4);
  EXPECT_EQ(sizes.maximal(), std::vector<std::uint32_t>{0});
}

TEST(PlaceSizes, KeepsTheLawForEveryKindOfLayout) {
  notation::PyflameLayout cyclic = grid(2, 3);
  cyclic.kind = notation::PyflameLayout::Kind::kBlockCyclic;
  cyclic.block_rows = 2;
  cyclic.block_cols = 3;
  notation::PyflameLayout custom = grid(2, 2);
  custom.kind = notation::PyflameLayout::Kind::kCustom;
  custom.pes = {{4, 4}, {0, 1}, {2, 2}, {1, 0}};
  notation::PyflameLayout moved = grid(3, 2);
  moved.origin = {1, 2};
  notation::PyflameLayout copies = grid(4, 3);
  copies.replicate = {0};
  notation::PyflameLayout shares = grid(3, 4);
  shares.partial = {{1, Reduction::kSum}};
  notation::PyflameLayout single;
  const std::vector<Layout> grids = {
      lowered(grid(5, 5), {13, 17}),      lowered(grid(3, 2), {7, 5}, DType::kF16),
      lowered(cyclic, {11, 20}),          lowered(moved, {10, 10}),
      lowered(copies, {6, 10}),           lowered(shares, {9, 9}, DType::kI8),
      lowered(single, {3}, DType::kBool), lowered(grid(2, 2), {0, 5})};
  check_layouts({5, 5}, grids);
  std::vector<Layout> listed = grids;
  listed.push_back(lowered(custom, {5, 7}));
  custom.origin = {0, 0};
  custom.pes = {{4, 4}, {3, 3}, {2, 2}, {1, 1}};
  listed.push_back(lowered(custom, {4, 4}));
  listed.push_back(
      test::layout(test::form({4}, {}, {test::fold(test::x(0), {test::mem(1, 4, 1)})})));
  check_layouts({5, 5}, listed);
}

TEST(PlaceSizes, KeepsTheLawUnderDeviceMaps) {
  const auto mapped = [](std::vector<std::int64_t> mesh, DeviceMap map) {
    std::vector<Fold> folds;
    std::vector<std::int64_t> extents;
    for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
      extents.push_back(mesh[axis] * 3 - 1);
      const auto dim = static_cast<int>(axis);
      folds.push_back(test::fold(
          test::x(dim), {test::on(dim, 3, mesh[axis]), test::mem(1, 3, axis == 0 ? 1 : 3)}));
    }
    LayoutSpec spec = test::spec(test::form(extents, mesh, folds));
    spec.device_map = std::move(map);
    Result<Layout> layout = Layout::make(std::move(spec));
    EXPECT_TRUE(layout) << layout.error().message;
    return *std::move(layout);
  };
  using test::fold;
  using test::mem;
  using test::on;
  using test::x;
  const std::vector<Layout> layouts = {
      // every second row, mirrored
      mapped({3}, DeviceMap::folded(shape({6, 6}), {fold(x(0, -1), {on(0, 1, 3, 2)}, 2)}, {1, 3})),
      // rows and columns exchanged
      mapped({4, 2}, DeviceMap::folded(shape({6, 6}),
                                       {fold(x(0), {on(1, 1, 4)}), fold(x(1), {on(0, 1, 2, 3)})})),
      // two axes on one
      mapped({2, 3}, DeviceMap::folded(shape({6, 6}),
                                       {fold(x(0), {on(1, 1, 2, 3)}), fold(x(1), {on(1, 1, 3)})})),
      // a line over rows and columns
      mapped({8}, DeviceMap::folded(shape({6, 6}), {fold(x(0), {on(0, 3, 3), on(1, 1, 3)})})),
      // stacked: four virtual places on each of two
      mapped({8}, DeviceMap::folded(shape({6, 6}), {fold(x(0), {mem(2, 4, 1), on(0, 1, 2)})})),
  };
  check_layouts({6, 6}, layouts);
}

TEST(PlaceSizes, KeepsTheLawForRandomLayouts) {
  std::size_t tried = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Dice dice(seed);
    const std::size_t rank = static_cast<std::size_t>(dice.between(1, 3));
    std::vector<std::int64_t> mesh(rank, 1);
    std::vector<Layout> layouts;
    for (int i = 0; i < 40 && layouts.size() < 4; ++i) {
      test::Limits limits;
      limits.max_mesh_rank = 3;
      std::optional<Layout> layout = test::random_layout(dice, limits);
      if (!layout || layout->mesh().rank() != rank || layout->places() == 0) continue;
      if (layout->spec().device_map.kind() != DeviceMap::Kind::kIdentity) continue;
      for (std::size_t a = 0; a < rank; ++a) mesh[a] = std::max(mesh[a], layout->mesh()[a]);
      layouts.push_back(*std::move(layout));
    }
    if (layouts.empty()) continue;
    tried += layouts.size();
    check_layouts(mesh, layouts);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(tried, 200u);
}

// Every tensor has a different grid: rows and columns are cut at about 200 positions each.
TEST(PlaceSizes, TakesAHundredGridsOnAWafer) {
  // 97 and 61 are prime to 495 and 351: no two grids have the same rows or columns.
  const auto rows_of = [](std::int64_t t) { return 500 + t * 97 % 495; };
  const auto cols_of = [](std::int64_t t) { return 400 + t * 61 % 351; };
  const auto height = [](std::int64_t t) { return (500 + t * 97 % 495) * 7 - 3; };
  const auto width = [](std::int64_t t) { return (400 + t * 61 % 351) * 10 - 4; };
  std::vector<Layout> layouts;
  for (std::int64_t t = 0; t < 100; ++t) {
    layouts.push_back(lowered(grid(rows_of(t), cols_of(t)), {height(t), width(t)}));
  }
  std::vector<SizedTensor> tensors;
  for (const Layout& layout : layouts) tensors.push_back({&layout});
  const PlaceSizes sizes = *PlaceSizes::make(shape({994, 750}), tensors, {4});
  EXPECT_GT(sizes.classes(), 5000u);
  EXPECT_EQ(sizes.maximal().size(), 1u);
  std::int64_t places = 0;
  for (std::size_t c = 0; c < sizes.classes(); ++c) places += sizes.places(c);
  EXPECT_EQ(places, 745500);
  Dice dice(1);
  for (int i = 0; i < 300; ++i) {
    const auto t = static_cast<std::size_t>(dice.below(100));
    const std::int64_t row = dice.below(994);
    const std::int64_t col = dice.below(750);
    // Tile [i·t, min((i+1)·t, n)) of rows and columns; slots row-major over the whole tile.
    const auto tile = [](std::int64_t n, std::int64_t p, std::int64_t at) {
      const std::int64_t whole = ceil_div(n, p);
      return at >= p ? 0 : std::min((at + 1) * whole, n) - std::min(at * whole, n);
    };
    const auto k = static_cast<std::int64_t>(t);
    const std::int64_t rows = tile(height(k), rows_of(k), row);
    const std::int64_t cols = tile(width(k), cols_of(k), col);
    const std::int64_t stride = ceil_div(width(k), cols_of(k));
    const std::int64_t want = rows == 0 || cols == 0 ? 0 : 4 * ((rows - 1) * stride + cols);
    ASSERT_EQ(sizes.size(sizes.class_of({row, col}), t), want) << t << " " << row << " " << col;
  }
}

TEST(PlaceSizes, RefusesWhatIsNotOnTheMesh) {
  const Layout layout = lowered(grid(4, 4), {8, 8});
  const std::vector<SizedTensor> tensors = {{nullptr, 1}, {&layout}};
  Error error = PlaceSizes::make(shape({4, 3}), tensors, {}).error();
  EXPECT_EQ(error.code, ErrorCode::kMeshTooSmall);
  EXPECT_EQ(test::figures(error.message), "4x4 4x3 4 3 1");
  EXPECT_EQ(error.span, (Span{1, 2}));
  error = PlaceSizes::make(shape({16}), tensors, {}).error();
  EXPECT_EQ(error.code, ErrorCode::kMeshMismatch);
  EXPECT_EQ(PlaceSizes::make(shape({4, 0}), tensors, {}).error().code, ErrorCode::kBadShape);
  EXPECT_EQ(PlaceSizes::make(shape({4, 4}), tensors, {0}).error().code, ErrorCode::kBadAlignment);
  const std::vector<SizedTensor> negative = {{nullptr, -1}};
  EXPECT_EQ(PlaceSizes::make(shape({4}), negative, {}).error().code, ErrorCode::kBadBuffer);
  const std::vector<SizedTensor> huge = {{nullptr, INT64_MAX}};
  EXPECT_EQ(PlaceSizes::make(shape({4}), huge, {4}).error().code, ErrorCode::kOverflow);
  EXPECT_EQ(PlaceSizes::make(shape({4}), huge, {})->total(0), INT64_MAX);
}

TEST(PlaceSizes, ListsNoMoreThanAWaferOfPlaces) {
  notation::PyflameLayout custom = grid(1, 2);
  custom.kind = notation::PyflameLayout::Kind::kCustom;
  custom.pes = {{0, 1}, {7, 0}};
  const Layout layout = lowered(custom, {2, 2});
  const std::vector<SizedTensor> tensors = {{&layout}};
  EXPECT_TRUE(PlaceSizes::make(shape({994, 750}), tensors, {}));
  EXPECT_EQ(PlaceSizes::make(shape({1 << 20, 2}), tensors, {}).error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace tessera::memory
