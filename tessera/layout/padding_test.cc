// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tessera/layout/regions.h"
#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

// 6 tiles of 1024 slots for 53·63 = 3339 elements. Rows 18..31 of each tile are tile padding:
// 6·14·32 = 2688. The rest is grid padding: row 17 of the two cores of row 2 (2·32), and column 31
// of core column 1 in the 53 rows that hold data.
TEST(Padding, Tiled53x63) {
  const PaddingCount count = *padding(layout(tiled_53x63()));
  EXPECT_EQ(count.total, 6144 - 3339);
  EXPECT_EQ(count[Cause::kTile], 2688);
  EXPECT_EQ(count[Cause::kGrid], 64 + 53);
  EXPECT_EQ(count[Cause::kGap], 0);
}

TEST(Padding, SparseSticksAreSynthetic) {
  const Layout l = layout(form({512, 256}, {},
                               {fold(x(0), {mem(1, 512, 64)}), fold(x(1), {mem(1, 256, 32768)}),
                                fold(std::vector<Term>{}, {mem(1, 64, 1, Cause::kSynthetic)})}));
  const PaddingCount count = *padding(l);
  EXPECT_EQ(count.total, 512 * 256 * 63);
  EXPECT_EQ(count[Cause::kSynthetic], 512 * 256 * 63);
}

TEST(Padding, PartlyFilledSticks) {
  const Layout l = layout(form({512, 240}, {},
                               {fold(x(0), {mem(1, 512, 64)}),
                                fold(x(1), {mem(64, 4, 32768, Cause::kStick), mem(1, 64, 1)})}));
  EXPECT_EQ((*padding(l))[Cause::kStick], 512 * 16);
  EXPECT_EQ(padding(l)->total, 512 * 16);
}

// A map that uses d1 twice: (d0·96 + d1, d1, d2) on 8x96x32 allocates 96 times the data.
TEST(Padding, ADimInTwoFolds) {
  const Layout l = layout(form({8, 96, 32}, {},
                               {fold({x(0, 96), x(1)}, {mem(1, 768, 3072)}),
                                fold(x(1), {mem(1, 96, 32)}), fold(x(2), {mem(1, 32, 1)})}));
  const Result<PaddingCount> count = padding(l);
  ASSERT_TRUE(count.ok()) << why(count);
  EXPECT_EQ(count->total, 95 * 8 * 96 * 32);
  EXPECT_EQ((*count)[Cause::kGap], 95 * 8 * 96 * 32);
}

// [8192, 8192] on the full 994x750 mesh: tiles of 9x11, 911x745 places used.
TEST(Padding, WaferScaleIsClosedForm) {
  const Layout l = layout(form(
      {8192, 8192}, {994, 750},
      {fold(x(0), {on(0, 9, 994), mem(1, 9, 11)}), fold(x(1), {on(1, 11, 750), mem(1, 11, 1)})}));
  const PaddingCount count = *padding(l);
  EXPECT_EQ(count.total, std::int64_t{994} * 750 * 99 - std::int64_t{8192} * 8192);
  EXPECT_EQ(count[Cause::kGrid], count.total);
  EXPECT_EQ(padding_at(l, {0, 0})->total, 0);
  EXPECT_EQ(padding_at(l, {910, 0})->total, 7 * 11);        // 2 rows of 9
  EXPECT_EQ(padding_at(l, {910, 744})->total, 99 - 2 * 8);  // 2 rows of 8 columns
  EXPECT_EQ(padding_at(l, {993, 749})->total, 99);
}

TEST(Padding, ExhaustiveMeansNone) {
  EXPECT_TRUE(*is_exhaustive(*Layout::row_major(shape({4, 6}), DType::kF32)));
  EXPECT_FALSE(*is_exhaustive(*Layout::strided(shape({4, 6}), DType::kF32, {8, 1})));
  EXPECT_FALSE(*is_exhaustive(layout(tiled_53x63())));
  EXPECT_TRUE(*is_exhaustive(layout(form({0}, {}, {fold(x(0), {mem(1, 0, 1)})}))));
}

