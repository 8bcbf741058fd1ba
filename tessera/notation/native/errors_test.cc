// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/notation/notation.h"
#include "tessera/testing/notation/text_checks.h"

namespace tessera::notation {
namespace {

TEST(TensorErrors, PointAtTheOffendingText) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"", "^", ErrorCode::kSyntax, "expected 'tensor', found the end of the text"},
           {"tensr<4xf32, native<>>",  //
            "^^^^^", ErrorCode::kSyntax, "expected 'tensor', found 'tensr'"},
           {"tensor 4xf32",  //
            "       ^", ErrorCode::kSyntax, "expected '<', found '4'"},
           {"tensor<4x?xf32, native<>>",  //
            "         ^", ErrorCode::kBadShape, "dim 1 has the unknown extent '?'"},
           {"tensor<4x-8xf32, native<>>",  //
            "         ^^", ErrorCode::kBadShape, "dim 1 has the negative extent -8"},
           {"tensor<4 8xf32, native<>>",  //
            "         ^", ErrorCode::kSyntax, "expected 'x', found '8'"},
           {"tensor<99999999999999999999xf32, native<>>",  //
            "       ^^^^^^^^^^^^^^^^^^^^", ErrorCode::kBadNumber,
            "an extent '99999999999999999999' does not fit a signed 64-bit integer"},
           {"tensor<4294967296x4294967296xf32, native<>>",  //
            "       ^^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kOverflow,
            "the number of elements of 4294967296x4294967296 does not fit a signed 64-bit "
            "integer"},
           {"tensor<4xf33, native<>>",  //
            "         ^^^", ErrorCode::kBadDType, "unknown element type 'f33'"},
           {"tensor<4x, native<>>",  //
            "         ^", ErrorCode::kSyntax, "expected an element type, found ','"},
           {"tensor<53x63xf32>",  //
            "                ^", ErrorCode::kSyntax, "expected a layout, found '>'"},
           {"tensor<4xf32, >",  //
            "              ^", ErrorCode::kSyntax, "expected a layout, found '>'"},
           {"tensor<4xf32 native<>>",  //
            "             ^^^^^^", ErrorCode::kSyntax, "expected ',', found 'native'"},
           {"tensor<4xf32, natve<>>",  //
            "              ^^^^^", ErrorCode::kUnknownNotation, "no notation begins with 'natve'"},
           {"tensor<4xf32, natives<>>",  //
            "              ^^^^^^^", ErrorCode::kUnknownNotation,
            "no notation begins with 'natives'"},
           {"tensor<4xf32, [1]>",  //
            "              ^", ErrorCode::kUnknownNotation, "no notation begins with '['"},
           {"tensor<f32, native<>",  //
            "                    ^", ErrorCode::kSyntax, "expected '>', found the end of the text"},
           {"tensor<f32, native<>> x",  //
            "                      ^", ErrorCode::kSyntax,
            "expected the end of the text, found 'x'"},
           {"tensor<f32, native<>>>",  //
            "                     ^", ErrorCode::kSyntax,
            "expected the end of the text, found '>'"},
       }) {
    expect_refused(refusal);
  }
}

