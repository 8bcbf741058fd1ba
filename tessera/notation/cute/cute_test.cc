// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/cute/cute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/testing/notation/placement_checks.h"
#include "tessera/testing/notation/reasons.h"
#include "tessera/testing/notation/text_checks.h"

namespace tessera::notation {
namespace {

/// CuTe's rule: in coordinate `x` of a mode, the leftmost number is the fastest.
std::int64_t offset_of(const IntTuple& shape, const IntTuple& stride, std::int64_t& x) {
  if (!shape.is_tuple) {
    const std::int64_t coordinate = x % shape.number;
    x /= shape.number;
    return coordinate * stride.number;
  }
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < shape.items.size(); ++i) {
    offset += offset_of(shape.items[i], stride.items[i], x);
  }
  return offset;
}

Ruling ruled(const CuteLayout& words, const Shape& shape) {
  Ruling ruling;
  ruling.text = cat("tensor<", extents_text(shape), "f32, ", write(words), ">");
  ruling.cause = "gap";
  if (shape.empty()) return ruling;
  Index index(shape.rank(), 0);
  do {
    std::int64_t slot = 0;
    for (std::size_t dim = 0; dim < index.size(); ++dim) {
      std::int64_t x = index[dim];
      slot += offset_of(words.shape[dim], words.stride[dim], x);
    }
    ruling.put({}, slot, index);
    ruling.slots = std::max(ruling.slots, slot + 1);
  } while (shape.next(index));
  return ruling;
}

struct Random {
  Numbers numbers;
  std::vector<std::int64_t> leaves;  // extents of all numbers, in the order of the text

  IntTuple extents(int depth) {
    IntTuple tuple;
    if (depth == 0 || numbers.chance(60)) {
      tuple.number = numbers.chance(2) ? 0 : numbers.between(1, depth == 0 ? 3 : 4);
      leaves.push_back(tuple.number);
      return tuple;
    }
    tuple.is_tuple = true;
    for (std::int64_t n = numbers.between(1, 3); n > 0; --n) {
      tuple.items.push_back(extents(depth - 1));
    }
    return tuple;
  }

  /// The same structure with the strides of the leaves.
  IntTuple strides(const IntTuple& shape, const std::vector<std::int64_t>& of, std::size_t& at) {
    IntTuple tuple;
    tuple.is_tuple = shape.is_tuple;
    if (!shape.is_tuple) tuple.number = of[at++];
    for (const IntTuple& item : shape.items) tuple.items.push_back(strides(item, of, at));
    return tuple;
  }

  /// Compact in some order, with some bumped, or anything.
  std::vector<std::int64_t> leaf_strides() {
    std::vector<std::int64_t> out(leaves.size());
    std::vector<std::size_t> order(leaves.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1],
                order[static_cast<std::size_t>(numbers.below(static_cast<std::int64_t>(i)))]);
    }
    std::int64_t below = 1;
    const bool anything = numbers.chance(25);
    for (const std::size_t leaf : order) {
      out[leaf] = anything ? numbers.below(7) : below;
      below *= std::max<std::int64_t>(leaves[leaf], 1);
      if (numbers.chance(10)) below += numbers.below(3);
    }
    return out;
  }
};

std::int64_t elements(const IntTuple& shape) {
  if (!shape.is_tuple) return shape.number;
  std::int64_t product = 1;
  for (const IntTuple& item : shape.items) product *= elements(item);
  return product;
}

