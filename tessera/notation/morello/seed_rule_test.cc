// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/notation/morello/morello.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/rule_morello.h"
#include "tessera/testing/notation/rule_morello_laws.h"

/// Every example and number of the Morello documentation, with the corrections of FACTS, against
/// the rule (testing/notation/rule_morello.h) and by hand.
namespace tessera::notation {
namespace {

using test::MorelloPart;
using test::MorelloRule;
using test::Numbers;
using Kind = MorelloPart::Kind;

/// The slots of a matrix, row after row.
Numbers slots(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  Numbers out;
  if (!tensor) return out;
  for (const Numbers& index : test::all_tuples(tensor->layout().shape().extents())) {
    out.push_back(tensor->layout().locate(index)->slot);
  }
  return out;
}

std::string expression_of(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) return tensor.error().message;
  const auto expression =
      index_expression(std::get<MorelloLayout>(terms_of(*tensor)), tensor->layout().shape());
  return expression ? *expression : expression.error().message;
}

/// Morello documentation: offset N·d0 + d1 of a 6x8 matrix; row_major(2) is an abbreviation of two
/// Dynamics.
TEST(MorelloSeed, RowMajor) {
  Numbers expected;
  for (std::int64_t i = 0; i < 48; ++i) expected.push_back(i);
  EXPECT_EQ(slots("tensor<6x8xf32, morello.row_major()>"), expected);
  EXPECT_EQ(slots("tensor<6x8xf32, morello.row_major(2)>"), expected);
  EXPECT_EQ(test::print_mistake("tensor<6x8xf32, morello.row_major(2)>"), "");
  EXPECT_FALSE(parse_tensor("tensor<6x8xf32, morello.row_major(3)>").ok());
  EXPECT_EQ(slots("tensor<6x8xf32, morello[(0, Dynamic), (1, Dynamic)]>"), expected);
  MorelloRule rule{{{0, Kind::kDynamic, 0}, {1, Kind::kDynamic, 0}}, ""};
  EXPECT_EQ(test::morello_mistake(rule, {6, 8}), "");
  rule.builder = "row_major";
  EXPECT_EQ(test::morello_mistake(rule, {6, 8}), "");
  EXPECT_EQ(expression_of("tensor<6x8xf32, morello.row_major()>"), "8*d0 + d1");
}

/// Morello documentation: column-major is written with dim 1 first.
TEST(MorelloSeed, ColumnMajor) {
  const std::string text = "tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic)]>";
  EXPECT_EQ(slots(text), slots("tensor<6x8xf32, morello.col_major()>"));
  EXPECT_EQ(slots(text)[1], 6);  // (0, 1): one column further
  EXPECT_EQ(slots(text)[8], 1);  // (1, 0): one row further
  MorelloRule rule{{{1, Kind::kDynamic, 0}, {0, Kind::kDynamic, 0}}, ""};
  EXPECT_EQ(test::morello_mistake(rule, {6, 8}), "");
}

/// Morello documentation with FACTS 28: b = (d1 mod 4) + 4·d0 + 24·floor(d1 / 4).
TEST(MorelloSeed, Packed) {
  const std::string text = "tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>";
  const MorelloRule rule{{{1, Kind::kDynamic, 0}, {0, Kind::kDynamic, 0}, {1, Kind::kPacked, 4}},
                         ""};
  EXPECT_EQ(test::tensor_text({6, 8}, "f32", rule.text()), text);
  EXPECT_EQ(test::morello_mistake(rule, {6, 8}), "");
  Numbers expected;
  for (std::int64_t d0 = 0; d0 < 6; ++d0) {
    for (std::int64_t d1 = 0; d1 < 8; ++d1) expected.push_back(d1 % 4 + 4 * d0 + 24 * (d1 / 4));
  }
  EXPECT_EQ(slots(text), expected);
  // The picture of the documentation: the first row of the packed matrix.
  EXPECT_EQ(Numbers(expected.begin(), expected.begin() + 8), (Numbers{0, 1, 2, 3, 24, 25, 26, 27}));
  EXPECT_EQ(expression_of(text), "4*d0 + 24*(d1/4) + d1%4");
}

/// Morello documentation: NCHW, NHWC and the packed NCHWc of its reference are reorderings.
TEST(MorelloSeed, ImageLayouts) {
  MorelloRule nhwc{{{0, Kind::kDynamic, 0},
                    {2, Kind::kDynamic, 0},
                    {3, Kind::kDynamic, 0},
                    {1, Kind::kDynamic, 0}},
                   "nhwc"};
  EXPECT_EQ(test::morello_mistake(nhwc, {2, 3, 5, 7}), "");
  nhwc.builder.clear();
  EXPECT_EQ(test::morello_mistake(nhwc, {2, 3, 5, 7}), "");
  const MorelloRule packed{{{0, Kind::kDynamic, 0},
                            {1, Kind::kDynamic, 0},
                            {2, Kind::kDynamic, 0},
                            {3, Kind::kDynamic, 0},
                            {1, Kind::kPacked, 4}},
                           ""};
  EXPECT_EQ(test::morello_mistake(packed, {2, 8, 3, 5}), "");
  EXPECT_FALSE(parse_tensor("tensor<2x3xf32, morello.nhwc()>").ok());
}

/// FACTS 29: even indices first.
TEST(MorelloFacts, OddEven) {
  EXPECT_EQ(slots("tensor<8xf32, morello[(0, OddEven(8))]>"), (Numbers{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(test::morello_mistake({{{0, Kind::kDynamic, 0}, {0, Kind::kOddEven, 16}}, ""}, {48}),
            "");
  EXPECT_EQ(slots("tensor<8xf32, morello[(0, Dynamic), (0, OddEven(4))]>"),
            (Numbers{0, 2, 1, 3, 4, 6, 5, 7}));
}

/// FACTS 31: above an inner pack, OddEven deinterleaves floor(x / v) mod n.
TEST(MorelloFacts, OddEvenAboveAPack) {
  EXPECT_EQ(slots("tensor<8xf32, morello[(0, OddEven(4)), (0, Packed(2))]>"),
            (Numbers{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(test::morello_mistake({{{0, Kind::kDynamic, 0},
                                    {1, Kind::kDynamic, 0},
                                    {0, Kind::kOddEven, 4},
                                    {0, Kind::kPacked, 3}},
                                   ""},
                                  {24, 5}),
            "");
}

/// Layouts of other notations that Morello can express too.
TEST(MorelloFacts, TheSameLayoutInOtherWords) {
  for (const char* text : {
           "tensor<6x8xf32, strided<[8, 1]>>",
           "tensor<6x8xf32, strided<[1, 6]>>",
           "tensor<2x3x5xf32, strided<[3, 1, 6]>>",
           "tensor<6x8xf32, pyflame.SinglePE()>",
           "tensor<512x256xf16, spyre.default()>",  // (1, Dynamic), (0, Dynamic), (1, Packed(64))
           "tensor<f32, strided<[]>>",
           "tensor<48xf32, native<{d0} / (16 -> mem*16, 2 -> mem, 1 -> mem*8)>>",  // OddEven(16)
           "tensor<1x7x1xf32, strided<[7, 1, 1]>>",
       }) {
    EXPECT_EQ(test::equivalent_mistake(text, "morello"), "");
  }
}

/// FACTS 30: a pack larger than what remains is clamped, once per dim; everything divides exactly.
TEST(MorelloFacts, PacksDivideOrAreClampedOnce) {
  EXPECT_EQ(test::morello_mistake({{{0, Kind::kPacked, 4}}, ""}, {3}), "");
  EXPECT_EQ(test::morello_mistake({{{0, Kind::kDynamic, 0}, {0, Kind::kPacked, 8}}, ""}, {5}), "");
  EXPECT_EQ(
      test::morello_mistake(
          {{{0, Kind::kPacked, 8}, {1, Kind::kDynamic, 0}, {0, Kind::kPacked, 3}}, ""}, {15, 2}),
      "");
  for (const std::string layout : {
           "morello[(0, Dynamic), (1, Dynamic), (1, Packed(4))]",    // 4 does not divide 6
           "morello[(0, Packed(4)), (1, Dynamic), (0, Packed(9))]",  // clamped twice
           "morello[(0, Dynamic)]",                                  // dim 1 is not covered
           "morello[(0, Packed(2)), (1, Dynamic)]",                  // half of dim 0 is
       }) {
    const std::string text = test::tensor_text({8, 6}, "f32", layout);
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_FALSE(tensor.ok()) << text;
    EXPECT_EQ(code_name(tensor.error().code), "invalid_shape") << render(tensor.error(), text);
    EXPECT_EQ(test::hostile_mistake(text), "");
  }
  for (const std::string layout :
       {"morello[(0, Packed(4)), (0, Dynamic), (1, Dynamic)]",  // Dynamic is outermost
        "morello[(0, Dynamic), (0, Dynamic), (1, Dynamic)]",    // and once per dim
        "morello[(2, Dynamic), (0, Dynamic), (1, Dynamic)]", "morello[(-1, Dynamic)]",
        "morello[(0, Packed(0)), (1, Dynamic)]", "morello[(0, Packed(-2)), (1, Dynamic)]",
        "morello[(0, Packd(2)), (1, Dynamic)]", "morello[(0, Packed), (1, Dynamic)]",
        "morello[(0, Dynamic(2)), (1, Dynamic)]", "morello.rowmajor()",
        "morello[(0, OddEven(6)), (0, Packed(0)), (1, Dynamic)]", "morello[0, 1]"}) {
    const std::string text = test::tensor_text({8, 6}, "f32", layout);
    EXPECT_FALSE(parse_tensor(text).ok()) << text;
    EXPECT_EQ(test::hostile_mistake(text), "");
  }
}

}  // namespace
}  // namespace tessera::notation
