// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/layout.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t slot_of(const Layout& l, const Index& index) { return l.locate(index)->slot; }

/// Where every element of a layout without a mesh is, in row-major order.
Numbers slots_in_order(const Layout& l) {
  Numbers slots;
  for (std::int64_t i = 0; i < l.shape().elements(); ++i) {
    slots.push_back(slot_of(l, l.shape().delinear(i)));
  }
  return slots;
}

// tt-mlir's 53x63 on 3x2 cores: row 40 = 2·18 + 4 is on core row 2, tile row 4; column 33 = 32 + 1
// is on core column 1, tile column 1.
TEST(Layout, Tiled53x63) {
  const Layout l = layout(tiled_53x63());
  EXPECT_EQ(l.slots(), 1024);
  EXPECT_EQ(l.shard_bytes(), 4096);
  EXPECT_EQ(l.places(), 6);
  EXPECT_EQ(l.allocated_bytes(), 24576);
  const Location where = *l.locate({40, 33});
  EXPECT_EQ(where.places, (std::vector<Place>{{2, 1}}));
  EXPECT_EQ(where.slot, 4 * 32 + 1);
  EXPECT_EQ(where.byte, 4 * (4 * 32 + 1));
  EXPECT_EQ(*l.element_at({2, 1}, 4 * 32 + 1), Slot(Index{40, 33}));
  // Tile row 18 of core 0 is past the 18 rows of a core; tile row 17 of core 2 is row 53 of 53.
  EXPECT_EQ(*l.element_at({0, 0}, std::int64_t{18} * 32), Slot(Padding{Cause::kTile}));
  EXPECT_EQ(*l.element_at({2, 0}, std::int64_t{17} * 32), Slot(Padding{Cause::kGrid}));
  EXPECT_EQ(*l.element_at({0, 1}, 31), Slot(Padding{Cause::kGrid}));  // column 63 of 63
  EXPECT_EQ(slot_laws(l), "");
}

TEST(Layout, FromSimpleToStrange) {
  // {x0} by (1 in memory·6) {x1} by (1 in memory·1)
  EXPECT_EQ(slot_of(*Layout::row_major(shape({4, 6}), DType::kF32), {2, 3}), 15);
  EXPECT_EQ(slot_of(*Layout::strided(shape({4, 6}), DType::kF32, {1, 4}), {2, 3}), 14);
  // 4-wide blocks of columns: b = (d1 mod 4) + 4·d0 + 24·floor(d1/4) on [6, 8].
  const Layout blocks = layout(
      form({6, 8}, {}, {fold(x(0), {mem(1, 6, 4)}), fold(x(1), {mem(4, 2, 24), mem(1, 4, 1)})}));
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t j = 0; j < 8; ++j) {
      EXPECT_EQ(slot_of(blocks, {i, j}), j % 4 + 4 * i + 24 * (j / 4));
    }
  }
  // OddEven(8): even indices first.
  const Layout odd_even =
      layout(form({8}, {}, {fold(x(0), {mem(8, 1, 8), mem(2, 4, 1), mem(1, 2, 4)})}));
  EXPECT_EQ(slots_in_order(odd_even), (Numbers{0, 4, 1, 5, 2, 6, 3, 7}));
  // Two periods of OddEven(4) over 8.
  const Layout periods =
      layout(form({8}, {}, {fold(x(0), {mem(4, 2, 4), mem(2, 2, 1), mem(1, 2, 2)})}));
  EXPECT_EQ(slots_in_order(periods), (Numbers{0, 2, 1, 3, 4, 6, 5, 7}));
  // cute<((3,3)):((1,5))>
  const Layout nested = layout(form({9}, {}, {fold(x(0), {mem(3, 3, 5), mem(1, 3, 1)})}));
  EXPECT_EQ(slots_in_order(nested), (Numbers{0, 1, 2, 5, 6, 7, 10, 11, 12}));
  EXPECT_EQ(*nested.element_at({}, 3), Slot(Padding{Cause::kGap}));
  for (const Layout& l : {blocks, odd_even, periods, nested}) EXPECT_EQ(slot_laws(l), "");
}

