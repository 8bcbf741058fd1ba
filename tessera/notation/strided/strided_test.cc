// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/reasons.h"
#include "tessera/testing/notation/text_checks.h"

namespace tessera::notation {
namespace {

const Notation& strided() { return **find_notation("strided"); }

/// The law: element x is in slot offset + Σ stride·x of the one place, for every x; and it prints
/// as the text itself.
void expect_strided(const std::string& text, const std::vector<std::int64_t>& strides,
                    std::int64_t offset) {
  SCOPED_TRACE(text);
  const Result<Tensor> tensor = parse_tensor(text);
  ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
  EXPECT_EQ(tensor->notation, "strided");
  const Layout& layout = tensor->layout();
  if (!layout.shape().empty()) {
    Index index(layout.shape().rank(), 0);
    do {
      std::int64_t slot = offset;
      for (std::size_t dim = 0; dim < index.size(); ++dim) slot += strides[dim] * index[dim];
      const Result<Location> location = layout.locate(index);
      ASSERT_TRUE(location.ok());
      EXPECT_EQ(location->slot, slot);
      EXPECT_EQ(location->places, std::vector<Place>{Place{}});
    } while (layout.shape().next(index));
  }
  const Result<std::string> printed = print_tensor(layout, strided());
  ASSERT_TRUE(printed.ok()) << printed.error().message;
  EXPECT_EQ(*printed, text);
}

TEST(Strided, EveryElementIsWhereTheStridesSay) {
  expect_strided("tensor<4x6xf32, strided<[6, 1]>>", {6, 1}, 0);
  expect_strided("tensor<4x6xf32, strided<[1, 4]>>", {1, 4}, 0);
  expect_strided("tensor<4x6xf32, strided<[256, 1], offset: 5>>", {256, 1}, 5);
  expect_strided("tensor<2x3x4xi8, strided<[4, 8, 1]>>", {4, 8, 1}, 0);
  expect_strided("tensor<f32, strided<[]>>", {}, 0);
  expect_strided("tensor<f32, strided<[], offset: 7>>", {}, 7);
  expect_strided("tensor<0x6xf32, strided<[6, 1]>>", {6, 1}, 0);
  expect_strided("tensor<1xf32, strided<[1]>>", {1}, 0);
}

TEST(Strided, NegativeStridesRunDownward) {
  // Row 0 is the last in memory: slots 18..23; row 3 the first.
  expect_strided("tensor<4x6xf32, strided<[-6, 1], offset: 18>>", {-6, 1}, 18);
  expect_strided("tensor<4x6xf32, strided<[-6, -1], offset: 23>>", {-6, -1}, 23);
  expect_strided("tensor<4x6xf32, strided<[6, -1], offset: 9>>", {6, -1}, 9);
}

TEST(Strided, StepsThatNoElementTakesPrintRowMajor) {
  for (const auto& [text, printed] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<1x6xf32, strided<[0, 1]>>", "tensor<1x6xf32, strided<[6, 1]>>"},
           {"tensor<1x6xf32, strided<[-5, 1]>>", "tensor<1x6xf32, strided<[6, 1]>>"},
           {"tensor<6x1xf32, strided<[1, 999]>>", "tensor<6x1xf32, strided<[1, 1]>>"},
           {"tensor<0x6xf32, strided<[1, 9]>>", "tensor<0x6xf32, strided<[6, 1]>>"},
           {"tensor< 4 xf32 , strided < [ 2 ] , offset : 0 > >", "tensor<4xf32, strided<[2]>>"}}) {
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    const Result<std::string> again = print_tensor(tensor->layout(), strided());
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(*again, printed);
  }
}

TEST(Strided, ElementsThatShareASlotAreAView) {
  // Slot s of a broadcast row holds column s of every row; a window of 3 that moves by 1 shares two
  // thirds of itself; [2, 3] and [0, 6] of strides [3, 1] meet in the slot 2·3 + 0 = 6.
  for (const std::string_view text :
       {"tensor<4x6xf32, strided<[0, 1]>>", "tensor<4x3xf32, strided<[1, 1]>>",
        "tensor<3x7xf32, strided<[3, 1], offset: 2>>", "tensor<4xf32, strided<[0]>>",
        "tensor<3x3xf32, strided<[-1, 1], offset: 2>>"}) {
    SCOPED_TRACE(text);
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    ASSERT_NE(tensor->placement.view(), nullptr);
    EXPECT_EQ(print_tensor(*tensor), text);
    const auto& words = std::get<StridedLayout>(terms_of(*tensor));
    std::int64_t last = 0;
    for (std::int64_t i = 0; i < tensor->shape().elements(); ++i) {
      const Index index = tensor->shape().delinear(i);
      std::int64_t slot = words.offset;
      for (std::size_t dim = 0; dim < index.size(); ++dim) slot += words.strides[dim] * index[dim];
      EXPECT_EQ(tensor->placement.locate(index)->slot, slot) << bracketed(index);
      last = std::max(last, slot);
    }
    EXPECT_EQ(tensor->placement.slots(), last + 1);
    EXPECT_EQ(*print_tensor(tensor->placement, strided()), text);
    const Result<Tensor> native = parse_tensor(print_native(tensor->placement));
    ASSERT_TRUE(native.ok());
    EXPECT_TRUE(same_placement(native->placement, tensor->placement)->equal);
  }
}

TEST(Strided, ErrorsPointAtTheOffendingText) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4x6xf32, strided<[6]>>",  //
            "                        ^^^", ErrorCode::kContradiction,
            "1 stride for a tensor of rank 2"},
           {"tensor<4xf32, strided<[6, 1]>>",  //
            "                      ^^^^^^", ErrorCode::kContradiction,
            "2 strides for a tensor of rank 1"},
           {"tensor<4xf32, strided<[-1]>>",  //
            "                      ^^^^", ErrorCode::kOutOfRange, "an element would be in slot -3"},
           {"tensor<4xf32, strided<[-1], offset: 2>>",  //
            "                                    ^", ErrorCode::kOutOfRange,
            "an element would be in slot -1"},
           {"tensor<4xf32, strided<[9223372036854775807]>>",  //
            "                      ^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kOverflow,
            "the number of slots does not fit a signed 64-bit integer"},
           {"tensor<4xf32, strided<[?]>>",  //
            "                       ^", ErrorCode::kSyntax, "expected a stride, found '?'"},
           {"tensor<4xf32, strided<[1], ofset: 2>>",  //
            "                           ^^^^^", ErrorCode::kSyntax,
            "expected 'offset', found 'ofset'"},
           {"tensor<4xf32, strided<[1], offset=2>>",  //
            "                                 ^", ErrorCode::kSyntax, "expected ':', found '='"},
           {"tensor<4xf32, strided<[1] offset: 2>>",  //
            "                          ^^^^^^", ErrorCode::kSyntax,
            "expected ',' or '>', found 'offset'"},
           {"tensor<4xf32, strided[1]>",  //
            "                     ^", ErrorCode::kSyntax, "expected '<', found '['"},
           {"tensor<4xf32, strided<[1]>",  //
            "                          ^", ErrorCode::kSyntax,
            "expected '>', found the end of the text"},
       }) {
    expect_refused(refusal);
  }
}

