// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/onednn/onednn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
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
#include "tessera/testing/tuples.h"

namespace tessera::notation {
namespace {

using test::NotationRule;
using test::Numbers;
using test::RuleCase;
using test::RuleLaws;

/// The rule directly from the tag: from the fastest block to the slowest, take the remainder of its
/// dim and continue with the quotient; then the dims from fastest to slowest.
std::int64_t naive_slot(const OnednnLayout& words, const Numbers& shape, Numbers index) {
  std::int64_t slot = 0;
  std::int64_t step = 1;
  Numbers padded = shape;
  for (const OnednnLayout::Block& block : std::views::reverse(words.blocks)) {
    const auto dim = static_cast<std::size_t>(block.dim);
    slot += index[dim] % block.size * step;
    index[dim] /= block.size;
    padded[dim] = (padded[dim] + block.size - 1) / block.size;
    step *= block.size;
  }
  for (const int number : std::views::reverse(words.order)) {
    const auto dim = static_cast<std::size_t>(number);
    slot += index[dim] * step;
    step *= padded[dim];
  }
  return slot;
}

std::int64_t naive_slots(const OnednnLayout& words, const Numbers& shape) {
  std::int64_t slots = 1;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    std::int64_t block = 1;
    for (const OnednnLayout::Block& part : words.blocks) {
      if (part.dim == static_cast<int>(dim)) block *= part.size;
    }
    slots *= (shape[dim] + block - 1) / block * block;
  }
  return slots;
}

RuleCase tag_case(const OnednnLayout& words, const Numbers& shape) {
  test::Ruled ruled;
  ruled.text = test::tensor_text(shape, "f32", write(words));
  ruled.shape = shape;
  ruled.slots = naive_slots(words, shape);
  for (const Numbers& index : test::all_tuples(shape)) {
    ruled.positions.push_back({{{}}, naive_slot(words, shape, index)});
  }
  ruled.causes.assign(static_cast<std::size_t>(ruled.slots), "alignment");
  return words_case(words, ruled);
}

/// Any order of dims in plain or named letters, with up to five blocks, also repeated, larger than
/// their dim, and over dims of extent 1.
RuleCase random_case(test::Dice& dice) {
  static const std::vector<std::string> sets = {"a",    "ab",    "abc", "abcd", "abcde", "nchw",
                                                "oihw", "goihw", "tnc", "ldnc", "ldigo", "x"};
  OnednnLayout words;
  Numbers shape;
  words.letters = sets[static_cast<std::size_t>(dice.below(std::ssize(sets)))];
  const std::size_t rank = words.letters.size();
  const bool may_be_empty = dice.chance(2);
  for (std::size_t i = 0; i < rank; ++i) {
    shape.push_back(dice.chance(20) ? 1
                                    : dice.between(may_be_empty ? 0 : 1, rank > 3   ? 3
                                                                         : rank > 2 ? 5
                                                                                    : 9));
  }
  for (const std::size_t dim : dice.order(rank)) {
    words.order.push_back(static_cast<int>(dim));
  }
  std::int64_t budget = 60;  // slots of all blocks together
  for (std::int64_t blocks = dice.between(0, 5); blocks > 0; --blocks) {
    const std::int64_t size =
        dice.between(1, std::max<std::int64_t>(std::min<std::int64_t>(6, budget), 1));
    budget /= size;
    words.blocks.push_back({static_cast<int>(dice.below(static_cast<std::int64_t>(rank))), size});
  }
  return tag_case(words, shape);
}
INSTANTIATE_TEST_SUITE_P(Onednn, NotationRule,
                         ::testing::Values(RuleLaws{.notation = "onednn", .random = random_case}));

TEST(Onednn, KnownAnswersOfTheOwnersPage) {
  // oneDNN, "Understanding memory formats": activations of 2x16x5x4 and the offset functions of
  // nchw, nhwc, chwn and nChw8c; padding of 17 channels to 24.
  constexpr std::int64_t kN = 2, kC = 16, kH = 5, kW = 4;
  using Offset =
      std::function<std::int64_t(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;
  const std::vector<std::pair<std::string, Offset>> formats = {
      {"nchw",
       [](auto n, auto c, auto h, auto w) { return n * kC * kH * kW + c * kH * kW + h * kW + w; }},
      {"nhwc",
       [](auto n, auto c, auto h, auto w) { return n * kH * kW * kC + h * kW * kC + w * kC + c; }},
      {"chwn",
       [](auto n, auto c, auto h, auto w) { return c * kH * kW * kN + h * kW * kN + w * kN + n; }},
      {"nChw8c", [](auto n, auto c, auto h, auto w) {
         return n * kC * kH * kW + c / 8 * kH * kW * 8 + h * kW * 8 + w * 8 + c % 8;
       }}};
  for (const auto& [tag, offset] : formats) {
    const Result<Tensor> tensor = parse_tensor(cat("tensor<2x16x5x4xf32, onednn.", tag, ">"));
    ASSERT_TRUE(tensor.ok()) << tag;
    EXPECT_EQ(tensor->layout().slots(), kN * kC * kH * kW);
    test::for_each_tuple({kN, kC, kH, kW}, [&](const Index& x) {
      EXPECT_EQ(tensor->layout().locate(x)->slot, offset(x[0], x[1], x[2], x[3])) << tag;
    });
  }
  const Result<Tensor> padded = parse_tensor("tensor<2x17x5x4xf32, onednn.nChw8c>");
  ASSERT_TRUE(padded.ok());
  EXPECT_EQ(padded->layout().slots(), 2 * 24 * 5 * 4);
  // Channel 17 would be slot 1 of the third block of the first pixel.
  EXPECT_EQ(std::get<Padding>(*padded->layout().element_at({}, 2 * 5 * 4 * 8 + 1)).cause,
            Cause::kAlignment);
}

TEST(Onednn, NamedTagsAreLetterTags) {
  // oneDNN, include/oneapi/dnnl/dnnl_types.h: the enum gives each named tag the value of a letter
  // tag. Every set of names, and those whose letters do not match the value.
  for (const auto& [name, letters] :
       std::vector<std::pair<std::string, std::string>>{{"x", "a"},
                                                        {"nc", "ab"},
                                                        {"cn", "ba"},
                                                        {"tn", "ab"},
                                                        {"nt", "ba"},
                                                        {"nwc", "acb"},
                                                        {"nhwc", "acdb"},
                                                        {"chwn", "bcda"},
                                                        {"ndhwc", "acdeb"},
                                                        {"io", "ba"},
                                                        {"wio", "cba"},
                                                        {"hwio", "cdba"},
                                                        {"idhwo", "bcdea"},
                                                        {"wigo", "dcab"},
                                                        {"giohw", "acbde"},
                                                        {"dhwigo", "defcab"},
                                                        {"ntc", "bac"},
                                                        {"ldnc", "abcd"},
                                                        {"ldigo", "abcde"},
                                                        {"ldgoi", "abdec"},
                                                        {"ldio", "abcd"},
                                                        {"ldoi", "abdc"},
                                                        {"ldgo", "abcd"},
                                                        {"ldOi32o", "abDc32d"},
                                                        {"ldgOI32o4i", "abdEC32e4c"},
                                                        {"ldgIO32i2o", "abdCE32c2e"},
                                                        {"nCw16c", "aBc16b"},
                                                        {"NChw32n16c", "ABcd32a16b"},
                                                        {"OIhw4i16o4i", "ABcd4b16a4b"},
                                                        {"gOIdhw4o8i8o4i", "aBCdef4b8c8b4c"},
                                                        {"hwioG16g", "decbA16a"},
                                                        {"OhwI24o", "Acdb24a"},
                                                        {"OhwI32o", "Acdb32a"},
                                                        {"gOhwI24o", "aBdec24b"},
                                                        {"gOhwI32o", "aBdec32b"},
                                                        {"gIOhw2i8o16i2o", "aBCde2c8b16c2b"},
                                                        {"gIOdhw2i8o16i2o", "aBCdef2c8b16c2b"}}) {
    const Result<OnednnLayout> plain = read_onednn_tag(letters, 0);
    ASSERT_TRUE(plain.ok()) << letters;
    const Numbers shape(plain->order.size(), 3);
    const std::string type = write_tensor_type(shape, Atom::scalar(DType::kF32));
    const std::string text = cat("tensor<", type, ", onednn.", name, ">");
    const Result<Tensor> named = parse_tensor(text);
    ASSERT_TRUE(named.ok()) << render(named.error(), text);
    EXPECT_EQ(print_tensor(*named), text);
    EXPECT_EQ(named->layout(), *lower(*plain, named->layout().shape(), DType::kF32)) << name;
  }
}

TEST(Onednn, RaisedTextIsThePlainest) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<4x6xf32, strided<[6, 1]>>", "onednn.ab"},
           {"tensor<4x6xf32, strided<[1, 4]>>", "onednn.ba"},
           {"tensor<1x6x1xf32, strided<[1, 1, 1]>>", "onednn.abc"},
           {"tensor<0x6xf32, strided<[6, 1]>>", "onednn.ab"},
           {"tensor<2x33x7x7xf32, onednn.nChw16c>", "onednn.aBcd16b"},
           {"tensor<33x70x3x3xf32, onednn.OIhw4i16o4i>", "onednn.ABcd4b16a4b"},
           {"tensor<2x16x7x7xf32, onednn.nChw16c>", "onednn.acdb"},
           {"tensor<53xf32, onednn.A8a>", "onednn.A8a"},
           {"tensor<2x1x3xf32, onednn.aBc8b>", "onednn.aBc8b"},
           {"tensor<9x1xf32, onednn.AB8b4a>", "onednn.AB8b4a"},
           {"tensor<530x630xbf16, xla{1,0:T(8,128)(2,1)}>", "onednn.AB4a128b2a"},
           {"tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>",
            "onednn.Ba4b"}}) {
    EXPECT_EQ(raised_as(text, "onednn"), expected) << text;
    EXPECT_EQ(test::equivalent_mistake(text, "onednn"), "");
  }
}