// XLA tiles apply to the minor-most dims; [10, 200] in tiles of 8x128 is [2, 2, 8, 128].
TEST(Layout, TilesOfTiles) {
  const Layout tiled = layout(form({10, 200}, {},
                                   {fold(x(0), {mem(8, 2, 2048), mem(1, 8, 128)}),
                                    fold(x(1), {mem(128, 2, 1024), mem(1, 128, 1)})}));
  EXPECT_EQ(slot_of(tiled, {9, 130}), 2048 + 1 * 128 + 1024 + 2);
  // T(8,128)(2,1): inside a tile pairs of rows interleave: (r div 2)·256 + c·2 + r mod 2.
  const Layout pairs = layout(form({10, 200}, {},
                                   {fold(x(0), {mem(8, 2, 2048), mem(2, 4, 256), mem(1, 2, 1)}),
                                    fold(x(1), {mem(128, 2, 1024), mem(1, 128, 2)})},
                                   {}),
                              DType::kBF16);
  EXPECT_EQ(slot_of(pairs, {9, 130}), 2048 + 0 * 256 + 1 + 1024 + 2 * 2);
  EXPECT_EQ(slot_of(pairs, {11 - 8, 1}), 256 + 2 + 1);
  EXPECT_EQ(slot_laws(tiled), "");
  EXPECT_EQ(slot_laws(pairs), "");
}

// oneDNN aBcd16b of [2, 20, 3, 4]: channels padded to 32, blocks of 16 innermost.
TEST(Layout, BlockedChannels) {
  const Layout l =
      layout(form({2, 20, 3, 4}, {},
                  {fold(x(0), {mem(1, 2, 384)}), fold(x(1), {mem(16, 2, 192), mem(1, 16, 1)}),
                   fold(x(2), {mem(1, 3, 64)}), fold(x(3), {mem(1, 4, 16)})}));
  EXPECT_EQ(slot_of(l, {1, 19, 2, 3}), 384 + 192 + 2 * 64 + 3 * 16 + 3);
  EXPECT_EQ(slot_laws(l), "");
}

// Tile i of n rows on p places is [min(i·t, n), min((i+1)·t, n)), t = ceil(n/p).
TEST(Layout, RowPartition4Of5Rows) {
  const Layout l = layout(form({5}, {4}, {fold(x(0), {on(0, 2, 4), mem(1, 2, 1)})}));
  EXPECT_EQ(*l.element_at({2}, 0), Slot(Index{4}));
  EXPECT_EQ(*l.element_at({2}, 1), Slot(Padding{Cause::kGrid}));
  EXPECT_EQ(*l.element_at({3}, 0), Slot(Padding{Cause::kGrid}));
  EXPECT_EQ(slot_laws(l), "");
}

