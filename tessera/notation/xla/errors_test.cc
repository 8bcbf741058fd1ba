// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tessera/notation/xla/xla.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/notation/text_checks.h"

namespace tessera::notation {
namespace {

TEST(XlaErrors, TextsThatAreNoLayout) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4x6xf32, xla>",  //
            "                   ^", ErrorCode::kSyntax,
            "expected '{', found the end of the layout"},
           {"tensor<4x6xf32, xla{1,0>",  //
            "                       ^", ErrorCode::kSyntax,
            "expected ',', ':' or '}', found the end of the layout"},
           {"tensor<4x6xf32, xla{1 0}>",  //
            "                      ^", ErrorCode::kSyntax, "expected ',', ':' or '}', found '0'"},
           {"tensor<4x6xf32, xla{1,}>",  //
            "                      ^", ErrorCode::kSyntax, "expected a dim, found '}'"},
           {"tensor<4x6xf32, xla{1,0:}>",  //
            "                        ^", ErrorCode::kSyntax,
            "expected T(..), L(..), E(..) or S(..), found '}'"},
           {"tensor<4x6xf32, xla{1,0:T}>",  //
            "                         ^", ErrorCode::kSyntax, "expected '(', found '}'"},
           {"tensor<4x6xf32, xla{1,0:T()}>",  //
            "                          ^", ErrorCode::kSyntax,
            "expected a tile size or '*', found ')'"},
           {"tensor<4x6xf32, xla{1,0:T(8;128)}>",  //
            "                           ^", ErrorCode::kSyntax, "expected ',' or ')', found ';'"},
           {"tensor<4x6xf32, xla{1,0:T(8,128}>",  //
            "                               ^", ErrorCode::kSyntax,
            "expected ',' or ')', found '}'"},
           {"tensor<4x6xf32, xla{1,0:S(1)T(2)}>",  //
            "                            ^", ErrorCode::kSyntax, "'T' after 'S'"},
           {"tensor<4x6xf32, xla{1,0:T(2)T(2)}>",  //
            "                            ^", ErrorCode::kSyntax, "'T' after 'T'"},
           {"tensor<4x6xf32, xla{1,0:Q(2)}>",  //
            "                        ^", ErrorCode::kSyntax,
            "expected T(..), L(..), E(..), S(..) or '}', found 'Q'"},
           {"tensor<4x6xf32, xla{1,0} extra>",  //
            "                         ^^^^^", ErrorCode::kSyntax,
            "expected the end of the layout, found 'extra'"}}) {
    expect_refused(refusal);
  }
}

TEST(XlaErrors, LayoutsThatCannotBe) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4x6xf32, xla{0}>",  //
            "                    ^", ErrorCode::kContradiction, "1 dim for a tensor of rank 2"},
           {"tensor<4x6xf32, xla{}>",  //
            "                    ^", ErrorCode::kContradiction, "0 dims for a tensor of rank 2"},
           {"tensor<4x6xf32, xla{1,1}>",  //
            "                    ^^^", ErrorCode::kContradiction, "dim 1 is listed twice"},
           {"tensor<4x6xf32, xla{2,0}>",  //
            "                    ^^^", ErrorCode::kContradiction, "dim 2 of a tensor of rank 2"},
           {"tensor<4x6xf32, xla{-1,0}>",  //
            "                    ^^^^", ErrorCode::kContradiction, "dim -1 of a tensor of rank 2"},
           {"tensor<4x6xf32, xla{1,0:T(8,0)}>",  //
            "                            ^", ErrorCode::kBadCut, "a tile of 0"},
           {"tensor<4x6xf32, xla{1,0:T(-8)}>",  //
            "                          ^^", ErrorCode::kBadCut, "a tile of -8"},
           {"tensor<4x6xf32, xla{1,0:T(8,*)}>",  //
            "                         ^^^^^", ErrorCode::kBadCut,
            "'*' without a faster dim to join"},
           {"tensor<4x6xf32, xla{1,0:T(8,128)(*,2)}>",  //
            "                                ^^^^^", ErrorCode::kNotSupported,
            "'*' in a tile after the first"},
           {"tensor<4x6xf32, xla{1,0:L(0)}>",  //
            "                          ^", ErrorCode::kBadNumber, "a tail alignment of 0"},
           {"tensor<4x6xf32, xla{1,0:S(-1)}>",  //
            "                          ^^", ErrorCode::kBadNumber, "a memory space of -1"},
           {"tensor<4x6xf32, xla{1,0:E(16)}>",  //
            "                          ^^", ErrorCode::kNotSupported,
            "an element of f32 in 16 bits"},
           {"tensor<4x6xi8, xla{1,0:E(12)}>",  //
            "                         ^^", ErrorCode::kNotSupported, "an element of i8 in 12 bits"},
           {"tensor<4x6xf32, xla{1,0:D(D,C)}>",  //
            "                        ^", ErrorCode::kNotSupported,
            "'D' specifies the level types of a sparse array"},
           {"tensor<4x6xf32, xla{1,0:T(2,2)#(u32)}>",  //
            "                              ^", ErrorCode::kNotSupported,
            "'#' specifies the index type of a sparse array"},
           {"tensor<4x6xf32, xla{1,0:*(u32)}>",  //
            "                        ^", ErrorCode::kNotSupported,
            "'*' specifies the pointer type of a sparse array"},
           {"tensor<4x6xf32, xla{1,0:S(3)SC(1:2)}>",  //
            "                            ^^", ErrorCode::kNotSupported,
            "'SC' specifies data split between memories"},
           {"tensor<4x6xf32, xla{1,0:P(f32[4,6])}>",  //
            "                        ^", ErrorCode::kNotSupported,
            "'P' specifies the physical shape of a sparse array"},
           {"tensor<4x6xf32, xla{1,0:T(2,2)M(1024)}>",  //
            "                              ^", ErrorCode::kNotSupported,
            "'M' specifies a prefix of metadata"}}) {
    expect_refused(refusal);
  }
}

