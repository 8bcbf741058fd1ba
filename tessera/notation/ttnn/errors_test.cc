// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tessera/notation/notation.h"
#include "tessera/testing/figures.h"

namespace tessera::notation {
namespace {

/// A text that is rejected, the part of it that the caret marks, and the message.
struct Refused {
  std::string text;
  std::string_view marked;  ///< its last occurrence; empty for the end of the text
  ErrorCode code;
  std::string_view message;
  std::string_view help;  ///< empty: any, but not none
};

void expect_all_refused(const std::vector<Refused>& cases) {
  for (const Refused& refused : cases) {
    SCOPED_TRACE(refused.text);
    const Result<Tensor> tensor = parse_tensor(refused.text);
    ASSERT_FALSE(tensor.ok()) << "this text should be refused";
    const Error& error = tensor.error();
    EXPECT_EQ(code_name(error.code), code_name(refused.code)) << render(error, refused.text);
    EXPECT_EQ(test::figures(error.message), test::figures(refused.message)) << error.message;
    ASSERT_TRUE(error.span.has_value());
    const auto from = static_cast<std::size_t>(error.span->from);
    const auto length = static_cast<std::size_t>(error.span->to) - from;
    EXPECT_EQ(refused.text.substr(from, length), refused.marked) << render(error, refused.text);
    if (refused.help.empty()) {
      EXPECT_FALSE(error.help.empty());
    } else {
      EXPECT_EQ(error.help, refused.help);
    }
  }
}

std::string tensor(const std::string& type, const std::string& layout) {
  return "tensor<" + type + ", #ttnn.ttnn_layout<" + layout + ">>";
}

const std::string kMap = "(d0, d1) -> (d0, d1)";
const std::string kTile = "!ttcore.tile<32x32, bf16>";

TEST(TtnnErrors, MemrefsThatTheRuleContradicts) {
  expect_all_refused({
      {tensor("64x128xbf16", kMap + ", <1x1>, memref<2x5x" + kTile + ", #dram>, <interleaved>"),
       "2x5", ErrorCode::kContradiction,
       "memref 2x5 for 64x128 interleaved in dram on 1x1: expected 2x4",
       "write memref<2x4x!ttcore.tile<32x32, bf16>, #dram>"},
      {tensor("64x256xbf16", kMap + ", <1x1>, memref<2x8x" + kTile + ", #l1>, <interleaved>"),
       "2x8", ErrorCode::kContradiction,
       "memref 2x8 for 64x256 interleaved in l1 on 1x1: expected 1x16", ""},
      {tensor("53x63xbf16", kMap + ", <3x2>, memref<18x32xbf16, #l1>, <height_sharded>, "
                                   "core_ranges = <[#ttnn.core_range<(0,0), (1,2)>]>"),
       "18x32", ErrorCode::kContradiction,
       "memref 18x32 for 53x63 height_sharded in l1 on 3x2: expected 9x63", ""},
      {tensor("53x63xbf16", kMap + ", <1x1>, memref<64x64xbf16, #system_memory>"), "64x64",
       ErrorCode::kContradiction, "memref 64x64 for 53x63 in system on 1x1: expected 53x63", ""},
      {tensor("4x32x32xbf16", "(d0, d1, d2) -> (d0, d1, d2), <1x1>, memref<5x1x" + kTile +
                                  ", #dram>, <interleaved>"),
       "5x1", ErrorCode::kContradiction,
       "memref 5x1 for 4x32x32 interleaved in dram on 1x1: expected 4x1x1",
       "write memref<4x1x1x!ttcore.tile<32x32, bf16>, #dram> for this map; TTNN's own is (d0, d1, "
       "d2) -> (d0 * 32 + d1, d2)"},
      {tensor("4x32x32xbf16", "(d0, d1, d2) -> (d0, d1, d2), <1x1>, memref<4x1x" + kTile +
                                  ", #dram>, <interleaved>"),
       "(d0, d1, d2) -> (d0, d1, d2)", ErrorCode::kContradiction,
       "the map makes memref 4x1x1 of 4x32x32 interleaved in dram on 1x1, found 4x1: expected (d0, "
       "d1, d2) -> (d0 * 32 + d1, d2)",
       "the memref follows from TTNN's own map"},
      {tensor("4x4xbf16", kMap + ", <1x1>, memref<bf16, #system_memory>"), "",
       ErrorCode::kContradiction, "memref of one element for 4x4 in system on 1x1: expected 4x4",
       ""},
  });
}

TEST(TtnnErrors, MapsThatDoNotFitTheTensor) {
  expect_all_refused({
      {tensor("32x64xbf16", "(d0) -> (0, d0), <1x1>, memref<1x2x" + kTile +
                                ", #dram>, "
                                "<interleaved>"),
       "(d0) -> (0, d0)", ErrorCode::kContradiction, "a map of 1 dim for a tensor of rank 2",
       "TTNN's map is (d0, d1) -> (d0, d1)"},
      {tensor("1x32x18x64xbf16",
              "(d0, d1, d2, d3) -> (d0 * 576 + d1 * 18 + d2, d3), <1x1>, "
              "memref<18x2x" +
                  kTile + ", #dram>, <interleaved>"),
       "(d0, d1, d2, d3) -> (d0 * 576 + d1 * 18 + d2, d3)", ErrorCode::kContradiction,
       "d1 steps by 18 over dims that take 32 after padding to 32x32 tiles",
       "TTNN's map is (d0, d1, d2, d3) -> (d0 * 1024 + d1 * 32 + d2, d3)"},
      {tensor("8xbf16", "(d0) -> (d0), <1x1>, memref<1x1x" + kTile + ", #dram>, <interleaved>"),
       "(d0) -> (d0)", ErrorCode::kContradiction, "a map with 1 result for 32x32 tiles",
       "TTNN's map is (d0) -> (0, d0)"},
      {tensor("8x8xbf16", "(d0, d1) -> (0, d1), <1x1>, memref<1x8xbf16, #system_memory>"),
       "(d0, d1) -> (0, d1)", ErrorCode::kContradiction,
       "no result of the map uses d0, which has 8 elements", ""},
      {tensor("8x8xbf16", "(d0, d1) -> (0, d0 + d1), <1x1>, memref<1x15xbf16, #system_memory>"),
       "(d0, d1) -> (0, d0 + d1)", ErrorCode::kNotInjective,
       "elements [0, 1] and [1, 0] share one slot of one place", ""},
      {tensor("8x8xbf16",
              "(d0, d1) -> (d0 floordiv 2, d1), <1x1>, memref<4x8xbf16, "
              "#system_memory>"),
       "(d0, d1) -> (d0 floordiv 2, d1)", ErrorCode::kNotSupported,
       "TTNN cannot lay out (d0, d1) -> (d0 floordiv 2)",
       "each result is 0 or a sum of dims times positive numbers; TTNN's map is (d0, d1) -> (d0, "
       "d1)"},
      {tensor("8x8xbf16", "(d0, d1) -> (d0 + 1, d1), <1x1>, memref<9x8xbf16, #system_memory>"),
       "(d0, d1) -> (d0 + 1, d1)", ErrorCode::kNotSupported,
       "TTNN cannot lay out (d0, d1) -> (d0 + 1)", ""},
  });
}

TEST(TtnnErrors, MemoriesAndTheirLayouts) {
  const std::string dram = "memref<2x4x" + kTile + ", #dram>";
  const std::string cores = "core_ranges = <[#ttnn.core_range<(0,0), (7,0)>]>";
  expect_all_refused({
      {tensor("64x128xbf16", kMap + ", <1x1>, " + dram), dram, ErrorCode::kContradiction,
       "a tensor in dram without a memory layout", ""},
      {tensor("64x128xbf16", kMap + ", <1x1>, memref<64x128xbf16, #sysmem>, <interleaved>"),
       ">, <interleaved>", ErrorCode::kContradiction,
       "a tensor in system memory with the memory layout interleaved", ""},
      {tensor("64x128xbf16",
              kMap + ", <2x4>, memref<1x1x" + kTile + ", #dram>, <block_sharded>, " + cores),
       "<block_sharded>", ErrorCode::kContradiction, "a block_sharded tensor in dram", ""},
      {tensor("64x128xbf16", kMap + ", <2x4>, memref<1x1x" + kTile +
                                 ", #trace>, "
                                 "<block_sharded>, " +
                                 cores),
       "<block_sharded>", ErrorCode::kContradiction, "a block_sharded tensor in trace", ""},
      {tensor("64x128xbf16", kMap + ", <1x1>, " + dram + ", <interleaved>, " + cores),
       "<[#ttnn.core_range<(0,0), (7,0)>]>", ErrorCode::kContradiction,
       "core ranges for a tensor that is not sharded", ""},
      {tensor("32x32xf32", kMap + ", <1x8>, memref<32x4xf32, #dram>, <width_sharded>"),
       "<width_sharded>", ErrorCode::kContradiction, "a width_sharded tensor without core ranges",
       "such as core_ranges = <[#ttnn.core_range<(0,0), (7,0)>]>"},
      {tensor("32x32xf32", kMap + ", <1x8>, memref<32x4xf32, #l1>, <width_sharded>, "
                                  "ignorePhysicalLayout = true"),
       "<width_sharded>", ErrorCode::kNotSupported,
       "ignorePhysicalLayout does not specify where the shards of a width_sharded tensor are", ""},
      {tensor("64x128xbf16", kMap + ", <8x8>, " + dram + ", <interleaved>"), "8x8",
       ErrorCode::kContradiction, "grid 8x8 for a tensor in dram, interleaved", "expected <1x1>"},
      {tensor("64x128xbf16", kMap + ", <3x4>, memref<2x4x" + kTile + ", #system_memory>"), "3x4",
       ErrorCode::kContradiction, "grid 3x4 for a tensor in system", "expected <1x1>"},
      {tensor("64x128xbf16", kMap + ", <1x1x1>, " + dram + ", <interleaved>"), "1x1x1",
       ErrorCode::kContradiction, "a grid of 3 dims", ""},
      {tensor("64x128xbf16", kMap + ", <0x1>, memref<1x1x" + kTile + ", #l1>, <interleaved>"),
       "0x1", ErrorCode::kContradiction, "grid 0x1 is empty", ""},
      {tensor("4x32x32xbf16", "(d0, d1, d2) -> (d0, d1, d2), <1x4>, memref<4x1x1x" + kTile +
                                  ", #l1>, <width_sharded>, core_ranges = "
                                  "<[#ttnn.core_range<(0,0), (3,0)>]>"),
       "1x4", ErrorCode::kContradiction, "a sharded tensor whose map has 3 results", ""},
  });
}

TEST(TtnnErrors, CoresThatDoNotFitTheGrid) {
  const auto sharded = [](const std::string& grid, const std::string& memref,
                          const std::string& memory, const std::string& ranges) {
    return tensor("64x128xf32", kMap + ", <" + grid + ">, memref<" + memref + "xf32, #l1>, <" +
                                    memory + ">, core_ranges = " + ranges);
  };
  const std::string eight = "<[#ttnn.core_range<(0,0), (7,0)>]>";
  expect_all_refused({
      {sharded("4x1", "16x128", "height_sharded", eight), eight, ErrorCode::kContradiction,
       "8 cores for the 4 places of grid 4x1",
       "one core for each place of the grid: core_ranges = <[#ttnn.core_range<(0,0), (3,0)>]>"},
      {sharded("2x4", "32x32", "block_sharded", eight), eight, ErrorCode::kContradiction,
       "8 cores in a box of 1x8 for a block_sharded tensor on grid 2x4",
       "a rectangle of that shape: core_ranges = <[#ttnn.core_range<(0,0), (3,1)>]>"},
      {sharded("4x1", "16x128", "height_sharded", "<[]>"), "]", ErrorCode::kSyntax,
       "expected '<', found ']'", ""},
      {sharded("4x1", "16x128", "height_sharded", "<>"), "<>", ErrorCode::kContradiction,
       "a height_sharded tensor without core ranges", ""},
      {sharded("4x1", "16x128", "height_sharded",
               "<[#ttnn.core_range<(0,0), (1,0)>, #ttnn.core_range<(1,0), (2,0)>]>"),
       "#ttnn.core_range<(1,0), (2,0)>", ErrorCode::kContradiction,
       "core ranges (0,0)-(1,0) and (1,0)-(2,0) overlap", ""},
  });
}

TEST(TtnnErrors, GridsOfOldTextsAreNotWrong) {
  expect_all_refused({
      {tensor("64x128xbf16", kMap + ", <1x1, (d0, d1) -> (0, d0, d1)>, memref<2x4x" + kTile +
                                 ", #dram>, <interleaved>"),
       ",", ErrorCode::kNotSupported, "a grid with a separate map",
       "give the grid alone, and its position by core_ranges"},
  });
}

TEST(TtnnErrors, SyntaxAndNames) {
  const std::string head = kMap + ", <1x1>, memref<2x4x" + kTile + ", #dram>";
  expect_all_refused({
      {tensor("64x128xbf16", head + ", <interleavd>"), "interleavd", ErrorCode::kUnknownName,
       "unknown memory layout 'interleavd'", "did you mean 'interleaved'?"},
      {tensor("64x128xbf16", head + ", <interleaved>, core_range = <>"), "core_range",
       ErrorCode::kUnknownName, "unknown item 'core_range'", "did you mean 'core_ranges'?"},
      {tensor("64x128xbf16", head + ", <interleaved>, ignorePhysicalLayout = maybe"), "maybe",
       ErrorCode::kSyntax, "expected true or false, found 'maybe'", ""},
      {tensor("64x128xbf16",
              head + ", <interleaved>, ignorePhysicalLayout = true, core_ranges = <>"),
       "core_ranges", ErrorCode::kSyntax, "core_ranges is not the next item here", ""},
      {tensor("64x128xbf16", kMap + ", <1x1>, memref<2x4x" + kTile + ", #dramm>, <interleaved>"),
       "dramm", ErrorCode::kUnknownName, "unknown memory space 'dramm'", "did you mean 'dram'?"},
      {tensor("64x128xbf16", kMap + ", 1x1, memref<2x4x" + kTile + ", #dram>"), "1",
       ErrorCode::kSyntax, "expected '<', found '1'", ""},
      {tensor("64x128xbf16", kMap + ", <1x1>, mesh = mesh, memref<2x4x" + kTile + ", #dram>"),
       "mesh", ErrorCode::kSyntax, "expected '<', found 'mesh'",
       "a mesh is written mesh = <\"name\">"},
      {tensor("64x128xbf16", head + " <interleaved>"), "<", ErrorCode::kSyntax,
       "expected ',' or '>', found '<'", ""},
      {"tensor<64x128xbf16, #ttnn.layout<" + head + ">>", "#ttnn.layout",
       ErrorCode::kUnknownNotation, "no notation begins with '#ttnn.layout'", ""},
  });
}

TEST(TtnnErrors, HostileNumbers) {
  const std::string big = "9223372036854775807";
  expect_all_refused({
      {tensor("2x2xf32", "(d0, d1) -> (d0 * " + big +
                             ", d1), <1x1>, memref<2x2xf32, "
                             "#system_memory>"),
       "(d0, d1) -> (d0 * " + big + ", d1)", ErrorCode::kOverflow,
       "the length of a line does not fit a signed 64-bit integer", ""},
      {tensor("2x2xf32", kMap + ", <" + big + "x2>, memref<1x1xf32, #l1>, <interleaved>"),
       big + "x2", ErrorCode::kOverflow,
       "the number of places does not fit a signed 64-bit integer", ""},
      {tensor("4x" + std::to_string(INT64_MAX / 4) + "xf32",
              kMap + ", <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>"),
       "memref<1x1x!ttcore.tile<32x32, f32>, #dram>", ErrorCode::kOverflow,
       "the number of elements of 32x2305843009213693952 does not fit a signed 64-bit integer", ""},
  });
}

}  // namespace
}  // namespace tessera::notation
