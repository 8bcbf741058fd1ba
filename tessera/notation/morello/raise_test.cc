// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/notation/morello/morello.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/notation/reasons.h"
#include "tessera/testing/notation/rule_morello.h"

namespace tessera::notation {
namespace {

const Notation& morello() { return **find_notation("morello"); }

/// The raised text of the layout of `text`, or the reason why there is none.
std::string raised(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  if (!tensor.ok()) return "";
  const Result<std::string> printed = print_tensor(tensor->layout(), morello());
  if (!printed.ok()) {
    EXPECT_EQ(printed.error().code, ErrorCode::kNotSupported);
    return test::reasons_text(printed.error());
  }
  const Result<Tensor> again = parse_tensor(*printed);
  EXPECT_TRUE(again.ok()) << *printed;
  EXPECT_TRUE(same_function(tensor->layout(), again->layout())->equal) << *printed;
  EXPECT_EQ(tensor->layout().slots(), again->layout().slots());
  return *printed;
}

TEST(MorelloRaise, SaysWhatOtherNotationsSay) {
  for (const auto& [text, printed] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<4x6xf32, strided<[6, 1]>>", "tensor<4x6xf32, morello.row_major()>"},
           {"tensor<4x6xf32, strided<[1, 4]>>", "tensor<4x6xf32, morello.col_major()>"},
           {"tensor<2x3x4x5xf32, strided<[60, 1, 15, 3]>>", "tensor<2x3x4x5xf32, morello.nhwc()>"},
           {"tensor<2x3x4xf32, strided<[3, 1, 6]>>",
            "tensor<2x3x4xf32, morello[(2, Dynamic), (0, Dynamic), (1, Dynamic)]>"},
           {"tensor<6xf32, strided<[1]>>", "tensor<6xf32, morello.row_major()>"},
           {"tensor<f32, strided<[]>>", "tensor<f32, morello.row_major()>"},
           {"tensor<1x1xf32, strided<[7, 9]>>", "tensor<1x1xf32, morello.row_major()>"},
           {"tensor<0x6xf32, strided<[6, 1]>>", "tensor<0x6xf32, morello.row_major()>"},
           {"tensor<6x8xf32, native<{d1} / (4 -> mem*24, 1 -> mem), {d0} / (1 -> mem*4)>>",
            "tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>"},
           {"tensor<16xf32, native<{d0} / (16 -> mem*16, 2 -> mem, 1 -> mem*8)>>",
            "tensor<16xf32, morello[(0, OddEven(16))]>"},
           {"tensor<32xf32, native<{d0} / (16 -> mem*16, 2 -> mem, 1 -> mem*8)>>",
            "tensor<32xf32, morello[(0, Dynamic), (0, OddEven(16))]>"},
           {"tensor<4x6xf32, native<{6*d0 + d1} / (1 -> mem)>>",
            "tensor<4x6xf32, morello.row_major()>"},
           {"tensor<4x6xf32, native<{6*d0 + d1} / (3 -> mem*3, 1 -> mem)>>",
            "tensor<4x6xf32, morello.row_major()>"},
           {"tensor<8xf32, native<{d0} / (4 -> mem*4, 2 -> mem*2, 1 -> mem)>>",
            "tensor<8xf32, morello.row_major()>"},
           {"tensor<6xf32, native<{d0} / (3 -> mem*3, 1 -> none), {d0} / (3 -> none, 1 -> mem)>>",
            "tensor<6xf32, morello.row_major()>"},
           {"tensor<4xf32, native<mesh=[1, 1], {d0} / (1 -> mem)>>",
            "tensor<4xf32, morello.row_major()>"},
           {"tensor<1x8xf32, morello[(0, Packed(4)), (1, Packed(8))]>",
            "tensor<1x8xf32, morello.row_major()>"},
           {"tensor<8xf32, morello[(0, Dynamic), (0, OddEven(2))]>",
            "tensor<8xf32, morello.row_major()>"},
       }) {
    EXPECT_EQ(raised(text), printed) << text;
  }
}

TEST(MorelloRaise, WhatMorelloCannotSayHasAReason) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<4xf32, native<mesh=[2], {d0} / (2 -> m0, 1 -> mem)>>",
            "mesh_rank mesh=[2] least_axes=0 most_axes=0"},
           {"tensor<4xf32, native<mesh=[1], {d0} / (1 -> mem), partial(m0, sum)>>",
            "partial_result reduction=sum places=1"},
           {"tensor<4xf32, native<{d0} / (1 -> mem), atom=tile(2x2, f32)>>", "tiles rows=2 cols=2"},
           {"tensor<4xf32, native<{d0} / (1 -> mem), atom=bf16>>",
            "stored_as dtype=f32 storage=bf16 expected_storage=f32"},
           {"tensor<4xf32, native<{d0} / (1 -> mem), pad=0>>", "padding_value"},
           {"tensor<4xf32, native<{d0} / (1 -> mem), space=l1>>", "memory_space space=l1"},
           {"tensor<4xf32, native<{d0} / (1 -> mem), slots=8>>", "empty_slots slots=8 elements=4"},
           {"tensor<4x6xf32, strided<[8, 1]>>", "empty_slots slots=30 elements=24"},
           {"tensor<5xf32, native<{d0} / (4 -> mem*4, 1 -> mem)>>",
            "empty_slots slots=8 elements=5"},
           {"tensor<4xf32, strided<[-1], offset: 3>>", "first_slot slot=3"},
           // Three rows of two, reversed: the fast digit would be outside the slow one.
           {"tensor<6xf32, native<{d0} / (2 -> mem, 1 -> mem*3)>>", ""},
           {"tensor<9xf32, native<{d0} / (3 -> mem, 1 -> mem*3)>>",
            "element_elsewhere index=[1] slot=3 expected_slot=1"},
           {"tensor<4x9xf32, native<{9*d0 + d1} / (2 -> mem, 1 -> mem*18)>>",
            "entangled_dims dims=[0, 1]"},
       }) {
    if (reason.empty()) {
      EXPECT_EQ(raised(text), "tensor<6xf32, morello[(0, OddEven(6))]>");
    } else {
      EXPECT_EQ(raised(text), reason) << text;
    }
  }
}

TEST(MorelloRaise, RandomLayoutsHoweverDescribed) {
  int raised_ones = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    test::Dice dice(seed);
    test::Numbers numbers = test::random_shape(dice, 4, 60);
    std::replace(numbers.begin(), numbers.end(), std::int64_t{0}, std::int64_t{1});
    const std::string text =
        test::tensor_text(numbers, "f32", test::random_morello(dice, numbers).text());
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    LayoutSpec spec = tensor->layout().spec();
    spec.form = test::rewrite(dice, spec.form);
    const Result<Layout> other = Layout::make(spec);
    if (!other.ok() || other->slots() != tensor->layout().slots()) continue;
    const Result<MorelloLayout> words = raise_morello(*other);
    ASSERT_TRUE(words.ok()) << words.error().message << "\n"
                            << text << "\n"
                            << print_native(*other);
    const Result<Layout> again = lower(*words, other->shape(), other->dtype());
    ASSERT_TRUE(again.ok()) << write(*words);
    EXPECT_TRUE(same_function(*other, *again)->equal) << text << "\n" << write(*words);
    ++raised_ones;
  }
  EXPECT_GT(raised_ones, 1500);
}

}  // namespace
}  // namespace tessera::notation
