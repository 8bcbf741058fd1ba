// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/notation/notation.h"
#include "tessera/notation/pyflame/pyflame.h"
#include "tessera/testing/notation/text_checks.h"

namespace tessera::notation {
namespace {

TEST(PyflameErrors, SyntaxPointsAtTheOffendingText) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4x6xf32, pyflame.>",  //
            "                        ^", ErrorCode::kSyntax,
            "expected a layout, found the end of the layout"},
           {"tensor<4x6xf32, pyflame.Gird(2, 2)>",  //
            "                        ^^^^", ErrorCode::kUnknownName,
            "no PyFlame layout is called 'Gird'"},
           {"tensor<4x6xf32, pyflame.Grid>",  //
            "                            ^", ErrorCode::kSyntax,
            "expected '(', found the end of the layout"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2>",  //
            "                                 ^", ErrorCode::kSyntax,
            "expected ',' or ')', found the end of the layout"},
           {"tensor<4x6xf32, pyflame.Grid(2 2)>",  //
            "                               ^", ErrorCode::kSyntax,
            "expected ',' or ')', found '2'"},
           {"tensor<4x6xf32, pyflame.Grid(2)>",  //
            "                              ^", ErrorCode::kSyntax, "expected cols, found ')'"},
           {"tensor<4x6xf32, pyflame.Grid(2, )>",  //
            "                                ^", ErrorCode::kSyntax, "expected cols, found ')'"},
           {"tensor<4x6xf32, pyflame.RowPartition()>",  //
            "                                     ^", ErrorCode::kSyntax,
            "expected num_pes, found ')'"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, 2)>",  //
            "                                   ^", ErrorCode::kSyntax,
            "expected NAME=, found '2'"},
           {"tensor<4x6xf32, pyflame.SinglePE(1)>",  //
            "                                 ^", ErrorCode::kSyntax, "expected ')', found '1'"},
           {"tensor<4x6xf32, pyflame.Grid(rows=2, 2)>",  //
            "                                     ^", ErrorCode::kSyntax,
            "expected NAME=, found '2'"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, rows=2)>",  //
            "                                   ^^^^", ErrorCode::kContradiction,
            "rows is given twice"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, origin=(0, 0), origin=(0, 0))>",  //
            "                                                  ^^^^^^", ErrorCode::kContradiction,
            "origin is given twice"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, replcate=[0])>",  //
            "                                   ^^^^^^^^", ErrorCode::kUnknownName,
            "Grid has no argument called 'replcate'"},
           {"tensor<4x6xf32, pyflame.SinglePE(rows=1)>",  //
            "                                 ^^^^", ErrorCode::kUnknownName,
            "SinglePE has no argument called 'rows'"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, origin=3)>",  //
            "                                          ^", ErrorCode::kSyntax,
            "expected '(', found '3'"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, origin=(3))>",  //
            "                                            ^", ErrorCode::kSyntax,
            "expected ',', found ')'"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, origin=(3, x))>",  //
            "                                              ^", ErrorCode::kSyntax,
            "expected a PE column, found 'x'"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, dim_to_pe=0)>",  //
            "                                             ^", ErrorCode::kSyntax,
            "expected '[', found '0'"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, dim_to_pe=[0 1])>",  //
            "                                                ^", ErrorCode::kSyntax,
            "expected ',' or ']', found '1'"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, partial=[0])>",  //
            "                                             ^", ErrorCode::kSyntax,
            "expected ':', found ']'"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, partial=[0:summ])>",  //
            "                                              ^^^^", ErrorCode::kUnknownName,
            "no reduction is called 'summ'"},
           {"tensor<4x6xf32, pyflame.Custom(1, 1, (0, 0))>",  //
            "                                     ^", ErrorCode::kSyntax,
            "expected '[', found '('"},
           {"tensor<4x6xf32, pyflame.Custom(1, 1, [0, 0])>",  //
            "                                      ^", ErrorCode::kSyntax,
            "expected '(', found '0'"},
           {"tensor<4x6xf32, pyflame.RowPartition(99999999999999999999)>",  //
            "                                     ^^^^^^^^^^^^^^^^^^^^", ErrorCode::kBadNumber,
            "num_pes '99999999999999999999' does not fit a signed 64-bit integer"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2) x>",  //
            "                                   ^", ErrorCode::kSyntax,
            "expected the end of the layout, found 'x'"},
       }) {
    expect_refused(refusal);
  }
}

