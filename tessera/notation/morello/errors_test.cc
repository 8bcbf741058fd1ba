// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tessera/notation/morello/morello.h"
#include "tessera/testing/notation/text_checks.h"

namespace tessera::notation {
namespace {

TEST(MorelloErrors, ShapesThatDoNotFit) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<6x7xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>",  //
            "                                                    ^^^^^^^^^^^^^^",
            ErrorCode::kInvalidShape, "Packed(4) does not divide the remaining 7 of dim 1"},
           {"tensor<3x6xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4)), (1, Packed(4))]>",
            "                                                                    ^^^^^^^^^^^^^^",
            ErrorCode::kInvalidShape, "Packed(4) does not divide the remaining 6 of dim 1"},
           {"tensor<6xf32, morello[(0, Packed(2))]>",  //
            "                      ^^^^^^^^^^^^^^", ErrorCode::kInvalidShape,
            "the packs of dim 0 cover 2 of its 6"},
           {"tensor<8x64xf32, morello[(0, Packed(4)), (1, Dynamic)]>",  //
            "                         ^^^^^^^^^^^^^^", ErrorCode::kInvalidShape,
            "the packs of dim 0 cover 4 of its 8"},
           {"tensor<4x8xf32, morello[(1, Dynamic)]>",  //
            "                ^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kInvalidShape,
            "no physical dim is over dim 0 of extent 4"},
           {"tensor<4xf32, morello[]>",  //
            "              ^^^^^^^^^", ErrorCode::kInvalidShape,
            "no physical dim is over dim 0 of extent 4"},
           {"tensor<8xf32, morello[(0, Packed(2)), (0, Dynamic)]>",  //
            "                      ^^^^^^^^^^^^^^", ErrorCode::kInvalidShape,
            "Packed(2) is outside the Dynamic of dim 0, which leaves nothing"},
           {"tensor<8xf32, morello[(0, Dynamic), (0, Dynamic)]>",  //
            "                      ^^^^^^^^^^^^", ErrorCode::kInvalidShape,
            "dim 0 is Dynamic twice"},
           {"tensor<2xf32, morello[(0, Dynamic), (0, Packed(4)), (0, Packed(4))]>",  //
            "                                    ^^^^^^^^^^^^^^", ErrorCode::kInvalidShape,
            "Packed(4) finds 1 left of dim 0, where an inner pack was already shortened"},
           {"tensor<2xf32, morello[(0, OddEven(4))]>",  //
            "                      ^^^^^^^^^^^^^^^", ErrorCode::kInvalidShape,
            "OddEven(4) is larger than the remaining 2 of dim 0"},
           {"tensor<6xf32, morello[(0, Dynamic), (0, OddEven(4))]>",  //
            "                                    ^^^^^^^^^^^^^^^", ErrorCode::kInvalidShape,
            "OddEven(4) does not divide the remaining 6 of dim 0"},
           {"tensor<12xf32, morello[(0, Dynamic), (0, Packed(4)), (0, Packed(2))]>",  //
            "                                     ^^^^^^^^^^^^^^", ErrorCode::kInvalidShape,
            "Packed(4) does not divide the remaining 6 of dim 0 (extent 12)"},
           {"tensor<2x3xf32, morello.nhwc()>",  //
            "                ^^^^^^^^^^^^^^", ErrorCode::kInvalidShape,
            "nhwc is for tensors of rank 4, found rank 2"},
       }) {
    expect_refused(refusal);
  }
}

TEST(MorelloErrors, HelpsSayWhatWouldFit) {
  for (const auto& [text, help] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<7xf32, morello[(0, Dynamic), (0, Packed(4))]>",
            "packs never pad: a dim of 8 would fit"},
           {"tensor<6xf32, morello[(0, Dynamic), (0, Packed(4))]>",
            "Packed(2) divides it; packs never pad: a dim of 8 would fit"},
           {"tensor<12xf32, morello[(0, Dynamic), (0, Packed(4)), (0, Packed(2))]>",
            "Packed(2) divides it; packs never pad: a dim of 16 would fit"},
           {"tensor<9xf32, morello[(0, Dynamic), (0, OddEven(6))]>",
            "packs never pad: a dim of 12 would fit"},
           {"tensor<2xf32, morello[(0, OddEven(4))]>",
            "OddEven is never shortened: OddEven(2) fits"},
           {"tensor<3xf32, morello[(0, OddEven(4))]>", "OddEven is never shortened"},
           {"tensor<4x8xf32, morello[(1, Dynamic)]>", "add (0, Dynamic)"},
           {"tensor<8xf32, morello[(0, Packed(2))]>", "add (0, Dynamic) before them"},
           {"tensor<8xf32, morello[(0, Packed(2)), (0, Dynamic)]>",
            "write (0, Dynamic) before the packs of dim 0"},
           {"tensor<8xf32, morello[(0, Dynmic)]>", "did you mean 'Dynamic'?"},
           {"tensor<8xf32, morello.rowmajor()>", "did you mean 'row_major'?"},
           {"tensor<8xf32, morelo.row_major()>", "did you mean 'morello.'?"},
           {"tensor<9223372036854775807xi1, morello[(0, Dynamic), (0, Packed(2))]>",
            "packs never pad"},
           {"tensor<2x2xf32, morello.row_major(3)>", "write 2, or nothing"},
       }) {
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_FALSE(tensor.ok()) << text;
    EXPECT_EQ(tensor.error().help, help) << render(tensor.error(), text);
  }
}

