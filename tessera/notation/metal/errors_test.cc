// SPDX-License-Identifier: Apache-2.0
// What both metal attributes reject: the code, the sentence, the position of the caret, the help.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/figures.h"

namespace tessera::notation {
namespace {

struct Refused {
  std::string marked;  ///< the text, with a '@' before and after what the caret marks
  ErrorCode code;
  std::string_view message;  ///< its numbers and names are compared, its wording is free
  std::string_view help;     ///< its beginning, likewise
};

void expect_refused(const Refused& refused) {
  SCOPED_TRACE(refused.marked);
  const std::size_t from = refused.marked.find('@');
  const std::size_t to = refused.marked.rfind('@');
  ASSERT_NE(from, to);
  const std::string text = refused.marked.substr(0, from) +
                           refused.marked.substr(from + 1, to - from - 1) +
                           refused.marked.substr(to + 1);
  const Result<Tensor> tensor = parse_tensor(text);
  ASSERT_FALSE(tensor.ok()) << "this text should be refused";
  const Error& error = tensor.error();
  EXPECT_EQ(code_name(error.code), code_name(refused.code)) << render(error, text);
  EXPECT_EQ(test::figures(error.message), test::figures(refused.message)) << error.message;
  ASSERT_TRUE(error.span.has_value());
  EXPECT_EQ(error.span->from, static_cast<std::int64_t>(from)) << render(error, text);
  EXPECT_EQ(error.span->to, static_cast<std::int64_t>(to) - 1) << render(error, text);
  EXPECT_EQ(test::figures(error.help).substr(0, test::figures(refused.help).size()),
            test::figures(refused.help))
      << error.help;
  EXPECT_FALSE(error.help.empty());
}

/// 53x63 on 3x2 with one part replaced.
std::string metal_text(std::string_view map, std::string_view oob, std::string_view grid,
                       std::string_view memref, std::string_view rest = "") {
  return cat("tensor<53x63xf32, #tt.metal_layout<", map, ", ", oob, ", ", grid, ", ", memref, rest,
             ">>");
}
constexpr std::string_view kMap = "(d0, d1) -> (d0, d1)";
constexpr std::string_view kGrid = "<3x2>";
constexpr std::string_view kMemref = "memref<18x32xf32, #tt.memory_space<l1>>";

TEST(MetalErrors, ContradictionsNameTheRightNumber) {
  expect_refused({metal_text(kMap, "undef", kGrid, "memref<@17x32@xf32, #tt.memory_space<l1>>"),
                  ErrorCode::kContradiction,
                  "memref 17x32 does not match 53x63 on 3x2: expected 18x32, found 17x32",
                  "write memref<18x32xf32, #tt.memory_space<l1>>"});
  expect_refused({metal_text(kMap, "undef", kGrid, "memref<@2x1@x!tt.tile<32x32, bf16>, #l1>"),
                  ErrorCode::kContradiction,
                  "memref 2x1 of 32x32 tiles does not match 53x63 on 3x2: expected 1x1, found 2x1",
                  "write memref<1x1x!tt.tile<32x32, bf16>, #l1>"});
  expect_refused({metal_text(kMap, "undef", kGrid, "memref<@18@xf32, #l1>"),
                  ErrorCode::kContradiction,
                  "memref 18 does not match 53x63 on 3x2: expected 18x32, found 18", "write"});
  expect_refused({metal_text("@(d0) -> (d0, 0)@", "undef", kGrid, kMemref),
                  ErrorCode::kContradiction, "the map has 1 dim for a tensor of rank 2",
                  "one dim for each extent of 53x63"});
  expect_refused({metal_text(kMap, "undef", "@<3>@", kMemref), ErrorCode::kContradiction,
                  "the map has 2 results but the grid 3 has rank 1",
                  "the grid divides each result"});
  expect_refused({metal_text(kMap, "undef", "@<0x2>@", kMemref), ErrorCode::kBadShape,
                  "grid axis 0 has 0 places", "a grid axis has 1 place or more"});
}

TEST(MetalErrors, MapsThatCannotBeLayouts) {
  expect_refused({metal_text("@(d0, d1) -> (d0, 0)@", "undef", kGrid, kMemref),
                  ErrorCode::kNotInjective,
                  "no result of the map uses d1, so its 63 elements would share a slot",
                  "use every dim that is longer than 1"});
  expect_refused(
      {metal_text("@(d0, d1) -> (d0 + d1, 0)@", "undef", "<1x1>", "memref<115x1xf32, #l1>"),
       ErrorCode::kNotInjective, "elements [0, 1] and [1, 0] share one slot of one place",
       "a layout gives"});
  expect_refused({metal_text("@(d0, d1) -> (d0 - 1, d1)@", "undef", kGrid, kMemref),
                  ErrorCode::kBadFold, "the map takes an index to -1",
                  "add 1 so that no result is below 0"});
  expect_refused({metal_text("(d0, d1) -> (@d0 * d1@, 0)", "undef", kGrid, kMemref),
                  ErrorCode::kNotSupported, "one fold cannot express a product of dims",
                  "a result"});
  expect_refused({metal_text("(d0, d1) -> (@d2@, d1)", "undef", kGrid, kMemref),
                  ErrorCode::kUnknownName, "no dim is called 'd2'", "the map has d0 to d1"});
  expect_refused(
      {metal_text("@(d0, d1) -> (d0 * 9223372036854775807, d1)@", "undef", kGrid, kMemref),
       ErrorCode::kOverflow, "the largest value of a map does not fit a signed 64-bit integer",
       "use smaller"});
}

TEST(MetalErrors, TilesNeedTwoLines) {
  expect_refused({cat("tensor<64xf32, #tt.metal_layout<(d0) -> (d0), undef, <1>, ",
                      "@memref<2x!tt.tile<32x32, f32>, #l1>@>>"),
                  ErrorCode::kBadAtom, "a tile of 32x32 where the map has 1 result",
                  "tiles cut the last two: add a result 0, as in (d0) -> (0, d0)"});
  expect_refused(
      {"tensor<64x64x!tt.tile<32x32, f32>, @#tt.metal_layout<(d0, d1) -> (d0, d1), "
       "undef, <1x1>, memref<64x64xf32, #l1>>@>",
       ErrorCode::kBadDType, "a tensor of tiles where the memref specifies the tiles",
       "write the logical shape and its element type, such as 64x64xf32"});
}

TEST(MetalErrors, NamesAreGuessed) {
  expect_refused({metal_text(kMap, "@undeff@", kGrid, kMemref), ErrorCode::kUnknownName,
                  "unknown out-of-bounds value 'undeff'", "did you mean 'undef'?"});
  expect_refused({metal_text(kMap, "undef", kGrid, "memref<18x32xf32, #tt.memory_space<@l2@>>"),
                  ErrorCode::kUnknownName, "unknown memory space 'l2'", "did you mean 'l1'?"});
  expect_refused({metal_text(kMap, "undef", kGrid, kMemref, ", @block_shraded@"),
                  ErrorCode::kUnknownName, "unknown memory layout 'block_shraded'",
                  "did you mean 'block_sharded'?"});
  expect_refused({metal_text(kMap, "undef", kGrid, kMemref, ", sharded, @interleaved@"),
                  ErrorCode::kUnknownName, "a second memory layout, 'interleaved'",
                  "did you mean"});
  expect_refused({"tensor<53x63xf32, @#tt.metal_layuot@<(d0, d1) -> (d0, d1)>>",
                  ErrorCode::kUnknownNotation, "no notation begins with '#tt.metal_layuot'",
                  "did you mean '#tt.metal_layout'?"});
}

TEST(MetalErrors, Syntax) {
  expect_refused({"tensor<53x63xf32, #tt.metal_layout<@undef@>>", ErrorCode::kSyntax,
                  "expected a map or 'logical_shape', found 'undef'", "such as #tt.metal_layout<"});
  expect_refused({"tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1)@>@>", ErrorCode::kSyntax,
                  "expected ',', found '>'", "such as"});
  expect_refused({metal_text(kMap, "undef", "@3@x2", kMemref), ErrorCode::kSyntax,
                  "expected '<', found '3'", "such as"});
  expect_refused({metal_text(kMap, "undef", kGrid, kMemref, ", device @8@x8"), ErrorCode::kSyntax,
                  "expected '=', found '8'", "such as device = <8x8,"});
  expect_refused({metal_text(kMap, "undef", kGrid, cat(kMemref, ">> @x@")), ErrorCode::kSyntax,
                  "expected the end of the text, found 'x'", "nothing may follow"});
}

TEST(MetalErrors, DevicesMustFitAndBeOneToOne) {
  const auto device = [](std::string_view text) {
    return metal_text(kMap, "undef", kGrid, kMemref, cat(", ", text));
  };
  expect_refused({device("@device = <2x2, (d0, d1) -> (d0, d1)>@"), ErrorCode::kBadDeviceMap,
                  "the device map reaches coordinate 2 of axis 0, which has 2 places",
                  "fold the grid into the device"});
  expect_refused({device("@device = <8x8, (d0, d1) -> (0, d0 + d1)>@"), ErrorCode::kBadDeviceMap,
                  "virtual places [0, 1] and [1, 0] share one physical place", "place a digit"});
  expect_refused({device("@device = <8x8, (d0) -> (d0, 0)>@"), ErrorCode::kContradiction,
                  "the device map has 1 dim for a grid of rank 2", "one dim for each axis of 3x2"});
  expect_refused({device("@device = <8x8, (d0, d1) -> (d0)>@"), ErrorCode::kContradiction,
                  "the device map has 1 result but the device 8x8 has rank 2",
                  "one result per device axis"});
}

/// The metal_today attribute on 53x63 with one part replaced.
std::string today(std::string_view device, std::string_view logical, std::string_view alignments,
                  std::string_view intervals, std::string_view rest = ", l1, sharded") {
  return cat("tensor<", device, ", #ttcore.metal_layout<logical_shape = ", logical,
             ", dim_alignments = ", alignments, ", collapsed_intervals = ", intervals, rest, ">>");
}
constexpr std::string_view kEach = "dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>";

TEST(MetalTodayErrors, TheGridDividesWhatIsAligned) {
  expect_refused({today("3x2x18x32xf32", "53x63", "@1x1@", kEach), ErrorCode::kContradiction,
                  "line 0 is 53 long after alignment, which a grid of 3 does not divide: expected "
                  "54, found 53",
                  "align 53x63 to multiples of 3 along line 0"});
  expect_refused({today("3x2x1x1x!ttcore.tile<32x32, f32>", "53x63", "@32x32@", kEach),
                  ErrorCode::kContradiction,
                  "line 0 is 64 long after alignment, which a grid of 3 and tiles of 32 do not "
                  "divide: expected 96, found 64",
                  "align 53x63 to multiples of 96 along line 0"});
  expect_refused({today("@3x2x32x31@xf32", "53x63", "96x64", kEach), ErrorCode::kContradiction,
                  "shard 32x31 does not match 53x63 on 3x2: expected 32x32, found 32x31",
                  "write tensor<3x2x32x32xf32, ..>"});
  expect_refused({today("64x128xf32", "64x128", "32x32", cat("@", kEach, "@")),
                  ErrorCode::kContradiction,
                  "the tensor's shape 64x128 has rank 2: expected 4, grid and shard of 2 lines",
                  "the shape of a device tensor is its grid, then its shard"});
  expect_refused({today("0x2x32x32xf32", "53x63", "@96x64@", kEach), ErrorCode::kBadShape,
                  "grid axis 0 has 0 places", "a grid axis has 1 place or more"});
}

// The texts that tt-mlir itself tests as invalid.
TEST(MetalTodayErrors, WhatTheVendorRefuses) {
  const std::string_view device = "1x1x1x1x!ttcore.tile<32x32, f32>";
  expect_refused({today(device, "32x32", "@1x32x32@", kEach), ErrorCode::kContradiction,
                  "3 dim_alignments for a logical_shape of rank 2",
                  "one alignment for each extent of 32x32"});
  expect_refused({today(device, "32x32", "@0x32@", kEach), ErrorCode::kOutOfRange,
                  "dim 0 is aligned to 0", "alignments are 1 or more"});
  expect_refused({today(device, "32x32", "32x32", "dense<[@0@, 1]> : tensor<2xi64>"),
                  ErrorCode::kSyntax, "expected a pair such as [0, 1], found '0'",
                  "pairs of dims"});
  expect_refused({today(device, "32x32", "32x32", "@dense<[[0, 1, 2]]> : tensor<1x3xi64>@"),
                  ErrorCode::kContradiction,
                  "intervals of type tensor<1x3xi64>: expected pairs, tensor<1x2xi64>", "pairs"});
  expect_refused({today(device, "32x32", "32x32", "@dense<[[5, 6]]> : tensor<1x2xi64>@"),
                  ErrorCode::kOutOfRange, "the interval [5, 6] is outside a tensor of rank 2",
                  "ends are between -2 and 2"});
  expect_refused({today(device, "32x32", "32x32", "@dense<[[0, 10]]> : tensor<1x2xi64>@"),
                  ErrorCode::kOutOfRange, "the interval [0, 10] is outside a tensor of rank 2",
                  "ends are"});
  // Empty, but it begins at no dim: tt-mlir's verifier rejects it too.
  expect_refused({today(device, "32x32", "32x32", "@dense<[[2, 2]]> : tensor<1x2xi64>@"),
                  ErrorCode::kOutOfRange, "the interval [2, 2] is outside a tensor of rank 2",
                  "ends are"});
  expect_refused({today(device, "32x32", "32x32", "@dense<[[1, 0]]> : tensor<1x2xi64>@"),
                  ErrorCode::kOutOfRange,
                  "the interval [1, 0] of a tensor of rank 2 ends before it begins", "intervals"});
  expect_refused({today(device, "32x32", "32x32", "@dense<[[-10, 2]]> : tensor<1x2xi64>@"),
                  ErrorCode::kOutOfRange, "the interval [-10, 2] is outside a tensor of rank 2",
                  "ends are"});
}

TEST(MetalTodayErrors, Intervals) {
  const std::string_view device = "1x1x8x8xf32";
  expect_refused({today(device, "8x8", "1x1", "@dense<[[0, 2], [1, 2]]> : tensor<2x2xi64>@"),
                  ErrorCode::kOutOfRange, "two intervals collapse dim 1: the second is [1, 2]",
                  "a dim belongs to one interval"});
  expect_refused({today(device, "8x8", "1x1", "@dense<[[0, 1]]> : tensor<2x2xi64>@"),
                  ErrorCode::kContradiction,
                  "1 interval of type tensor<2x2xi64>: expected tensor<1x2xi64>", "pairs"});
  expect_refused({today(device, "8x8", "1x1", "@dense<[[0]]> : tensor<1x2xi64>@"),
                  ErrorCode::kContradiction, "the interval [0] has 1 number: expected 2", "pairs"});
  expect_refused({today(device, "8x8", "1x1", "@dense<0> : tensor<1000000000x2xi64>@"),
                  ErrorCode::kRankTooLarge, "more than 64 intervals", "a dim belongs"});
  expect_refused({today("1x1x1x1x!ttcore.tile<32x32, f32>", "8x8", "1x1",
                        "@dense<[[0, 2]]> : tensor<1x2xi64>@"),
                  ErrorCode::kBadAtom, "a tile of 32x32 where 8x8 collapses to 1 line",
                  "tiles cut the last two lines: collapse fewer dims"});
}

TEST(MetalTodayErrors, Words) {
  const std::string_view device = "1x1x8x8xf32";
  expect_refused({today(device, "8x8", "1x1", kEach, ", @l2@, sharded"), ErrorCode::kUnknownName,
                  "unexpected 'l2'", "did you mean 'l1'?"});
  expect_refused({today(device, "8x8", "1x1", kEach, ", l1, @sharde@"), ErrorCode::kUnknownName,
                  "unexpected 'sharde'", "did you mean 'sharded'?"});
  expect_refused({today(device, "8x8", "1x1", kEach, ", l1, sharded, @dram@"),
                  ErrorCode::kUnknownName, "unexpected 'dram'",
                  "nothing follows the memory layout"});
  expect_refused({cat("tensor<1x1x8x8xf32, #ttcore.metal_layout<logical_shape = 8x8, ",
                      "@dim_alignment@ = 1x1>>"),
                  ErrorCode::kSyntax, "expected 'dim_alignments', found 'dim_alignment'",
                  "such as logical_shape = 53x63"});
}

TEST(MetalTodayErrors, NumbersThatDoNotFit) {
  expect_refused({today("1x1x8x8xf32", "1x9223372036854775807", "@1x2@", kEach),
                  ErrorCode::kOverflow,
                  "the line that dim 1 ends does not fit a signed 64-bit integer", "use smaller"});
  expect_refused({today("1x1x8x8xf32", "@4294967296x4294967296@", "1x1", kEach),
                  ErrorCode::kOverflow,
                  "the number of elements of 4294967296x4294967296 does not fit a signed 64-bit "
                  "integer",
                  "use smaller"});
}

}  // namespace
}  // namespace tessera::notation