TEST(PyflameErrors, MeaningPointsAtTheItem) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<4x6xf32, pyflame.RowPartition(0)>",  //
            "                                     ^", ErrorCode::kBadShape, "0 PE rows"},
           {"tensor<4x6xf32, pyflame.Grid(2, -3)>",  //
            "                                ^^", ErrorCode::kBadShape, "-3 PE columns"},
           {"tensor<4x6xf32, pyflame.BlockCyclic(2, 2, 0, 1)>",  //
            "                                          ^", ErrorCode::kBadCut,
            "blocks of 0 elements for the PE rows"},
           {"tensor<4x6xf32, pyflame.BlockCyclic(2, 2, 1, -1)>",  //
            "                                             ^^", ErrorCode::kBadCut,
            "blocks of -1 elements for the PE columns"},
           {"tensor<4x6xf32, pyflame.Grid(4294967296, 4294967296)>",  //
            "                             ^^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kOverflow,
            "4294967296x4294967296 PEs are too many to count"},
           {"tensor<4xf32, pyflame.Grid(2, 3)>",  //
            "                              ^", ErrorCode::kContradiction,
            "Grid distributes dim 1 over 3 PE columns, but the tensor has rank 1"},
           {"tensor<4xf32, pyflame.ColPartition(3)>",  //
            "                                   ^", ErrorCode::kContradiction,
            "ColPartition distributes dim 1 over 3 PE columns, but the tensor has rank 1"},
           {"tensor<f32, pyflame.RowPartition(3)>",  //
            "                                 ^", ErrorCode::kContradiction,
            "RowPartition distributes dim 0 over 3 PE rows, but the tensor has rank 0"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, dim_to_pe=[0])>",  //
            "                                             ^^^", ErrorCode::kContradiction,
            "dim_to_pe has 1 entry for a tensor of rank 2"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, dim_to_pe=[0, 2])>",  //
            "                                                 ^", ErrorCode::kOutOfRange,
            "dim 1 maps to PE axis 2"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, dim_to_pe=[[1, 0], -1])>",  //
            "                                              ^^^^^^", ErrorCode::kOutOfRange,
            "dim 0 maps to PE axes [1, 0]"},
           {"tensor<4x6xf32, pyflame.BlockCyclic(2, 2, 1, 1, dim_to_pe=[[0, 1], -1])>",  //
            "                                                           ^^^^^^",
            ErrorCode::kContradiction,
            "dim 0 maps to both PE axes, which have blocks of their own"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, dim_to_pe=[-2, 1])>",  //
            "                                              ^^", ErrorCode::kOutOfRange,
            "dim 0 maps to PE axis -2"},
           {"tensor<4x6x5xf32, pyflame.Grid(2, 2, dim_to_pe=[1, -1, 1])>",  //
            "                                                ^^^^^^^^", ErrorCode::kContradiction,
            "dims 0 and 2 both map to the PE columns"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, dim_to_pe=[0, 1], replicate=[1])>",  //
            "                                                 ^^^^^^^^^^^^^^^^",
            ErrorCode::kContradiction, "dim 1 maps to the PE columns, which are replicated"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, partial=[0:sum], dim_to_pe=[0, 1])>",  //
            "                                            ^^^^^^^^^^^^^^^^^^^^",
            ErrorCode::kContradiction, "dim 0 maps to the PE rows, which are partial"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, replicate=[2])>",  //
            "                                              ^", ErrorCode::kOutOfRange,
            "there is no PE axis 2"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, partial=[-1:sum])>",  //
            "                                            ^^", ErrorCode::kOutOfRange,
            "there is no PE axis -1"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, replicate=[1, 1])>",  //
            "                                              ^^^^", ErrorCode::kContradiction,
            "the PE columns are replicated twice"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, replicate=[0], partial=[0:sum])>",  //
            "                                              ^^^^^^^^^^^^^^^^^^",
            ErrorCode::kContradiction, "the PE rows are both replicated and partial"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, origin=(0, -1))>",  //
            "                                          ^^^^^^^", ErrorCode::kOutOfRange,
            "the origin (0, -1) is outside the wafer"},
           {"tensor<4x6xf32, pyflame.Grid(2, 2, origin=(9223372036854775807, 0))>",  //
            "                                          ^^^^^^^^^^^^^^^^^^^^^^^^",
            ErrorCode::kOverflow, "the wafer up to the last PE has too many PEs to count"},
           {"tensor<4x6xf32, pyflame.Custom(2, 1, [(0, 0)])>",  //
            "                                     ^^^^^^^^", ErrorCode::kContradiction,
            "1 PE for the 2 tiles of 2x1"},
           {"tensor<4x6xf32, pyflame.Custom(1, 1, [(0, 0), (0, 1)])>",  //
            "                                     ^^^^^^^^^^^^^^^^", ErrorCode::kContradiction,
            "2 PEs for the 1 tiles of 1x1"},
           {"tensor<4x6xf32, pyflame.Custom(1, 2, [(0, 0), (-1, 1)])>",  //
            "                                              ^^^^^^^", ErrorCode::kOutOfRange,
            "the PE (-1, 1) is outside the wafer"},
           {"tensor<4x6xf32, pyflame.Custom(2, 2, [(0, 1), (0, 0), (0, 1), (1, 1)])>",  //
            "                                                      ^^^^^^",
            ErrorCode::kBadDeviceMap, "tiles 0 and 2 are both on PE (0, 1)"},
           {"tensor<4x6xf32, pyflame.Custom(1, 1, [(9000000000000000000, 9)])>",  //
            "                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kOverflow,
            "the wafer up to the last PE has too many PEs to count"},
           {"tensor<1073741824xf32, pyflame.RowPartition(8589934592, replicate=[0])>",  //
            "                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
            ErrorCode::kOverflow, "the slots of all places does not fit a signed 64-bit integer"},
       }) {
    expect_refused(refusal);
  }
}