TEST(MorelloErrors, TextsThatAreNone) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<2x3xf32, morello.row_major(3)>",  //
            "                                  ^", ErrorCode::kContradiction,
            "a layout of rank 3 for a tensor of rank 2"},
           {"tensor<2xf32, morello[(1, Dynamic)]>",  //
            "                      ^^^^^^^^^^^^", ErrorCode::kOutOfRange,
            "physical dim 0 is over dim 1 of a tensor of rank 1"},
           {"tensor<2xf32, morello[(0, Dynamic), (-1, Packed(2))]>",  //
            "                                    ^^^^^^^^^^^^^^^", ErrorCode::kOutOfRange,
            "physical dim 1 is over dim -1 of a tensor of rank 1"},
           {"tensor<f32, morello[(0, Dynamic)]>",  //
            "                    ^^^^^^^^^^^^", ErrorCode::kOutOfRange,
            "physical dim 0 is over dim 0 of a tensor of rank 0"},
           {"tensor<8xf32, morello[(0, Packed(0))]>",  //
            "                      ^^^^^^^^^^^^^^", ErrorCode::kBadNumber,
            "Packed(0): a size is at least 1"},
           {"tensor<8xf32, morello[(0, OddEven(-4))]>",  //
            "                      ^^^^^^^^^^^^^^^^", ErrorCode::kBadNumber,
            "OddEven(-4): a size is at least 1"},
           {"tensor<9xf32, morello[(0, Dynamic), (0, OddEven(3))]>",  //
            "                                    ^^^^^^^^^^^^^^^", ErrorCode::kBadNumber,
            "OddEven(3): an odd size has no two halves"},
           {"tensor<8xf32, morello[(0, Packed(9223372036854775808))]>",  //
            "                                 ^^^^^^^^^^^^^^^^^^^", ErrorCode::kBadNumber,
            "a size '9223372036854775808' does not fit a signed 64-bit integer"},
           {"tensor<8xf32, morello[(0, packed(4))]>",  //
            "                          ^^^^^^", ErrorCode::kUnknownName,
            "unknown kind of physical dim 'packed'"},
           {"tensor<8xf32, morello.nchw()>",  //
            "                      ^^^^", ErrorCode::kUnknownName, "unknown builder 'nchw'"},
           {"tensor<8xf32, morello>",  //
            "                     ^", ErrorCode::kSyntax,
            "expected '[' or '.', found the end of the layout"},
           {"tensor<8xf32, morello<(0, Dynamic)>>",  //
            "                     ^", ErrorCode::kSyntax, "expected '[' or '.', found '<'"},
           {"tensor<8xf32, morello[0]>",  //
            "                      ^", ErrorCode::kSyntax, "expected '(', found '0'"},
           {"tensor<8xf32, morello[(0)]>",  //
            "                        ^", ErrorCode::kSyntax, "expected ',', found ')'"},
           {"tensor<8xf32, morello[(0, Dynamic) (0, Packed(2))]>",  //
            "                                   ^", ErrorCode::kSyntax,
            "expected ',' or ']', found '('"},
           {"tensor<8xf32, morello[(0, Dynamic),]>",  //
            "                                   ^", ErrorCode::kSyntax, "expected '(', found ']'"},
           {"tensor<8xf32, morello[(0, Packed)]>",  //
            "                                ^", ErrorCode::kSyntax, "expected '(', found ')'"},
           {"tensor<8xf32, morello[(0, Dynamic(8))]>",  //
            "                                 ^", ErrorCode::kSyntax, "expected ')', found '('"},
           {"tensor<8xf32, morello.row_major>",  //
            "                               ^", ErrorCode::kSyntax,
            "expected '(', found the end of the layout"},
           {"tensor<8xf32, morello.row_major(x)>",  //
            "                                ^", ErrorCode::kSyntax,
            "expected a rank or ')', found 'x'"},
           {"tensor<8xf32, morello[(0, Dynamic)] x>",  //
            "                                    ^", ErrorCode::kSyntax,
            "expected the end of the layout, found 'x'"},
       }) {
    expect_refused(refusal);
  }
}

TEST(MorelloErrors, HostileListsAreRefused) {
  std::string items = "(0, Dynamic)";
  for (int i = 0; i < 300; ++i) items += ", (0, Packed(1))";
  const Result<Tensor> tensor = parse_tensor("tensor<8xf32, morello[" + items + "]>");
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code, ErrorCode::kRankTooLarge);
  MorelloLayout words;
  words.dims.assign(300, MorelloDim{0, MorelloDim::Kind::kPacked, 1});
  EXPECT_EQ(lower(words, *Shape::make({1}), DType::kF32).error().code, ErrorCode::kRankTooLarge);
  // As many packs as an extent of 2^62 can hold, each of 2.
  std::string packs;
  for (int i = 0; i < 62; ++i) packs += i == 0 ? "(0, Packed(2))" : ", (0, Packed(2))";
  EXPECT_TRUE(parse_tensor("tensor<4611686018427387904xi8, morello[" + packs + "]>").ok());
  // Sizes whose product does not fit, in an empty tensor.
  const Result<Tensor> empty =
      parse_tensor("tensor<0x4611686018427387904x4xi8, morello.row_major()>");
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code, ErrorCode::kOverflow);
}

}  // namespace
}  // namespace tessera::notation