TEST(NativeErrors, OfSyntaxPointAtTheOffendingText) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<f32, native>",  //
            "                  ^", ErrorCode::kSyntax, "expected '<', found the end of the layout"},
           {"tensor<f32, native<mesh=[1],>>",  //
            "                            ^", ErrorCode::kSyntax, "expected an item, found '>'"},
           {"tensor<f32, native<mesh=[1] fixed(m0=0)>>",  //
            "                            ^^^^^", ErrorCode::kSyntax,
            "expected ',' or '>', found 'fixed'"},
           {"tensor<f32, native<mehs=[1]>>",  //
            "                   ^^^^", ErrorCode::kUnknownName, "no item is called 'mehs'"},
           {"tensor<f32, native<mesh=[1>>",  //
            "                          ^", ErrorCode::kSyntax, "expected ',' or ']', found '>'"},
           {"tensor<f32, native<mesh=[1, two]>>",  //
            "                            ^^^", ErrorCode::kSyntax,
            "expected the extent of a mesh axis, found 'two'"},
           {"tensor<f32, native<offset=1, offset=1>>",  //
            "                             ^^^^^^", ErrorCode::kContradiction,
            "offset is given twice"},
           {"tensor<4xf32, native<{d0 / (1 -> mem)>>",  //
            "                         ^", ErrorCode::kSyntax,
            "expected '+', '-' or '}', found '/'"},
           {"tensor<4xf32, native<{2d0} / (1 -> mem)>>",  //
            "                       ^^", ErrorCode::kSyntax,
            "expected '+', '-' or '}', found 'd0'"},
           {"tensor<4xf32, native<{2*x0} / (1 -> mem)>>",  //
            "                        ^^", ErrorCode::kSyntax,
            "expected a dim such as d0, found 'x0'"},
           {"tensor<4xf32, native<{d0 +} / (1 -> mem)>>",  //
            "                          ^", ErrorCode::kSyntax,
            "expected a dim such as d0 or a number, found '}'"},
           {"tensor<4xf32, native<{d99999999999999999999} / (1 -> mem)>>",  //
            "                      ^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kOutOfRange,
            "there is no 'd99999999999999999999'"},
           {"tensor<4xf32, native<{9223372036854775807 + 1} / (1 -> mem)>>",  //
            "                                            ^", ErrorCode::kOverflow,
            "the start of a fold's line does not fit a signed 64-bit integer"},
           {"tensor<4xf32, native<{d0} (1 -> mem)>>",  //
            "                          ^", ErrorCode::kSyntax, "expected '/', found '('"},
           {"tensor<4xf32, native<{d0} / ()>>",  //
            "                             ^", ErrorCode::kSyntax, "expected a width, found ')'"},
           {"tensor<4xf32, native<{d0} / (1 > mem)>>",  //
            "                               ^", ErrorCode::kSyntax, "expected '->', found '>'"},
           {"tensor<4xf32, native<{d0} / (1 -> ram)>>",  //
            "                                  ^^^", ErrorCode::kSyntax,
            "expected a target, found 'ram'"},
           {"tensor<4xf32, native<{d0} / (1# -> mem)>>",  //
            "                                ^", ErrorCode::kSyntax, "expected a count, found '-'"},
           {"tensor<4xf32, native<{d0} / (1 -> mem*)>>",  //
            "                                      ^", ErrorCode::kSyntax,
            "expected a stride, found ')'"},
           {"tensor<4xf32, native<{d0} / (1 -> mem!tyle)>>",  //
            "                                      ^^^^", ErrorCode::kUnknownName,
            "no cause of padding is called 'tyle'"},
           {"tensor<4xf32, native<{d0} / (1 -> mem; 1 -> mem)>>",  //
            "                                     ^", ErrorCode::kSyntax,
            "expected ',' or ')', found ';'"},
           {"tensor<f32, native<mesh=[2], replicate(0)>>",  //
            "                                       ^", ErrorCode::kSyntax,
            "expected a mesh axis such as m0, found '0'"},
           {"tensor<f32, native<mesh=[2], partial(m0, add)>>",  //
            "                                         ^^^", ErrorCode::kUnknownName,
            "no reduction is called 'add'"},
           {"tensor<f32, native<mesh=[2], fixed(m0)>>",  //
            "                                     ^", ErrorCode::kSyntax,
            "expected '=', found ')'"},
           {"tensor<f32, native<atom=tile(32, f32)>>",  //
            "                               ^", ErrorCode::kSyntax, "expected 'x', found ','"},
           {"tensor<f32, native<atom=bfp_bf9>>",  //
            "                        ^^^^^^^", ErrorCode::kBadDType,
            "unknown element type 'bfp_bf9'"},
           {"tensor<f32, native<pad=nan>>",  //
            "                       ^^^", ErrorCode::kSyntax,
            "expected a padding value, found 'nan'"},
           {"tensor<f32, native<pad=1e999>>",  //
            "                       ^^^^^", ErrorCode::kBadNumber,
            "a padding value '1e999' does not fit a 64-bit float"},
           {"tensor<f32, native<space=1>>",  //
            "                         ^", ErrorCode::kSyntax, "expected a memory space, found '1'"},
           {"tensor<f32, native<device=fold([1])>>",  //
            "                          ^^^^", ErrorCode::kUnknownName,
            "no device map is called 'fold'"},
           {"tensor<f32, native<device=folded([1], m0)>>",  //
            "                                      ^^", ErrorCode::kSyntax,
            "expected a fold or 'origin', found 'm0'"},
           {"tensor<f32, native<mesh=[1], device=table([2], [[0], [1]])>>",  //
            "                                                     ^", ErrorCode::kBadDeviceMap,
            "a table of more than 1 places for a mesh of 1"},
       }) {
    expect_refused(refusal);
  }
}

