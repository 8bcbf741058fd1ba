// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/xla/xla.h"

#include <gtest/gtest.h>

#include <ranges>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/rule_laws.h"
#include "tessera/testing/notation/text_checks.h"

namespace tessera::notation {
namespace {

using test::NotationRule;
using test::Numbers;
using test::RuleCase;
using test::RuleLaws;

struct Answer {
  std::int64_t slot = 0;
  std::int64_t slots = 0;
};

/// The rule on an array of coordinates, directly from openxla.org/xla/tiled_layout: pad the rank,
/// combine, round up, split, move the tile to the back. `index` and `extent` are the physical dims,
/// slowest first.
Answer naive(Numbers index, Numbers extent, const std::vector<Numbers>& tiles) {
  for (Numbers tile : tiles) {
    while (extent.size() < tile.size()) {
      index.insert(index.begin(), 0);
      extent.insert(extent.begin(), 1);
    }
    for (std::size_t i = 0; i < tile.size();) {
      if (tile[i] != XlaLayout::kCombine) {
        ++i;
        continue;
      }
      const std::size_t slow = extent.size() - (tile.size() - i);
      index[slow + 1] += index[slow] * extent[slow + 1];
      extent[slow + 1] *= extent[slow];
      index.erase(index.begin() + static_cast<std::ptrdiff_t>(slow));
      extent.erase(extent.begin() + static_cast<std::ptrdiff_t>(slow));
      tile.erase(tile.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const std::size_t first = extent.size() - tile.size();
    for (std::size_t i = 0; i < tile.size(); ++i) {
      index.push_back(index[first + i] % tile[i]);
      extent.push_back(tile[i]);
      index[first + i] /= tile[i];
      extent[first + i] = (extent[first + i] + tile[i] - 1) / tile[i];
    }
  }
  Answer answer{0, 1};
  for (std::size_t i = 0; i < extent.size(); ++i) {
    answer.slot = answer.slot * extent[i] + index[i];
    answer.slots *= extent[i];
  }
  return answer;
}

Numbers physical(const XlaLayout& words, const Numbers& logical) {
  Numbers numbers;
  for (const std::int64_t dim : std::views::reverse(words.minor_to_major)) {
    numbers.push_back(logical[static_cast<std::size_t>(dim)]);
  }
  return numbers;
}

RuleCase xla_case(const XlaLayout& words, const Numbers& shape) {
  const Numbers extent = physical(words, shape);
  const std::int64_t tiled = naive(Numbers(extent.size(), 0), extent, words.tiles).slots;
  test::Ruled ruled;
  ruled.text = test::tensor_text(shape, "f32", write(words));
  ruled.shape = shape;
  const std::int64_t align = words.tail_alignment.value_or(1);
  ruled.slots = test::ceil_divide(tiled, align) * align;
  for (const Numbers& index : test::all_tuples(shape)) {
    ruled.positions.push_back({{{}}, naive(physical(words, index), extent, words.tiles).slot});
  }
  ruled.causes.assign(static_cast<std::size_t>(tiled), "tile");
  ruled.causes.resize(static_cast<std::size_t>(ruled.slots), "gap");
  return words_case(words, ruled);
}

/// Tiles of up to three levels, of higher rank than the shape, larger than what they tile, over the
/// grid of those before, with combined dims.
RuleCase random_case(test::Dice& dice) {
  XlaLayout words;
  Numbers shape;
  const auto rank = static_cast<std::size_t>(dice.between(0, 4));
  const bool may_be_empty = dice.chance(2);
  for (std::size_t i = 0; i < rank; ++i) {
    shape.push_back(dice.between(may_be_empty ? 0 : 1, rank > 2 ? 4 : 7));
  }
  for (const std::size_t dim : dice.order(rank)) {
    words.minor_to_major.push_back(static_cast<std::int64_t>(dim));
  }
  const std::int64_t levels = dice.between(0, 3);
  std::int64_t budget = 60;  // slots of all tiles together
  for (std::int64_t level = 0; level < levels; ++level) {
    Numbers tile;
    const std::int64_t numbers =
        dice.between(1, static_cast<std::int64_t>(rank) + (level == 0 ? 2 : 1));
    for (std::int64_t i = 0; i < numbers; ++i) {
      tile.push_back(dice.between(1, std::max<std::int64_t>(std::min<std::int64_t>(5, budget), 1)));
      budget /= tile.back();
      if (level == 0 && i + 1 < numbers && dice.chance(12)) tile.back() = XlaLayout::kCombine;
    }
    words.tiles.push_back(std::move(tile));
  }
  if (dice.chance(5)) words.tail_alignment = dice.between(1, 12);
  if (dice.chance(5)) words.memory_space = dice.between(0, 9);
  return xla_case(words, shape);
}
INSTANTIATE_TEST_SUITE_P(Xla, NotationRule,
                         ::testing::Values(RuleLaws{.notation = "xla", .random = random_case}));

TEST(Xla, KnownAnswersOfTheOwnersPage) {
  // openxla.org/xla/tiled_layout: F32[3,5]{1,0:T(2,2)}, element (2,3) is at 17: tile (1,1) of 2x3
  // tiles is number 4, times 4, plus (0,1) inside it. Figure 1 ends with a row of padding.
  const Result<Tensor> tensor = parse_tensor("tensor<3x5xf32, xla{1,0:T(2,2)}>");
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->layout().locate({2, 3})->slot, 17);
  EXPECT_EQ(tensor->layout().slots(), 24);
  EXPECT_EQ(std::get<Padding>(*tensor->layout().element_at({}, 23)).cause, Cause::kTile);
  // The same page, figure 2: 4x8 in (2,4)(2,1). Pairs of rows are together, column by column, in
  // tiles of 2x4: (0,0) (1,0) (0,1) (1,1) ..; tile (0,1) begins at 8, tile (1,0) at 16.
  const Result<Tensor> twice = parse_tensor("tensor<4x8xbf16, xla{1,0:T(2,4)(2,1)}>");
  ASSERT_TRUE(twice.ok());
  const std::vector<std::pair<Index, std::int64_t>> figure = {
      {{0, 0}, 0}, {{1, 0}, 1},  {{0, 1}, 2},  {{1, 3}, 7},
      {{0, 4}, 8}, {{1, 7}, 15}, {{2, 0}, 16}, {{3, 7}, 31}};
  for (const auto& [index, slot] : figure) EXPECT_EQ(twice->layout().locate(index)->slot, slot);
  // The same page: F32[2,7,8,11,10] in T(*,*,2,*,3) is [112,110] in tiles of 2x3. Element
  // (1,6,7,10,9) is (111,109): tile (55,36) of 56x37, place (1,1) of 2x3.
  const Result<Tensor> joined =
      parse_tensor("tensor<2x7x8x11x10xf32, xla{4,3,2,1,0:T(*,*,2,*,3)}>");
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(joined->layout().slots(), 56 * 37 * 6);
  EXPECT_EQ(joined->layout().locate({1, 6, 7, 10, 9})->slot, (55 * 37 + 36) * 6 + 1 * 3 + 1);
}

TEST(Xla, KnownAnswersOfTheOwnersTests) {
  // openxla/xla, xla/layout_util_test.cc, LinearIndexForNestedTiling*: shape and layout, element,
  // linear index.
  struct Known {
    std::string text;
    Index index;
    std::int64_t slot;
  };
  for (const Known& known :
       std::vector<Known>{{"tensor<2048xbf16, xla{0:T(1024)(128)(2,1)}>", {128}, 1},
                          {"tensor<2048xbf16, xla{0:T(1024)(128)(2,1)}>", {1}, 2},
                          {"tensor<2x8x128xbf16, xla{2,1,0:T(8,128)(2,1)}>", {0, 2, 0}, 256},
                          {"tensor<8x4xf32, xla{1,0:T(2,2)}>", {3, 1}, 11},
                          {"tensor<8x4xf32, xla{1,0}>", {3, 1}, 13},
                          {"tensor<ui32, xla{:T(128)}>", {}, 0},
                          {"tensor<3xf32, xla{0:T(8,128)}>", {2}, 2},
                          {"tensor<8xf32, xla{0:T(2,2)}>", {5}, 9}}) {
    const Result<Tensor> tensor = parse_tensor(known.text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), known.text);
    EXPECT_EQ(tensor->layout().locate(known.index)->slot, known.slot) << known.text;
    EXPECT_EQ(std::get<Index>(*tensor->layout().element_at({}, known.slot)), known.index);
  }
}

TEST(Xla, RaisedTextIsThePlainest) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<4x6xf32, strided<[6, 1]>>", "xla{1,0}"},
           {"tensor<4x6xf32, strided<[1, 4]>>", "xla{0,1}"},
           {"tensor<1x6x1xf32, strided<[1, 1, 1]>>", "xla{2,1,0}"},
           {"tensor<f32, strided<[]>>", "xla{}"},
           {"tensor<0x6xf32, strided<[6, 1]>>", "xla{1,0}"},
           {"tensor<53x63xf32, xla{1,0:T(8,128)}>", "xla{1,0:T(8,128)}"},
           {"tensor<530x630xf32, xla{1,0:T(8,128)}>", "xla{1,0:T(8,128)}"},
           {"tensor<530x630xbf16, xla{1,0:T(8,128)(2,1)}>", "xla{1,0:T(8,128)(2,1)}"},
           {"tensor<5x300xbf16, xla{1,0:T(16,128)(2,1)}>", "xla{1,0:T(16,128)(2,1)}"},
           {"tensor<3x5x300xbf16, xla{2,0,1:T(8,128)(2,1)}>", "xla{2,0,1:T(8,128)(2,1)}"},
           {"tensor<3000xf32, xla{0:T(1024)}>", "xla{0:T(1024)}"},
           {"tensor<3000xbf16, xla{0:T(1024)(128)(2,1)}>", "xla{0:T(256)(128)(2,1)}"},
           {"tensor<8x4x1xf32, xla{0,1,2:T(4,128)}>", "xla{0,1,2:T(128)}"},
           {"tensor<3x1xf32, xla{1,0:T(8,128)}>", "xla{1,0:T(8,128)}"},
           {"tensor<ui32, xla{:T(128)}>", "xla{:T(128)}"},
           {"tensor<2x7x8x11x10xf32, xla{4,3,2,1,0:T(*,*,2,*,3)}>", "xla{4,3,2,1,0:T(2,*,3)}"},
           {"tensor<2x3x1004xbf16, xla{2,1,0:T(2,*,128)}>", "xla{2,1,0:T(2,*,128)}"},
           {"tensor<2x33x7x7xf32, onednn.aBcd16b>", "xla{3,2,1,0:T(16,1,1)}"},
           {"tensor<33x70x3x3xf32, onednn.OIhw4i16o4i>", "xla{3,2,1,0:T(16,1,1)(16,1,1,1,4,1,1)}"},
           {"tensor<8x8xf32, onednn.AB2a2b2a2b>", "xla{1,0:T(4,4)(2,2)}"},
           {"tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>",
            "xla{1,0:T(6,4)}"},
           {"tensor<16xf32, morello[(0, Dynamic), (0, OddEven(16))]>", "xla{0:T(2)(8,1)}"},
           {"tensor<4x6xf32, native<{d0} / (1 -> mem*8), {d1} / (1 -> mem), slots=32>>",
            "xla{1,0:T(8)}"},
           {"tensor<5xf32, native<{d0} / (1 -> mem), slots=7>>", "xla{0:T(7)}"},
           {"tensor<5x2xf32, native<{d0} / (1 -> mem*2), {d1} / (1 -> mem), slots=13>>",
            "xla{1,0:L(13)}"},
           {"tensor<5x3xf32, xla{1,0:L(16)S(5)}>", "xla{1,0:L(2)S(5)}"},
           {"tensor<5x3xi4, strided<[3, 1]>>", "xla{1,0:E(4)}"},
           {"tensor<5x3xi4, xla{1,0}>", "xla{1,0}"},
       }) {
    EXPECT_EQ(raised_as(text, "xla"), expected) << text;
    EXPECT_EQ(test::equivalent_mistake(text, "xla"), "");
  }
}

TEST(Xla, WhatCannotBeSaidHasAReason) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<53x63xf32, pyflame.Grid(3, 2)>",
            "mesh_rank mesh=[3, 2] least_axes=0 most_axes=0"},
           {"tensor<4x6xf32, strided<[6, 1], offset: 5>>", "first_slot slot=5"},
           {"tensor<4x6xf32, strided<[7, 1]>>", "steps_take_more slots=27 steps=4 step=7 taken=28"},
       }) {
    EXPECT_EQ(raised_as(text, "xla"), cat("not_supported: ", reason)) << text;
  }
}

}  // namespace
}  // namespace tessera::notation
