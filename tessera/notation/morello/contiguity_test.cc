// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/morello/contiguity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/notation/rule_morello.h"

namespace tessera::notation {
namespace {

using test::Numbers;

struct Case {
  MorelloLayout words;
  Shape shape;
  Numbers sizes;  ///< of the physical dims
  std::string text;
};

Case read(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  const auto& words = std::get<MorelloLayout>(terms_of(*tensor));
  const Shape& shape = tensor->layout().shape();
  return {words, shape, *physical_sizes(words, shape), text};
}

/// The slots of all elements, from the layout itself (other tests check it against the rule).
Numbers slots_of(const Case& c) {
  const Layout layout = *lower(c.words, c.shape, DType::kF32);
  Numbers slots;
  for (const Numbers& index : test::all_tuples(c.shape.extents())) {
    slots.push_back(layout.locate(index)->slot);
  }
  return slots;
}

/// The definition, by brute force on the sorted slots of the tiles.
class Brute {
 public:
  explicit Brute(const Case& c) : c_(c), slots_(slots_of(c)) {}

  /// The tile [origin, origin + tile), cut off at the edges.
  void add(const Numbers& tile, const Numbers& origin) {
    Numbers slots;
    for (const Numbers& step : test::all_tuples(tile)) {
      Index index = origin;
      for (std::size_t d = 0; d < index.size(); ++d) index[d] += step[d];
      if (c_.shape.contains(index)) {
        slots.push_back(slots_[static_cast<std::size_t>(c_.shape.linear(index))]);
      }
    }
    std::sort(slots.begin(), slots.end());
    tiles_.push_back(std::move(slots));
  }

  TileContiguity answer() const {
    TileContiguity best{c_.sizes.empty(), 0, 1};
    std::int64_t volume = 1;
    for (std::size_t k = 1; k <= c_.sizes.size(); ++k) {
      volume *= c_.sizes[c_.sizes.size() - k];
      std::int64_t run = 0;
      for (const Numbers& tile : tiles_) {
        // Slots that agree in all but the k innermost physical dims agree in slot / volume.
        for (std::size_t from = 0, to = 0; from < tile.size(); from = to) {
          while (to < tile.size() && tile[to] / volume == tile[from] / volume) ++to;
          const auto length = static_cast<std::int64_t>(to - from);
          if (tile[to - 1] - tile[from] + 1 != length) return best;
          run = std::gcd(run, length);
        }
      }
      best = {k == c_.sizes.size(), k, run};
    }
    return best;
  }

  /// The common divisor of the lengths of the longest runs.
  std::int64_t divisor_of_runs() const {
    std::int64_t divisor = 0;
    for (const Numbers& tile : tiles_) {
      std::int64_t length = 0;
      for (std::size_t i = 0; i < tile.size(); ++i) {
        ++length;
        if (i + 1 < tile.size() && tile[i + 1] == tile[i] + 1) continue;
        divisor = std::gcd(divisor, length);
        length = 0;
      }
    }
    return divisor;
  }