TEST(PyflameErrors, HelpSaysWhatToWrite) {
  for (
      const auto& [text, help] : std::vector<std::pair<std::string, std::string>>{
          {"tensor<4x6xf32, pyflame.Gird(2, 2)>", "did you mean 'Grid'?"},
          {"tensor<4x6xf32, pyflame.grid(2, 2)>", "did you mean 'Grid'?"},
          {"tensor<4x6xf32, pyflame.Grid(2, 2, replcate=[0])>", "did you mean 'replicate'?"},
          {"tensor<4x6xf32, pyflame.Grid(2, 2, partial=[0:prod])>", "did you mean 'product'?"},
          {"tensor<4xf32, pyflame.ColPartition(3)>",
           "dim_to_pe=[1] distributes dim 0 over them, replicate=[1] keeps a copy on each of them"},
          {"tensor<4xf32, pyflame.Grid(1, 3)>",
           "dim_to_pe=[1] distributes dim 0 over them, replicate=[1] keeps a copy on each of them"},
          {"tensor<4xf32, pyflame.Grid(2, 3)>",
           "dim_to_pe=[0] keeps the data on the first of the PE columns, replicate=[1] keeps a "
           "copy on each of them"},
          {"tensor<f32, pyflame.RowPartition(3)>",
           "dim_to_pe=[] keeps the data on the first of the PE rows, replicate=[0] keeps a copy "
           "on "
           "each of them"}}) {
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_FALSE(tensor.ok()) << text;
    EXPECT_EQ(tensor.error().help, help) << text;
  }
  // The text that the help suggests can be read.
  EXPECT_TRUE(parse_tensor("tensor<4xf32, pyflame.ColPartition(3, dim_to_pe=[1])>").ok());
  EXPECT_TRUE(parse_tensor("tensor<4xf32, pyflame.Grid(2, 3, dim_to_pe=[0])>").ok());
  EXPECT_TRUE(parse_tensor("tensor<4xf32, pyflame.Grid(2, 3, replicate=[1])>").ok());
  EXPECT_TRUE(parse_tensor("tensor<f32, pyflame.RowPartition(3, dim_to_pe=[])>").ok());
}

TEST(PyflameErrors, WordsThatAProgramMadeAreCheckedToo) {
  using Kind = PyflameLayout::Kind;
  const Shape shape = *Shape::make({4, 6});
  const auto refused = [&](const PyflameLayout& words, ErrorCode code, const std::string& message) {
    const Result<Layout> layout = lower(words, shape, DType::kF32);
    ASSERT_FALSE(layout.ok());
    EXPECT_EQ(layout.error().code, code);
    EXPECT_EQ(layout.error().message, message);
    EXPECT_FALSE(layout.error().span.has_value());
  };
  PyflameLayout words;
  words.rows = 2;
  refused(words, ErrorCode::kContradiction, "SinglePE on 2x1 PEs");
  words.kind = Kind::kColPartition;
  refused(words, ErrorCode::kContradiction, "ColPartition on 2x1 PEs");
  words.kind = Kind::kRowPartition;
  words.block_rows = 3;
  refused(words, ErrorCode::kContradiction, "RowPartition with blocks of 3x0");
  words.block_rows = 0;
  words.pes = {{0, 0}};
  refused(words, ErrorCode::kContradiction, "RowPartition with a list of 1 PEs");
  words.pes = {};
  words.replicate = {7};
  refused(words, ErrorCode::kOutOfRange, "there is no PE axis 7");
  words.replicate = {};
  words.partial = {{0, Reduction::kSum}, {0, Reduction::kMax}};
  refused(words, ErrorCode::kContradiction, "the PE rows are partial twice");
  words.partial = {};
  words.dim_to_pe = {0, 0};
  refused(words, ErrorCode::kContradiction, "dims 0 and 1 both map to the PE rows");
  words.dim_to_pe = {0, -1};
  EXPECT_TRUE(lower(words, shape, DType::kF32).ok());
}

TEST(PyflameErrors, HostileNumbersAreRefusedOrExact) {
  for (const std::string text :
       {"tensor<9223372036854775807xi8, pyflame.BlockCyclic(1, 1, 4611686018427387905, 1)>",
        "tensor<9223372036854775807xi8, pyflame.BlockCyclic(2, 1, 4611686018427387904, 1)>",
        "tensor<9223372036854775807xi8, pyflame.RowPartition(9223372036854775807)>",
        "tensor<4x9223372036854775807xi8, pyflame.Grid(2, 2)>",
        "tensor<0x4611686018427387904xi8, pyflame.Grid(1, 4611686018427387904)>",
        "tensor<5xi8, pyflame.Custom(9223372036854775807, 1, [(0, 0)])>"}) {
    const Result<Tensor> tensor = parse_tensor(text);
    if (tensor.ok()) {
      EXPECT_EQ(print_tensor(*tensor), text);
    } else {
      EXPECT_TRUE(tensor.error().span.has_value()) << tensor.error().message;
    }
  }
}

}  // namespace
}  // namespace tessera::notation