TEST(Onednn, WhatCannotBeSaidHasAReason) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<53x63xf32, pyflame.Grid(3, 2)>",
            "mesh_rank mesh=[3, 2] least_axes=0 most_axes=0"},
           {"tensor<f32, strided<[]>>", "tensor_rank rank=0 least_rank=1 most_rank=12"},
           {"tensor<4x6xf32, strided<[6, 1], offset: 5>>", "first_slot slot=5"},
           {"tensor<4x6xf32, strided<[12, 2]>>",
            "steps_take_more slots=47 steps=4 step=12 taken=48"},
           {"tensor<4x6xf32, native<{d0} / (1 -> mem*12), {d1} / (1 -> mem*2), slots=48>>",
            "empty_between empty=1 period=2"},
           {"tensor<5x2xf32, native<{d0} / (1 -> mem*2), {d1} / (1 -> mem), slots=13>>",
            "allocation slots=13 expected_slots=10"},
           {"tensor<16xf32, morello[(0, Dynamic), (0, OddEven(16))]>",
            "faster_step dim=0 width=2 slower_width=1"},
           {"tensor<7xf32, xla{0:T(3)(4)}>", "block_padding dim=0 block=3 padded=4"},
           {"tensor<30x7xf32, xla{1,0:T(3,2)(2,1)}>", "block_not_divided dim=0 block=3 inner=2"},
           {"tensor<4x6x5xf32, xla{2,1,0:T(*,5,1)}>", "joined_dims dims=[0, 1]"},
           {"tensor<5x3xi4, xla{1,0}>", "stored_as dtype=i4 storage=i8 expected_storage=i4"}}) {
    EXPECT_EQ(raised_as(text, "onednn"), cat("not_supported: ", reason)) << text;
  }
}

}  // namespace
}  // namespace tessera::notation