TEST(NativeErrors, OfMeaningPointAtTheOffendingText) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4xf32, native<{d1} / (1 -> mem)>>",  //
            "                      ^^", ErrorCode::kBadFold,
            "a fold names dim 1 of a tensor of rank 1"},
           {"tensor<4xf32, native<{d0 + 4*d0} / (1 -> mem)>>",  //
            "                           ^^^^", ErrorCode::kBadFold, "a fold names dim 0 twice"},
           {"tensor<4xf32, native<{0*d0} / (1 -> mem)>>",  //
            "                      ^^^^", ErrorCode::kBadFold, "dim 0 has the coefficient 0"},
           {"tensor<4xf32, native<{-d0 + 2} / (1 -> mem)>>",  //
            "                     ^^^^^^^^^", ErrorCode::kBadFold, "a fold's line begins at -1"},
           {"tensor<4xf32, native<{9223372036854775807*d0} / (1 -> mem)>>",  //
            "                     ^^^^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kOverflow,
            "the length of a fold's line does not fit a signed 64-bit integer"},
           {"tensor<4xf32, native<{d0} / (2 -> mem)>>",  //
            "                             ^", ErrorCode::kBadCut, "the last width of a fold is 2"},
           {"tensor<4xf32, native<{d0} / (0 -> mem*2, 1 -> mem)>>",  //
            "                             ^", ErrorCode::kBadCut, "cut 0 has the width 0"},
           {"tensor<4xf32, native<{d0} / (1#-4 -> mem)>>",  //
            "                               ^^", ErrorCode::kBadCut, "cut 0 has the count -4"},
           {"tensor<4xf32, native<{d0} / (2 -> mem*3, 1#1 -> mem)>>",  //
            "                                           ^", ErrorCode::kCountTooSmall,
            "the digit of width 1 has 1 values but needs 2"},
           {"tensor<4xf32, native<mesh=[4], {d0} / (1 -> m1)>>",  //
            "                                            ^^", ErrorCode::kBadCut,
            "cut 0 is placed on mesh axis 1 of a mesh of rank 1"},
           {"tensor<4xf32, native<{d0} / (1 -> mem*-1)>>",  //
            "                                      ^^", ErrorCode::kBadCut,
            "cut 0 has the stride -1"},
           {"tensor<4xf32, native<mesh=[2, 3], {d0} / (2 -> m0, 1 -> mem)>>",  //
            "                          ^^^^^^", ErrorCode::kAxisUnsaid,
            "the content of the 3 places of mesh axis 1 is not specified"},
           {"tensor<4xf32, native<mesh=[0], {d0} / (1 -> mem)>>",  //
            "                          ^^^", ErrorCode::kBadShape, "mesh axis 0 has 0 places"},
           {"tensor<4xf32, native<mesh=[2], {d0} / (1 -> m0)>>",  //
            "                                       ^^^^^^^", ErrorCode::kMeshTooSmall,
            "mesh axis 0 has 2 places but coordinate 3 is used"},
           {"tensor<f32, native<mesh=[2], replicate(m0*3)>>",  //
            "                             ^^^^^^^^^^^^^^^", ErrorCode::kMeshTooSmall,
            "mesh axis 0 has 2 places but coordinate 3 is used"},
           {"tensor<f32, native<mesh=[3], fixed(m0=0), fixed(m0=3)>>",  //
            "                                          ^^^^^^^^^^^", ErrorCode::kMeshTooSmall,
            "mesh axis 0 has 3 places but coordinate 3 is used"},
           {"tensor<2xf32, native<mesh=[2], {d0} / (1 -> m0), fixed(m0=1)>>",  //
            "                          ^^^", ErrorCode::kMeshTooSmall,
            "mesh axis 0 has 2 places but coordinate 2 is used"},
           {"tensor<f32, native<mesh=[2], replicate(m0), fixed(m3=0)>>",  //
            "                                            ^^^^^^^^^^^", ErrorCode::kBadFill,
            "a fill names mesh axis 3 of a mesh of rank 1"},
           {"tensor<f32, native<mesh=[2], replicate(m0#0)>>",  //
            "                             ^^^^^^^^^^^^^^^", ErrorCode::kBadFill,
            "mesh axis 0 has 0 replicas 1 apart"},
           {"tensor<4xf32, native<{d0} / (1 -> mem), offset=-3>>",  //
            "                                               ^^", ErrorCode::kBadFold,
            "the offset is -3"},
           {"tensor<4xf32, native<{d0} / (1 -> mem), slots=3>>",  //
            "                                              ^", ErrorCode::kSlotsTooFew,
            "3 slots are allocated but slot 3 is used"},
           {"tensor<4xf32, native<{d0} / (1 -> mem), atom=tile(2x4, f32)>>",  //
            "                                             ^^^^^^^^^^^^^^", ErrorCode::kBadAtom,
            "4 slots are not a whole number of 2x4 tiles"},
           {"tensor<4xf32, native<{d0} / (1 -> mem), atom=bfp_bf8>>",  //
            "                                             ^^^^^^^", ErrorCode::kBadAtom,
            "bfp_bf8 in an atom of 1x1 elements"},
           {"tensor<2x2xf32, native<{d0} / (1 -> mem), {d1} / (1 -> mem)>>",  //
            "                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
            ErrorCode::kNotInjective, "elements [0, 1] and [1, 0] share one slot of one place"},
           {"tensor<2xf32, native<mesh=[2], {d0} / (1 -> m0), device=table([2], [[0], [0]])>>",
            "                                                        ^^^^^^^^^^^^^^^^^^^^^^",
            ErrorCode::kBadDeviceMap, "entries 0 and 1 of the table are both [0]"},
           {"tensor<2xf32, native<mesh=[2], {d0} / (1 -> m0), device=folded([2], {d1} / (1 -> "
            "m0))>>",
            "                                                                     ^^",
            ErrorCode::kBadFold, "a fold names dim 1 of a tensor of rank 1"},
       }) {
    expect_refused(refusal);
  }
}