TEST(XlaErrors, HostileNumbers) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4x6xf32, xla{1,0:T(99999999999999999999)}>",
            "                          ^^^^^^^^^^^^^^^^^^^^", ErrorCode::kBadNumber,
            "a tile size or '*' '99999999999999999999' does not fit a signed 64-bit integer"},
           {"tensor<4x6xf32, xla{1,0:T(9223372036854775807)}>",  //
            "                         ^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kOverflow,
            "the number of slots does not fit a signed 64-bit integer"},
           {"tensor<4x6xi8, xla{1,0:L(9223372036854775807)S(99999999999999999999)}>",
            "                                               ^^^^^^^^^^^^^^^^^^^^",
            ErrorCode::kBadNumber,
            "a memory space '99999999999999999999' does not fit a signed 64-bit integer"}}) {
    expect_refused(refusal);
  }
  // One tile may be as large as the address space allows, and its text reads back.
  const std::string largest = "tensor<6xi8, xla{0:T(9223372036854775807)}>";
  const Result<Tensor> tensor = parse_tensor(largest);
  ASSERT_TRUE(tensor.ok()) << render(tensor.error(), largest);
  EXPECT_EQ(tensor->layout().slots(), INT64_MAX);
  EXPECT_TRUE(raise_xla(tensor->layout()).ok());

  std::string many = "tensor<6xf32, xla{0:T";
  for (int i = 0; i < 1000000; ++i) many += "(2)";
  many += "}>";
  const Result<Tensor> tiles = parse_tensor(many);
  ASSERT_FALSE(tiles.ok());
  EXPECT_EQ(tiles.error().code, ErrorCode::kRankTooLarge);
  EXPECT_EQ(test::figures(tiles.error().message), "64");

  std::string wide = "tensor<6xf32, xla{0:T(1";
  for (int i = 0; i < 1000000; ++i) wide += ",1";
  wide += ")}>";
  const Result<Tensor> numbers = parse_tensor(wide);
  ASSERT_FALSE(numbers.ok());
  EXPECT_EQ(test::figures(numbers.error().message), "4096");

  // 64 tiles of 64 numbers are read; the digits of a dim are limited as in every layout.
  std::string deep = "tensor<6x6xf32, xla{1,0:T";
  for (int i = 0; i < 64; ++i) {
    deep += "(";
    for (int k = 0; k < 63; ++k) deep += "1,";
    deep += "1)";
  }
  deep += "}>";
  const Result<Tensor> ones = parse_tensor(deep);
  ASSERT_TRUE(ones.ok()) << ones.error().message;
  EXPECT_EQ(write(*raise_xla(ones->layout())), "xla{1,0}");
}

TEST(XlaErrors, BlanksAreFreeAndTextIsKept) {
  for (const auto& [text, printed] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<4x6xf32, xla { 1 , 0 : T( 8 , 128 ) ( 2 , 1 ) S( 5 ) }>",
            "tensor<4x6xf32, xla{1,0:T(8,128)(2,1)S(5)}>"},
           {"tensor<4x6x7xf32, xla{0,1,2:T(2, * , 128)}>",
            "tensor<4x6x7xf32, xla{0,1,2:T(2,*,128)}>"},
           {"tensor<4xi1, xla{0:T(2)L(8)E(32)S(0)}>", "tensor<4xi1, xla{0:T(2)L(8)E(32)S(0)}>"},
           {"tensor<f32, xla{}>", "tensor<f32, xla{}>"},
           {"tensor<4xf32, xla{0:T(1)(1,1,1)}>", "tensor<4xf32, xla{0:T(1)(1,1,1)}>"}}) {
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    EXPECT_EQ(print_tensor(*tensor), printed);
  }
}

TEST(XlaErrors, PropertiesReachTheLayout) {
  // xla/layout.cc: the default element size is that of the type in whole bytes.
  const auto storage = [](const std::string& text) {
    const Result<Tensor> tensor = parse_tensor(text);
    return tensor.ok() ? std::string(dtype_name(tensor->layout().atom().storage))
                       : tensor.error().message;
  };
  EXPECT_EQ(storage("tensor<8xi4, xla{0}>"), "i8");
  EXPECT_EQ(storage("tensor<8xi4, xla{0:E(4)}>"), "i4");
  EXPECT_EQ(storage("tensor<8xi1, xla{0}>"), "i1");
  EXPECT_EQ(storage("tensor<8xi1, xla{0:E(32)}>"), "ui32");
  EXPECT_EQ(storage("tensor<8xf32, xla{0:E(32)}>"), "f32");
  const Result<Tensor> space = parse_tensor("tensor<5x3xf32, xla{1,0:L(8)S(5)}>");
  ASSERT_TRUE(space.ok());
  EXPECT_EQ(space->layout().spec().space, "s5");
  EXPECT_EQ(space->layout().slots(), 16);
  EXPECT_EQ(parse_tensor("tensor<5xf32, xla{0:S(0)}>")->layout().spec().space, "");
}

}  // namespace
}  // namespace tessera::notation