TEST(CuteRule, TenThousandTexts) {
  int failures = 0;
  int views = 0;
  int texts = 0;
  for (std::uint64_t seed = 0; texts < 10'000 && failures < 3; ++seed) {
    Random random{Numbers(seed), {}};
    CuteLayout words;
    std::vector<std::int64_t> shape;
    for (std::int64_t rank = random.numbers.between(0, 3); rank > 0; --rank) {
      words.shape.push_back(random.extents(2));
      shape.push_back(elements(words.shape.back()));
    }
    if ((*Shape::make(shape)).elements() > 300) continue;
    ++texts;
    const std::vector<std::int64_t> strides = random.leaf_strides();
    std::size_t at = 0;
    for (const IntTuple& mode : words.shape) {
      words.stride.push_back(random.strides(mode, strides, at));
    }
    words.bare = words.shape.size() == 1 && !words.shape[0].is_tuple && random.numbers.chance(50);
    const std::string wrong = mistake(ruled(words, *Shape::make(shape)));
    EXPECT_EQ(wrong, "");
    failures += wrong.empty() ? 0 : 1;
    views += lower(words, *Shape::make(shape), DType::kF32)->view() != nullptr ? 1 : 0;
  }
  EXPECT_GT(views, 500);
}

/// The slots of all elements, row by row.
std::vector<std::int64_t> slots(std::string_view text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  std::vector<std::int64_t> out;
  Index index(tensor->shape().rank(), 0);
  do {
    out.push_back(tensor->placement.locate(index)->slot);
  } while (tensor->shape().next(index));
  return out;
}

using Slots = std::vector<std::int64_t>;