TEST(Padding, PlaceSets) {
  const PlaceSet set{{1, 2}, {PlaceLoop{0, 2, 3}, PlaceLoop{1, 2, 1}}};
  EXPECT_EQ(set.count(), 4);
  EXPECT_FALSE(set.is_rectangle());
  EXPECT_TRUE(set.contains({4, 3}));
  EXPECT_FALSE(set.contains({2, 2}));
  EXPECT_FALSE(set.contains({7, 2}));
  EXPECT_EQ(set.places().size(), 4u);
  EXPECT_TRUE((PlaceSet{{1, 2}, {PlaceLoop{0, 2, 1}, PlaceLoop{1, 5, 1}}}).is_rectangle());
  EXPECT_TRUE((PlaceSet{{1, 2}, {}}).is_rectangle());
  // Two loops on one axis: 0, 1, 4, 5.
  const PlaceSet stepped{{0}, {PlaceLoop{0, 2, 4}, PlaceLoop{0, 2, 1}}};
  EXPECT_TRUE(stepped.contains({5}));
  EXPECT_FALSE(stepped.contains({2}));
  // By division, not by steps.
  const PlaceSet long_line{{3}, {{0, std::int64_t{1} << 50, 4}, {0, 3, 1}}};
  EXPECT_TRUE(long_line.contains({3 + (std::int64_t{1} << 51) + 2}));
  EXPECT_FALSE(long_line.contains({3 + (std::int64_t{1} << 51) + 3}));
  EXPECT_FALSE(long_line.contains({2}));
  EXPECT_FALSE(stepped.is_rectangle());
}

// The complement of one box per fold needs few regions, for a tensor of any size.
TEST(PaddingRegions, AreFewAndExact) {
  const Layout l = layout(form({8190, 100}, {994, 1},
                               {fold(x(0), {on(0, 9, 994), mem(1, 16, 128, Cause::kTile)}),
                                fold(x(1), {mem(1, 128, 1, Cause::kTile)})}));
  std::int64_t regions = 0;
  std::int64_t slots = 0;
  ASSERT_TRUE(padding_regions(l, [&](const PaddingRegion& region) {
                ++regions;
                slots += region.places.count() * region.slots_per_place();
                return true;
              }).ok());
  EXPECT_EQ(slots, padding(l)->total);
  EXPECT_LE(regions, 32);
}

TEST(PaddingRegions, TheLaws) {
  const std::vector<Form> cases = {
      form({5}, {4}, {fold(x(0), {on(0, 2, 4), mem(1, 2, 1)})}),
      form({9}, {}, {fold(x(0), {mem(3, 3, 5), mem(1, 3, 1)})}),
      form({20}, {}, {fold(x(0), {mem(7, 4, 12), mem(3, 3, 4), mem(2, 2, 2), mem(1, 2, 1)})}),
      form({5, 4}, {3}, {fold({x(0, 6), x(1)}, {on(0, 12, 3), mem(5, 3, 6), mem(1, 6, 1)}, 1)}),
      form({4, 4}, {4, 4},
           {fold(x(0), {on(0, 1, 4)}), fold({x(0), x(1)}, {nowhere(4, 2), on(1, 1, 4)})}),
      form({3}, {9}, {fold(x(0), {on(0, 1, 4, 2)})}, {Fill::fixed(0, 1)}),
      form({6}, {3, 4}, {fold(x(0), {on(1, 2, 3), mem(1, 2, 1)})}, {Fill::replicate(0, 2)}, 1),
      form({}, {3}, {fold(std::vector<Term>{}, {mem(2, 3, 2), mem(1, 2, 1)}, 3)},
           {Fill::fixed(0, 1)}),
  };
  for (const Form& f : cases) {
    const Result<Layout> l = Layout::make(spec(f));
    ASSERT_TRUE(l.ok()) << why(l) << describe(f);
    EXPECT_EQ(slot_laws(*l), "");
  }
}

}  // namespace
}  // namespace tessera::test
