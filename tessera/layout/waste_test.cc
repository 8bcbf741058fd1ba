// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/waste.h"

#include <gtest/gtest.h>

#include <utility>

#include "tessera/layout/regions.h"

namespace tessera {
namespace {

/// A line of `extent` in pieces of `piece` on `places` places, each piece row by row in memory.
Layout line(std::int64_t extent, std::int64_t piece, std::int64_t places) {
  LayoutSpec spec;
  spec.form.shape = Shape::make({extent}).value();
  spec.form.mesh = Shape::make({places}).value();
  Fold fold;
  fold.terms = {{0, 1}};
  fold.cuts = {{piece, places, Target::mesh(0), 1, Cause::kGrid},
               {1, piece, Target::memory(), 1, Cause::kGrid}};
  spec.form.folds = {fold};
  spec.dtype = DType::kF32;
  spec.atom = Atom::scalar(DType::kF32);
  return Layout::make(std::move(spec)).value();
}

TEST(WasteTest, CountsAllPlaces) {
  const Waste waste = waste_of(line(53, 32, 3));
  EXPECT_EQ(waste.allocated, 96);
  EXPECT_EQ(waste.needed, 53);
  EXPECT_EQ(waste.factor_text(), "1.8");
  EXPECT_TRUE(waste.more_than(1.8));
  EXPECT_FALSE(waste.more_than(1.9));
  EXPECT_EQ(waste_of(line(32, 32, 3)).factor_text(), "3");
}

TEST(WasteTest, TilesAreNeeded) {
  const Waste waste = waste_beside_tiles(line(53, 32, 3), 32, 32);
  EXPECT_EQ(waste.needed, 64 * 32);  // one row of two tiles, 32 rows each
  EXPECT_EQ(waste_beside_tiles(line(53, 32, 3), 1, 1).needed, 53);
}

TEST(WasteTest, NothingIsNeededOfAnEmptyTensor) {
  EXPECT_FALSE(waste_of(line(0, 4, 3)).more_than(4));
}

TEST(PlacesPastTheEndTest, AreThoseThatHoldNothing) {
  EXPECT_EQ(places_past_the_end(line(53, 32, 3).form()), 1);
  EXPECT_EQ(places_past_the_end(line(96, 32, 3).form()), 0);
  EXPECT_EQ(places_past_the_end(line(1, 32, 3).form()), 2);
  for (std::int64_t extent = 1; extent <= 12; ++extent) {
    for (std::int64_t piece = 1; piece <= 5; ++piece) {
      const std::int64_t places = 12;
      const Layout layout = line(extent, piece, places);
      std::int64_t empty = 0;
      for (std::int64_t place = 0; place < places; ++place) {
        empty += tile_of(layout, {place})->elements == 0 ? 1 : 0;
      }
      EXPECT_EQ(places_past_the_end(layout.form()), empty) << extent << " in " << piece;
    }
  }
}

}  // namespace
}  // namespace tessera
