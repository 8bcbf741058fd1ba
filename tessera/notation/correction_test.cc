// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tessera/notation/notation.h"

// Law: if an error has a correction, the text with `correction` instead of `span` is read, or
// rejected for another reason.
namespace tessera::notation {
namespace {

struct Case {
  std::string_view text;
  std::string_view wrong;  ///< the text of the span
  std::string_view correction;
  std::string_view next = {};  ///< the correction of the error that remains, if any
};

void expect_corrected(const Case& c) {
  SCOPED_TRACE(c.text);
  const Result<Tensor> tensor = parse_tensor(c.text);
  ASSERT_FALSE(tensor.ok());
  const Error& error = tensor.error();
  ASSERT_TRUE(error.span.has_value());
  const auto from = static_cast<std::size_t>(error.span->from);
  const auto length = static_cast<std::size_t>(error.span->to) - from;
  EXPECT_EQ(c.text.substr(from, length), c.wrong) << render(error, c.text);
  EXPECT_EQ(error.correction, c.correction) << render(error, c.text);
  std::string text(c.text);
  text.replace(from, length, error.correction);
  const Result<Tensor> again = parse_tensor(text);
  if (c.next.empty()) {
    EXPECT_TRUE(again.ok()) << (again ? "" : render(again.error(), text));
  } else {
    ASSERT_FALSE(again.ok()) << text;
    EXPECT_EQ(again.error().correction, c.next) << render(again.error(), text);
  }
}

TEST(CorrectionTest, TtnnMap) {
  for (const Case& c : {
           Case{"tensor<2x15x10xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
                "memref<2x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>>",
                "(d0, d1) -> (d0, d1)", "(d0, d1, d2) -> (d0 * 32 + d1, d2)"},
           Case{"tensor<2x15x10xf32, #ttnn.ttnn_layout<affine_map<(d0, d1, d2) -> (d0 * 15 + d1, "
                "d2)>, <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>>",
                "(d0, d1, d2) -> (d0 * 15 + d1, d2)", "(d0, d1, d2) -> (d0 * 32 + d1, d2)", "2x1"},
           Case{"tensor<32x10xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0 * 10 + d1), <1x1>, "
                "memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>>",
                "(d0, d1) -> (d0 * 10 + d1)", "(d0, d1) -> (d0, d1)"},
           Case{"tensor<32x10xf32, #ttnn.ttnn_layout<(d0, d1) -> (0, d1), <1x1>, "
                "memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>>",
                "(d0, d1) -> (0, d1)", "(d0, d1) -> (d0, d1)"},
           Case{"tensor<1x1x1x64xf32, #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0, d1, d2, d3), "
                "<1x1>, memref<1x64xf32, #dram>, <interleaved>>>",
                "(d0, d1, d2, d3) -> (d0, d1, d2, d3)", "(d0, d1, d2, d3) -> (d0 + d1 + d2, d3)"},
       }) {
    expect_corrected(c);
  }
}

TEST(CorrectionTest, TtnnMemrefAndGrid) {
  for (const Case& c : {
           Case{"tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
                "memref<4x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>",
                "4x4", "2x4"},
           Case{"tensor<1xf32, #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<f32, "
                "#ttnn.buffer_type<system_memory>>>>",
                "", "1x1x"},
           Case{"tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, "
                "memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>",
                "8x8", "1x1"},
           Case{"tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
                "memref<2x4x!ttcore.tile<32x32, bf16>, #system_memory>, <interleaved>>>",
                ">, <interleaved>", ">"},
           Case{"tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
                "memref<2x4x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<drma>>, <interleaved>>>",
                "drma", "dram"},
           Case{"tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
                "memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleavd>>>",
                "interleavd", "interleaved"},
       }) {
    expect_corrected(c);
  }
}

TEST(CorrectionTest, CoreRanges) {
  for (const Case& c : {
           Case{"tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, "
                "memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>>>",
                "", ", core_ranges = <[#ttnn.core_range<(0,0), (3,1)>]>"},
           Case{"tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, "
                "memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>, core_ranges = <>>>",
                "<>", "<[#ttnn.core_range<(0,0), (3,1)>]>"},
           Case{"tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, "
                "memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>, core_ranges = "
                "#ttnn.core_range_set<[#ttnn.core_range<(1,1), (2,4)>]>>>",
                "<[#ttnn.core_range<(1,1), (2,4)>]>", "<[#ttnn.core_range<(1,1), (4,2)>]>"},
           Case{"tensor<384x32xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <12x1>, "
                "memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <height_sharded>, core_ranges = "
                "<[#ttnn.core_range<(0,0), (7,0)>]>>>",
                "<[#ttnn.core_range<(0,0), (7,0)>]>",
                "<[#ttnn.core_range<(0,0), (7,0)>, #ttnn.core_range<(0,1), (3,1)>]>"},
           Case{"tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, "
                "memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <block_sharded>, core_ranges = "
                "<[#ttnn.core_range<(3, 0), (0, 1)>]>>>",
                "(3, 0), (0, 1)", "(0,0), (3,1)"},
       }) {
    expect_corrected(c);
  }
}

TEST(CorrectionTest, MetalOfTheSpecification) {
  for (const Case& c : {
           Case{"tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, "
                "memref<17x32xf32, #tt.memory_space<l1>>>>",
                "17x32", "18x32"},
           Case{"tensor<2x3x64xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <1x1>, "
                "memref<6x64xf32, #l1>>>",
                "(d0, d1) -> (d0, d1)", "(d0, d1, d2) -> (d0 * 3 + d1, d2)"},
           Case{"tensor<2x64xf32, #tt.metal_layout<(d0) -> (d0, 0), undef, <1x1>, "
                "memref<2x64xf32, #l1>>>",
                "(d0) -> (d0, 0)", "(d0, d1) -> (d0, d1)"},
           Case{"tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), udnef, <3x2>, "
                "memref<18x32xf32, #tt.memory_space<l1>>>>",
                "udnef", "undef"},
       }) {
    expect_corrected(c);
  }
}

TEST(CorrectionTest, MetalToday) {
  for (const Case& c : {
           Case{"tensor<3x2x32x32xf32, #ttcore.metal_layout<logical_shape = 53x63, dim_alignments "
                "= 32x32, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, l1, "
                "sharded>>",
                "32x32", "96x32"},
           Case{"tensor<1x1x53x63xf32, #ttcore.metal_layout<logical_shape = 53x63, dim_alignments "
                "= 32x32, collapsed_intervals = dense<[[0, -1]]> : tensor<1x2xi64>, l1, sharded>>",
                "1x1x53x63", "1x1x64x64"},
           Case{"tensor<1x1x2x4x64x64xf32, #ttcore.metal_layout<logical_shape = 2x4x64, "
                "dim_alignments = 1x1x1, collapsed_intervals = dense<[[0, 2], [2, 3]]> : "
                "tensor<2x2xi64>, l1, sharded>>",
                "dense<[[0, 2], [2, 3]]> : tensor<2x2xi64>", ""},
           Case{"tensor<1x1x1x2x4x64xf32, #ttcore.metal_layout<logical_shape = 2x4x64, "
                "dim_alignments = 1x1x1, collapsed_intervals = dense<[[0, 2], [2, 3]]> : "
                "tensor<2x2xi64>, l1, sharded>>",
                "dense<[[0, 2], [2, 3]]> : tensor<2x2xi64>", "dense<> : tensor<0x2xi64>"},
           Case{"tensor<1x1x8x64xf32, #ttcore.metal_layout<logical_shape = 2x4x64, "
                "dim_alignments = 1x1x1, collapsed_intervals = dense<[[0, 2], [1, 3]]> : "
                "tensor<2x2xi64>, l1, sharded>>",
                "dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>", "dense<[[0, -1]]> : tensor<1x2xi64>"},
           Case{"tensor<1x1x64x64xf32, #ttcore.metal_layout<logical_shape = 53x63, dim_alignments "
                "= 32x32, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<1x2xi64>, l1, "
                "sharded>>",
                "dense<[[0, 1], [1, 2]]> : tensor<1x2xi64>",
                "dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>"},
           Case{
               "tensor<1x1x64x64xf32, #ttcore.metal_layout<logical_shape = 53x63, dim_alignments "
               "= 1x32x32, collapsed_intervals = dense<[[0, -1]]> : tensor<1x2xi64>, l1, sharded>>",
               "1x32x32", "32x32"},
           Case{"tensor<1x1x64x64xf32, #ttcore.metal_layout<logical_shape = 53x63, dim_alignments "
                "= 32x32, collapsed_intervals = dense<[[0, -1]]> : tensor<1x2xi64>, l1, shraded>>",
                "shraded", "sharded"},
       }) {
    if (c.correction.empty()) {
      const Result<Tensor> tensor = parse_tensor(c.text);
      ASSERT_FALSE(tensor.ok());
      EXPECT_EQ(tensor.error().correction, "") << c.text;
    } else {
      expect_corrected(c);
    }
  }
}

TEST(CorrectionTest, SurvivesBeingPlaced) {
  const Error error{ErrorCode::kContradiction, "m", std::nullopt, "h", "right"};
  EXPECT_EQ(error.at({2, 5}).correction, "right");
  EXPECT_EQ(error.at({2, 5}).shifted(3).correction, "right");
  EXPECT_EQ(error.at({2, 5}).shifted(3).span, (Span{5, 8}));
}

}  // namespace
}  // namespace tessera::notation