TEST(NativeErrors, HelpSaysWhatWouldBeRight) {
  const auto help = [](std::string_view text) {
    const Result<Tensor> tensor = parse_tensor(text);
    return tensor.ok() ? "no error" : tensor.error().help;
  };
  EXPECT_EQ(help("tensor<4xf33, native<>>"), "did you mean 'f32'?");
  EXPECT_EQ(help("tensor<4xf32, natve<>>"), "did you mean 'native'?");
  EXPECT_EQ(help("tensor<f32, native<mehs=[1]>>"), "did you mean 'mesh'?");
  EXPECT_EQ(help("tensor<4xf32, native<{d0} / (1 -> mem!tyle)>>"), "did you mean 'tile'?");
  EXPECT_EQ(help("tensor<f32, native<device=fold([1])>>"), "did you mean 'folded'?");
  EXPECT_EQ(help("tensor<4xf32, native<{d0} / (1 -> mem), slots=3>>"), "slots=4 or more");
}

TEST(NativeErrors, TooMuchIsRefused) {
  const auto code = [](const std::string& text) {
    const Result<Tensor> tensor = parse_tensor(text);
    return tensor.ok() ? "no error" : std::string(code_name(tensor.error().code));
  };
  const auto repeat = [](std::string_view piece, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += piece;
    return out;
  };
  EXPECT_EQ(code("tensor<" + repeat("1x", 64) + "f32, native<>>"), "no error");
  EXPECT_EQ(code("tensor<" + repeat("1x", 65) + "f32, native<>>"), "rank_too_large");
  EXPECT_EQ(code("tensor<f32, native<mesh=[1" + repeat(",1", 63) + "]>>"), "no error");
  EXPECT_EQ(code("tensor<f32, native<mesh=[1" + repeat(",1", 64) + "]>>"), "rank_too_large");
  EXPECT_EQ(code("tensor<f32, native<{}/(1->none" + repeat(",1->none", 63) + ")>>"), "no error");
  EXPECT_EQ(code("tensor<f32, native<{}/(1->none" + repeat(",1->none", 64) + ")>>"),
            "rank_too_large");
  EXPECT_EQ(code("tensor<f32, native<{}/(1->none)" + repeat(",{}/(1->none)", 255) + ">>"),
            "no error");
  EXPECT_EQ(code("tensor<f32, native<{}/(1->none)" + repeat(",{}/(1->none)", 256) + ">>"),
            "rank_too_large");
  EXPECT_EQ(code("tensor<f32, native<mesh=[1]" + repeat(",fixed(m0=0)", 256) + ">>"), "no error");
  EXPECT_EQ(code("tensor<f32, native<mesh=[1]" + repeat(",fixed(m0=0)", 257) + ">>"),
            "rank_too_large");
  EXPECT_EQ(code(std::string((16 << 20) + 1, ' ')), "text_too_long");
}

}  // namespace
}  // namespace tessera::notation