TEST(Strided, WhatStridesCannotSayHasAReason) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"mesh=[2], {d0} / (2 -> m0, 1 -> mem)", "mesh_rank mesh=[2] least_axes=0 most_axes=0"},
           {"mesh=[1], {d0} / (1 -> mem), partial(m0, sum)",
            "partial_result reduction=sum places=1"},
           {"{d0} / (1 -> mem), atom=tile(2x2, f32)", "tiles rows=2 cols=2"},
           {"{d0} / (1 -> mem), atom=bf16",
            "stored_as dtype=f32 storage=bf16 expected_storage=f32"},
           {"{d0} / (1 -> mem), pad=0", "padding_value"},
           {"{d0} / (1 -> mem), space=l1", "memory_space space=l1"},
           {"{d0} / (1 -> mem), slots=8", "beyond_reach slots=8 reach=4"},
           {"{d0} / (1#6 -> mem)", "beyond_reach slots=6 reach=4"}}) {
    const std::string tensor_text = "tensor<4xf32, native<" + text + ">>";
    const Result<Tensor> tensor = parse_tensor(tensor_text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), tensor_text);
    const Result<std::string> printed = print_tensor(tensor->layout(), strided());
    ASSERT_FALSE(printed.ok()) << *printed;
    EXPECT_EQ(printed.error().code, ErrorCode::kNotSupported);
    EXPECT_EQ(test::reasons_text(printed.error()), reason);
  }
  // Widths that do not divide give no single stride.
  const Result<Tensor> tensor =
      parse_tensor("tensor<5xf32, native<{d0} / (2 -> mem, 1 -> mem*3)>>");
  ASSERT_TRUE(tensor.ok());
  const Result<std::string> printed = print_tensor(tensor->layout(), strided());
  ASSERT_FALSE(printed.ok());
  EXPECT_EQ(printed.error().code, ErrorCode::kNotSupported);
}

TEST(Strided, SaysWhatIsStridedHoweverItWasDescribed) {
  for (const auto& [text, printed] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<4x6xf32, native<{6*d0 + d1} / (1 -> mem)>>",
            "tensor<4x6xf32, strided<[6, 1]>>"},
           {"tensor<8xf32, native<{d0} / (4 -> mem*4, 2 -> mem*2, 1 -> mem)>>",
            "tensor<8xf32, strided<[1]>>"},
           {"tensor<4xf32, native<{-d0 + 3} / (1 -> mem*2), offset=1>>",
            "tensor<4xf32, strided<[-2], offset: 7>>"},
           {"tensor<4xf32, native<mesh=[1, 1], {d0} / (1 -> mem)>>",
            "tensor<4xf32, strided<[1]>>"}}) {
    SCOPED_TRACE(text);
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    const Result<std::string> again = print_tensor(tensor->layout(), strided());
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(*again, printed);
    const Result<Tensor> reread = parse_tensor(*again);
    ASSERT_TRUE(reread.ok());
    const Result<Comparison> same = same_function(tensor->layout(), reread->layout());
    ASSERT_TRUE(same.ok());
    EXPECT_TRUE(same->equal);
  }
}

}  // namespace
}  // namespace tessera::notation