// The layouts and tables of CUTLASS, media/docs/cpp/cute/01_layout.md ("Constructing a Layout",
// "Using a Layout") and 02_layout_algebra.md ("Coalesce", "Composition").
TEST(Cute, LayoutsOfTheManual) {
  EXPECT_EQ(slots("tensor<8xf32, cute<_8:_1>>"), (Slots{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(slots("tensor<2x4xf32, cute<(_2,_4):(_1,_2)>>"), (Slots{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(slots("tensor<2x4xf32, cute<(_2,4):(_12,_1)>>"), (Slots{0, 1, 2, 3, 12, 13, 14, 15}));
  EXPECT_EQ(slots("tensor<2x4xf32, cute<(_2,4):(4,_1)>>"), (Slots{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(slots("tensor<2x4xf32, cute<(2,(2,2)):(4,(2,1))>>"), (Slots{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(slots("tensor<2x4xf32, cute<(2,(2,2)):(_1,(2,4))>>"), (Slots{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(slots("tensor<2x6xf32, cute<(2,(1,6)):(1,(6,2))>>"),
            slots("tensor<2x6xf32, cute<(2,6):(1,2)>>"));
  EXPECT_EQ(
      slots("tensor<5x4xf32, cute<(5,(2,2)):(16,(80,4))>>"),
      (Slots{0, 80, 4, 84, 16, 96, 20, 100, 32, 112, 36, 116, 48, 128, 52, 132, 64, 144, 68, 148}));
  EXPECT_EQ(slots("tensor<9xf32, cute<((3,3)):((1,5))>>"), (Slots{0, 1, 2, 5, 6, 7, 10, 11, 12}));
}

TEST(Cute, ShapesAloneAreCompactFromTheLeft) {
  for (const auto& [said, printed] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<4x8xf32, cute<(4,8)>>", "tensor<4x8xf32, cute<(4,8):(1,4)>>"},
           {"tensor<8xf32, cute<8>>", "tensor<8xf32, cute<8:1>>"},
           {"tensor<4x4xf32, cute<(_4,(2,2))>>", "tensor<4x4xf32, cute<(4,(2,2)):(1,(4,8))>>"},
           {"tensor<f32, cute<()>>", "tensor<f32, cute<():()>>"}}) {
    const Result<Tensor> tensor = parse_tensor(said);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), said);
    EXPECT_EQ(print_tensor(*tensor), printed);
  }
}

TEST(Cute, SharedSlotsAreViews) {
  const Result<Tensor> tensor = parse_tensor("tensor<4x8xf32, cute<(4,8):(0,1)>>");
  ASSERT_TRUE(tensor.ok());
  EXPECT_NE(tensor->placement.view(), nullptr);
  EXPECT_EQ(tensor->placement.slots(), 8);
  EXPECT_EQ(std::get<0>(*tensor->placement.contents_at({}, 3)).size(), 4U);
  EXPECT_EQ(*print_tensor(parse_tensor("tensor<4x8xf32, strided<[0, 1]>>")->placement,
                          **find_notation("cute")),
            "tensor<4x8xf32, cute<(4,8):(0,1)>>");
}

TEST(Cute, ErrorsPointAtTheOffendingText) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4x9xf32, cute<(4,8):(8,1)>>",  //
            "                        ^", ErrorCode::kContradiction,
            "mode 1 has 8 elements where the dim has 9"},
           {"tensor<4x9xf32, cute<(4,(2,4)):(8,(1,2))>>",  //
            "                        ^^^^^", ErrorCode::kContradiction,
            "mode 1 has 8 elements where the dim has 9"},
           {"tensor<9xf32, cute<(3,3):(1,5)>>",  //
            "                   ^^^^^^^^^^^", ErrorCode::kContradiction,
            "2 modes for a tensor of rank 1"},
           {"tensor<4x8xf32, cute<(4,8):(8,(1))>>",  //
            "                     ^^^^^^^^^^^^^", ErrorCode::kContradiction,
            "shape (4,8) and stride (8,(1)) have different nesting"},
           {"tensor<4xf32, cute<4:-1>>",  //
            "                   ^^^^", ErrorCode::kNotSupported, "mode 0 has the stride -1"},
           {"tensor<4x8xf32, cute<Sw<3,4,3> o (4,8):(8,1)>>",  //
            "                     ^^", ErrorCode::kNotSupported, "a swizzle is not supported"},
           {"tensor<4x8xf32, cute<(4,8):(_1@0,_1@1)>>",  //
            "                              ^", ErrorCode::kNotSupported,
            "a stride along a basis ('@') is not supported"},
           {"tensor<4x8xf32, cute<(4,8):(8,1) o 4:1>>",  //
            "                                 ^", ErrorCode::kNotSupported,
            "a composition ('o') is not supported"},
           {"tensor<4x8xf32, cute<(4,8:(8,1)>>",  //
            "                         ^", ErrorCode::kSyntax, "expected ')', found ':'"},
           {"tensor<4xf32, cute<4:4611686018427387904>>",  //
            "                   ^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kOverflow,
            "the number of slots does not fit a signed 64-bit integer"},
       }) {
    expect_refused(refusal);
  }
  EXPECT_EQ(parse_tensor("tensor<4x9xf32, cute<(4,8):(8,1)>>").error().correction, "9");
  const std::string deep(1000, '(');
  EXPECT_EQ(parse_tensor(cat("tensor<4xf32, cute<", deep, ">>")).error().code,
            ErrorCode::kRankTooLarge);
}

TEST(Cute, WhatItCannotSayHasAReason) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"native<mesh=[2], {d0} / (4 -> m0, 1 -> mem)>",
            "mesh_rank mesh=[2] least_axes=0 most_axes=0"},
           {"strided<[1], offset: 3>", "first_slot slot=3"},
           {"strided<[-1], offset: 6>", "first_slot slot=6"},
           {"native<{d0} / (3 -> mem*4, 1 -> mem)>", "cut_leaves_rest dim=0 elements=7 width=3"},
           {"native<{d0} / (1 -> mem), slots=9>", "beyond_reach slots=9 reach=7"},
       }) {
    const Result<Tensor> tensor = parse_tensor(cat("tensor<7xf32, ", text, ">"));
    ASSERT_TRUE(tensor.ok()) << text << ": " << tensor.error().message;
    const Result<std::string> raised = print_tensor(tensor->placement, **find_notation("cute"));
    ASSERT_FALSE(raised.ok()) << text << " became " << *raised;
    EXPECT_EQ(raised.error().code, ErrorCode::kNotSupported);
    EXPECT_EQ(test::reasons_text(raised.error()), reason);
  }
}

}  // namespace
}  // namespace tessera::notation