// 5 elements on 2x2: GSPMD [0,2)[2,4)[4,5)[] and nested ceil-divide [0,2)[2,3)[3,5)[].
TEST(Layout, TwoLevelSplitsKeepTheirOwnersRule) {
  const Layout gspmd =
      layout(form({5}, {2, 2}, {fold(x(0), {on(0, 4, 2), on(1, 2, 2), mem(1, 2, 1)})}));
  const Layout nested =
      layout(form({5}, {2, 2}, {fold(x(0), {on(0, 3, 2), on(1, 2, 2), mem(1, 2, 1)})}));
  const std::vector<Place> gspmd_places = {{0, 0}, {0, 0}, {0, 1}, {0, 1}, {1, 0}};
  const std::vector<Place> nested_places = {{0, 0}, {0, 0}, {0, 1}, {1, 0}, {1, 0}};
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(gspmd.locate({i})->places[0], gspmd_places[static_cast<std::size_t>(i)]);
    EXPECT_EQ(nested.locate({i})->places[0], nested_places[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(slot_laws(gspmd), "");
  EXPECT_EQ(slot_laws(nested), "");
}

// Cerebras conformance: a 4x4 row-major 0..15 on 2x2 PEs with column-major tiles.
TEST(Layout, ColumnMajorTilesStream) {
  const Layout l = layout(
      form({4, 4}, {2, 2},
           {fold(x(0), {on(0, 2, 2), mem(1, 2, 1)}), fold(x(1), {on(1, 2, 2), mem(1, 2, 2)})}));
  const Numbers expected = {0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15};
  Numbers stream;
  for (std::int64_t q = 0; q < 4; ++q) {
    for (std::int64_t s = 0; s < 4; ++s) {
      stream.push_back(l.shape().linear(std::get<Index>(*l.element_at(l.mesh().delinear(q), s))));
    }
  }
  EXPECT_EQ(stream, expected);
}

// Spyre's sparse sticks of [512, 256]: device_size [256, 512, 64], one element per stick.
TEST(Layout, SparseSticks) {
  const Layout l = layout(form({512, 256}, {},
                               {fold(x(0), {mem(1, 512, 64)}), fold(x(1), {mem(1, 256, 32768)}),
                                fold(std::vector<Term>{}, {mem(1, 64, 1, Cause::kSynthetic)})}),
                          DType::kF16);
  EXPECT_EQ(l.slots(), 256 * 512 * 64);
  EXPECT_EQ(slot_of(l, {3, 5}), 5 * 32768 + 3 * 64);
  EXPECT_EQ(*l.element_at({}, 5 * 32768 + 3 * 64), Slot(Index{3, 5}));
  EXPECT_EQ(*l.element_at({}, 5 * 32768 + 3 * 64 + 1), Slot(Padding{Cause::kSynthetic}));
}

// [512, 240] f16 in sticks of 64: the fourth stick holds 48 elements.
TEST(Layout, SticksEndPartlyFilled) {
  const Layout l = layout(form({512, 240}, {},
                               {fold(x(0), {mem(1, 512, 64)}),
                                fold(x(1), {mem(64, 4, 32768, Cause::kStick), mem(1, 64, 1)})}),
                          DType::kF16);
  EXPECT_EQ(slot_of(l, {0, 192}), 98304);
  EXPECT_EQ(*l.element_at({}, 98304 + 47), Slot(Index{0, 239}));
  EXPECT_EQ(*l.element_at({}, 98304 + 48), Slot(Padding{Cause::kStick}));
}

// A map that uses d1 twice: (d0·3 + d1, d1, d2) on 2x3x4 allocates 3 times the data.
TEST(Layout, ADimInTwoFolds) {
  const Layout l = layout(form({2, 3, 4}, {},
                               {fold({x(0, 3), x(1)}, {mem(1, 6, 12)}), fold(x(1), {mem(1, 3, 4)}),
                                fold(x(2), {mem(1, 4, 1)})}));
  EXPECT_EQ(l.slots(), 72);
  EXPECT_EQ(slot_of(l, {1, 2, 3}), 5 * 12 + 2 * 4 + 3);
  EXPECT_EQ(*l.element_at({}, 5 * 12 + 1 * 4), Slot(Padding{Cause::kGap}));
  EXPECT_EQ(slot_laws(l), "");
}

TEST(Layout, ReplicasAndPartialSums) {
  const Layout l =
      layout(form({6}, {2, 3}, {fold(x(0), {on(1, 2, 3), mem(1, 2, 1)})}, {Fill::replicate(0, 2)}));
  EXPECT_EQ(l.locate({3})->places, (std::vector<Place>{{0, 1}, {1, 1}}));
  EXPECT_EQ(*l.element_at({1, 1}, 1), Slot(Index{3}));
  EXPECT_EQ(slot_laws(l), "");
  const Layout sums = layout(
      form({2}, {6}, {fold(x(0), {mem(1, 2, 1)})}, {Fill::partial(0, 3, Reduction::kSum, 2)}));
  EXPECT_EQ(sums.locate({1})->places, (std::vector<Place>{{0}, {2}, {4}}));
  EXPECT_EQ(*sums.element_at({1}, 0), Slot(Padding{Cause::kGrid}));
  EXPECT_EQ(slot_laws(sums), "");
}

struct EdgeCase {
  const char* what;
  Form form;
  std::int64_t slots;
};

TEST(Layout, EdgesHaveDefinedAnswers) {
  const std::vector<EdgeCase> cases = {
      {"rank 0", form({}, {}, {}), 1},
      {"rank 0 at an offset", form({}, {}, {}, {}, 3), 4},
      {"rank 0 replicated", form({}, {3}, {}, {Fill::replicate(0, 3)}), 1},
      {"extent 0, nothing allocated", form({0}, {}, {fold(x(0), {mem(1, 0, 1)})}), 0},
      {"extent 0, three allocated", form({0}, {}, {fold(x(0), {mem(1, 3, 1)})}), 3},
      {"extent 0 beside extent 4",
       form({0, 4}, {}, {fold(x(0), {mem(1, 1, 4)}), fold(x(1), {mem(1, 4, 1)})}), 4},
      {"extent 1, in no fold", form({1}, {}, {}), 1},
      {"extent 0, in no fold", form({0}, {}, {}), 1},
      {"mesh larger than used", form({4}, {7}, {fold(x(0), {on(0, 2, 2), mem(1, 2, 1)})}), 2},
      {"mesh axis of one", form({4}, {1}, {fold(x(0), {mem(1, 4, 1)})}), 4},
      {"fixed in the middle", form({4}, {5}, {fold(x(0), {mem(1, 4, 1)})}, {Fill::fixed(0, 2)}), 4},
      {"counts above need", form({4}, {3}, {fold(x(0), {on(0, 2, 3), mem(1, 5, 1)})}), 5},
      {"bumped stride", form({3, 3}, {}, {fold(x(0), {mem(1, 3, 5)}), fold(x(1), {mem(1, 3, 1)})}),
       13},
      {"flip", form({5}, {}, {fold(x(0, -1), {mem(1, 5, 1)}, 4)}), 5},
      {"every other slot", form({5}, {}, {fold(x(0, 2), {mem(1, 9, 1)})}), 9},
      {"interleaved strides 2 and 3",
       form({2, 2}, {}, {fold(x(0), {mem(1, 2, 2)}), fold(x(1), {mem(1, 2, 3)})}), 6},
      {"growing widths", form({10}, {}, {fold(x(0), {mem(3, 4, 3), mem(5, 1, 99), mem(1, 3, 1)})}),
       12},
  };
  for (const EdgeCase& edge : cases) {
    const Result<Layout> l = Layout::make(spec(edge.form));
    ASSERT_TRUE(l.ok()) << edge.what << ": " << why(l);
    EXPECT_EQ(l->slots(), edge.slots) << edge.what;
    EXPECT_EQ(slot_laws(*l), "") << edge.what;
    EXPECT_EQ(form_laws(l->form()), "") << edge.what;
  }
}

TEST(Layout, ExplicitSlotsAreGaps) {
  LayoutSpec roomy = spec(form({4}, {}, {fold(x(0), {mem(1, 4, 1)})}, {}, 2));
  roomy.slots = 10;
  const Layout l = *Layout::make(roomy);
  EXPECT_EQ(l.slots(), 10);
  EXPECT_EQ(*l.element_at({}, 0), Slot(Padding{Cause::kGap}));
  EXPECT_EQ(*l.element_at({}, 9), Slot(Padding{Cause::kGap}));
  EXPECT_EQ(slot_laws(l), "");
}

TEST(Layout, AtomsMeasureBytes) {
  LayoutSpec bfp = spec(tiled_53x63());
  bfp.atom = Atom::tile(32, 32, DType::kBfpBf8);
  const Layout l = *Layout::make(bfp);
  EXPECT_EQ(l.shard_bytes(), 1088);
  EXPECT_FALSE(l.locate({0, 0})->byte.has_value());
  const Layout nibbles = layout(form({5}, {}, {fold(x(0), {mem(1, 5, 1)})}), DType::kI4);
  EXPECT_EQ(nibbles.shard_bytes(), 3);
  EXPECT_EQ(nibbles.locate({3})->byte, 1);
}

TEST(Layout, EqualityIsOfDescriptions) {
  EXPECT_EQ(layout(tiled_53x63()), layout(tiled_53x63()));
  Form other = tiled_53x63();
  other.folds[0].cuts[0].cause = Cause::kTile;
  EXPECT_FALSE(layout(tiled_53x63()) == layout(other));
}

}  // namespace
}  // namespace tessera::test