 private:
  const Case& c_;
  Numbers slots_;
  std::vector<Numbers> tiles_;
};

std::string told(const TileContiguity& c) {
  return std::string(c.contiguous ? "contiguous" : "broken") + ", " + std::to_string(c.dims) +
         " dims, run " + std::to_string(c.run);
}

/// The number of tiles examined; stops at the first mistake.
std::int64_t check_all_tiles(const Case& c) {
  std::int64_t tried = 0;
  for (Numbers tile : test::all_tuples(c.shape.extents())) {
    for (std::int64_t& extent : tile) ++extent;
    const Shape tile_shape = *Shape::make(tile);
    Brute aligned(c);
    Numbers origins = c.shape.extents();
    for (std::size_t d = 0; d < tile.size(); ++d) origins[d] -= tile[d] - 1;
    for (const Numbers& origin : test::all_tuples(c.shape.extents())) {
      bool multiple = true;
      bool inside = true;
      for (std::size_t d = 0; d < tile.size(); ++d) {
        multiple = multiple && origin[d] % tile[d] == 0;
        inside = inside && origin[d] < origins[d];
      }
      if (multiple) aligned.add(tile, origin);
      if (!inside) continue;
      Brute one(c);
      one.add(tile, origin);
      const TileContiguity answer = *tile_contiguity(c.words, c.shape, tile_shape, origin);
      EXPECT_EQ(told(answer), told(one.answer())) << c.text << ": tile " << tile_shape.to_string()
                                                  << " at " << testing::PrintToString(origin);
      EXPECT_EQ(one.divisor_of_runs() % answer.run, 0);
      if (testing::Test::HasFailure()) return tried;
      ++tried;
    }
    const TileContiguity answer = *tile_contiguity(c.words, c.shape, tile_shape);
    EXPECT_EQ(told(answer), told(aligned.answer()))
        << c.text << ": tiles of " << tile_shape.to_string();
    EXPECT_EQ(aligned.divisor_of_runs() % answer.run, 0);
    if (testing::Test::HasFailure()) return tried;
    ++tried;
  }
  return tried;
}

TEST(MorelloContiguity, EveryTileOfManyLayouts) {
  for (const char* text : {
           "tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>",
           "tensor<6x8xf32, morello.row_major()>",
           "tensor<4x6xf32, morello.col_major()>",
           "tensor<4x2x4xf32, morello[(0, Dynamic), (1, Dynamic), (0, Packed(2)), (2, Dynamic)]>",
           "tensor<12xf32, morello[(0, Dynamic), (0, OddEven(6))]>",
           "tensor<8xf32, morello[(0, OddEven(8))]>",
           "tensor<16xf32, morello[(0, OddEven(4)), (0, OddEven(4))]>",
           "tensor<2x12xf32, morello[(1, OddEven(4)), (0, Dynamic), (1, Packed(3))]>",
           "tensor<3x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, OddEven(4))]>",
           "tensor<6x4xf32, morello[(0, Dynamic), (1, OddEven(4)), (0, Packed(2))]>",
           "tensor<1x6xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(3))]>",
           "tensor<f32, morello[]>",
       }) {
    check_all_tiles(read(text));
  }
}

TEST(MorelloContiguity, EveryTileOfRandomLayouts) {
  std::int64_t tried = 0;
  for (std::uint64_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
    test::Dice dice(seed);
    Numbers shape = test::random_shape(dice, 3, 40);
    std::replace(shape.begin(), shape.end(), std::int64_t{0}, std::int64_t{1});
    tried += check_all_tiles(
        read(test::tensor_text(shape, "f32", test::random_morello(dice, shape).text())));
  }
  RecordProperty("tiles", static_cast<int>(tried));
  EXPECT_GT(tried, 20000);
}

TEST(MorelloContiguity, ATileOfThreeInAPackOfFour) {
  const Case c = read("tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>");
  const auto at = [&](std::vector<std::int64_t> tile, const Index& origin) {
    return *tile_contiguity(c.words, c.shape, *Shape::make(std::move(tile)), origin);
  };
  const auto everywhere = [&](std::vector<std::int64_t> tile) {
    return *tile_contiguity(c.words, c.shape, *Shape::make(std::move(tile)));
  };
  EXPECT_EQ(at({6, 4}, {0, 4}), (TileContiguity{true, 3, 24}));
  EXPECT_EQ(at({2, 4}, {1, 0}), (TileContiguity{true, 3, 8}));
  EXPECT_EQ(at({2, 3}, {0, 0}), (TileContiguity{false, 1, 3}));
  EXPECT_EQ(at({1, 3}, {0, 0}), (TileContiguity{true, 3, 3}));
  EXPECT_EQ(at({1, 3}, {0, 3}), (TileContiguity{false, 2, 1}));
  EXPECT_FALSE(everywhere({1, 3}).contiguous);
  EXPECT_EQ(everywhere({1, 3}).run, 1);
  EXPECT_FALSE(everywhere({6, 3}).contiguous);
  // Columns 4 .. 7 of all rows, and halves of a pack.
  EXPECT_EQ(everywhere({6, 4}), (TileContiguity{true, 3, 24}));
  EXPECT_EQ(everywhere({6, 2}), (TileContiguity{false, 1, 2}));
  EXPECT_EQ(everywhere({1, 2}), (TileContiguity{true, 3, 2}));
}

// Morello's own cases: tiles of column-major and of packs, and what OddEven allows.
TEST(MorelloContiguity, TheOwnersCases) {
  const Case column = read("tensor<128x128xf32, morello.col_major()>");
  EXPECT_TRUE(tile_contiguity(column.words, column.shape, *Shape::make({8, 1}))->contiguous);
  EXPECT_FALSE(tile_contiguity(column.words, column.shape, *Shape::make({8, 2}))->contiguous);
  const Case packed =
      read("tensor<64x64xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>");
  EXPECT_FALSE(tile_contiguity(packed.words, packed.shape, *Shape::make({16, 1}))->contiguous);
  EXPECT_FALSE(tile_contiguity(packed.words, packed.shape, *Shape::make({16, 2}))->contiguous);
  EXPECT_TRUE(tile_contiguity(packed.words, packed.shape, *Shape::make({16, 4}))->contiguous);
  const Case sorted = read("tensor<4x64xf32, morello[(0, OddEven(4)), (1, Dynamic)]>");
  EXPECT_TRUE(tile_contiguity(sorted.words, sorted.shape, *Shape::make({1, 1}))->contiguous);
  EXPECT_FALSE(tile_contiguity(sorted.words, sorted.shape, *Shape::make({2, 64}))->contiguous);
  EXPECT_TRUE(tile_contiguity(sorted.words, sorted.shape, *Shape::make({4, 64}))->contiguous);
  const Case both = read("tensor<6x8xf32, morello[(0, Dynamic), (1, Dynamic), (0, Packed(2))]>");
  EXPECT_EQ(*tile_contiguity(both.words, both.shape, *Shape::make({6, 1})),
            (TileContiguity{false, 2, 2}));
}

TEST(MorelloContiguity, LargeTensorsCostNothing) {
  const Case c = read(
      "tensor<1099511627776x4194304xi8, morello[(1, Dynamic), (0, Dynamic), (1, Packed(64))]>");
  EXPECT_EQ(*tile_contiguity(c.words, c.shape, *Shape::make({1099511627776, 64})),
            (TileContiguity{true, 3, 64 * std::int64_t{1099511627776}}));
  EXPECT_EQ(*tile_contiguity(c.words, c.shape, *Shape::make({1048576, 32})),
            (TileContiguity{false, 1, 32}));
  // 48 columns in packs of 64: each position is stored differently, and there are many.
  const Result<TileContiguity> many = tile_contiguity(c.words, c.shape, *Shape::make({1, 48}));
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(*tile_contiguity(c.words, c.shape, *Shape::make({1, 48}), {5, 96}),
            (TileContiguity{false, 2, 16}));
}

TEST(MorelloContiguity, TilesThatAreNone) {
  const Case c = read("tensor<6x8xf32, morello.row_major()>");
  const auto code = [&](std::vector<std::int64_t> tile, const Index& origin) {
    return tile_contiguity(c.words, c.shape, *Shape::make(std::move(tile)), origin).error().code;
  };
  EXPECT_EQ(code({6}, {0, 0}), ErrorCode::kShapeMismatch);
  EXPECT_EQ(code({6, 8}, {0}), ErrorCode::kShapeMismatch);
  EXPECT_EQ(code({7, 8}, {0, 0}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({6, 8}, {0, 1}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({6, 8}, {0, -1}), ErrorCode::kOutOfRange);
  EXPECT_EQ(tile_contiguity(c.words, c.shape, *Shape::make({7, 8})).error().code,
            ErrorCode::kOutOfRange);
  EXPECT_EQ(*tile_contiguity(c.words, c.shape, *Shape::make({0, 8})), (TileContiguity{true, 2, 0}));
}

}  // namespace
}  // namespace tessera::notation
