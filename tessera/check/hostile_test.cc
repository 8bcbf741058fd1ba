// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tessera/base/text.h"
#include "tessera/check/check.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/process.h"

// Hostile texts: checking ends soon, and all spans point into the text.
namespace tessera::check {
namespace {

using test::kSanitized;

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

CheckReport survives(std::string_view text, double seconds = 1) {
  const double begin = test::cpu_seconds();
  const Result<CheckReport> report = check_mlir(text);
  const double spent = test::cpu_seconds() - begin;
  EXPECT_LT(spent, seconds * 20) << "a guard against quadratic work, not a measurement";
  EXPECT_TRUE(report.ok());
  if (!report) return {};
  const auto size = static_cast<std::int64_t>(text.size());
  for (const Diagnostic& d : report->diagnostics) {
    EXPECT_LE(0, d.span.from);
    EXPECT_LE(d.span.from, d.span.to);
    EXPECT_LE(d.span.to, size);
  }
  return *report;
}

constexpr std::string_view kLayout =
    "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, "
    "<interleaved>>";

TEST(CheckHostileTest, NothingAndGarbage) {
  EXPECT_EQ(survives("").tensors, 0);
  survives(std::string(1, '\0'));
  survives("tensor<");
  survives("tensor<,");
  survives("#");
  survives("#a =");
  survives("#a = #a");
  survives("\"unterminated");
  survives("// -----");
  survives("tensor<1xf32, #\xff\xfe>");
  std::mt19937 random(1);
  std::string garbage(kSanitized ? std::size_t{1} << 20 : std::size_t{16} << 20, '\0');
  for (char& c : garbage) c = static_cast<char>(random());
  survives(garbage, 3);
  const std::string_view alphabet = "tensor<>x,#a=()-/\"\n l1";
  for (char& c : garbage) c = alphabet[random() % alphabet.size()];
  survives(garbage, 3);
}

TEST(CheckHostileTest, DeepNesting) {
  for (const std::string_view open :
       {"tensor<", "tensor<1xf32, ", "(", "<", "tensor<1x", "tensor<1xf32, #ttnn.ttnn_layout<",
        "[{(<", "tensor<1xf32, #tt.metal_layout<(", "-><=>="}) {
    survives(repeated(open, kSanitized ? 20'000 : 1'000'000), 3);
    survives(repeated(open, 20'000) + repeated(">", 20'000));
  }
  survives("#a = " + repeated("<", 1'000'000) + "\n!t = tensor<1xf32, #a>\n");
  survives(cat("!t = tensor<1x1xf32, #ttnn.ttnn_layout<", repeated("(", 100'000), ">>"));
}

TEST(CheckHostileTest, AliasesInACircle) {
  const std::string_view text =
      "#a = #b\n#b = #c\n#c = #a\nfunc.func private @f(tensor<4x4xf32, #a>, tensor<5xf32, #b>)\n";
  const CheckReport report = survives(text);
  ASSERT_FALSE(report.diagnostics.empty());
  EXPECT_EQ(report.diagnostics[0].code, "syntax");
  EXPECT_EQ(test::figures(report.diagnostics[0].message), "'#a'");
  const CheckReport inner = survives(
      "#m = #m\n!t = tensor<4x4xf32, #ttnn.ttnn_layout<#m, <1x1>, memref<1x1xf32, #m>>>\n");
  ASSERT_EQ(inner.diagnostics.size(), 1U);
  EXPECT_EQ(inner.diagnostics[0].code, "syntax");
}

TEST(CheckHostileTest, AliasBombs) {
  std::string bomb = "#a0 = #ttnn.ttnn_layout<\"boom\">\n";
  for (int i = 1; i < 60; ++i) {
    bomb += cat("#a", i, " = #ttnn.ttnn_layout<#a", i - 1, ", #a", i - 1, ">\n");
  }
  const CheckReport report = survives(bomb + "!t = tensor<4x4xf32, #a59>\n");
  ASSERT_EQ(report.diagnostics.size(), 1U);
  EXPECT_EQ(report.diagnostics[0].code, "too_large");
  // Aliases with an empty value also count.
  std::string hollow = "#a0 =\n";
  for (int i = 1; i < 60; ++i) {
    hollow += cat("#a", i, " = #ttnn.ttnn_layout<#a", i - 1, " #a", i - 1, ">\n");
  }
  survives(hollow + "!t = tensor<4x4xf32, #a59>\n");
  std::string chain = "#a0 = " + std::string(kLayout) + "\n";
  for (int i = 1; i < 100'000; ++i) chain += cat("#a", i, " = #a", i - 1, "\n");
  survives(chain + "!t = tensor<4x4xf32, #a99999>\n");
}

TEST(CheckHostileTest, MuchExpandedTextIsRefusedOnce) {
  std::string text = cat("#a = #ttnn.ttnn_layout<", repeated("(d0) ", 12'000), ">\n");
  for (int i = 1; i < 20'000; ++i) text += cat("!t", i, " = tensor<", i, "xf32, #a>\n");
  const CheckReport report = survives(text, 3);
  std::size_t refused = 0;
  for (const Diagnostic& d : report.diagnostics) refused += d.code == "too_large" ? 1U : 0U;
  EXPECT_EQ(refused, 1U);
}

TEST(CheckHostileTest, ManyTensorsOfOneBadAlias) {
  std::string text = "#l = " + std::string(kLayout) + "\n";
  for (int i = 1; i < 20'000; ++i) {
    text += "func.func private @f(tensor<64x64xbf16, #l>, tensor<64x128xbf16, #l>)\n";
  }
  const CheckReport report = survives(text);
  EXPECT_EQ(report.diagnostics.size(), 1U);
  EXPECT_EQ(report.tensors, 2 * 19'999);
  std::string distinct = "#l = " + std::string(kLayout) + "\n";
  for (int i = 1; i < 5'000; ++i) distinct += cat("!t", i, " = tensor<", i, "x7xbf16, #l>\n");
  survives(distinct);
}

TEST(CheckHostileTest, DiagnosticsHaveAnEnd) {
  std::string text;
  const std::string bad =
      "tensor<64x1xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1xf32, #dram>, "
      "<interleaved>>>\n";
  text = repeated(bad, 70'000) + repeated("!t = tensor<65x1xbf16, #ttnn.ttnn_layout<>>\n", 2);
  const CheckReport report = survives(text);
  EXPECT_GT(report.diagnostics.size(), 60'000U);
  EXPECT_EQ(report.diagnostics.back().code, "too_large");
}

TEST(CheckHostileTest, NumbersThatDoNotFit) {
  for (const std::string_view extent :
       {"9223372036854775807", "9223372036854775808", "99999999999999999999", "4294967296"}) {
    survives(cat("!t = tensor<", extent, "x", extent, "xf32, ", kLayout, ">\n"));
    survives(cat("!t = tensor<64x", extent, "xf32, ", kLayout, ">\n"));
    survives(cat("!t = tensor<64x64xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0 * ", extent, ", d1), <",
                 extent, "x", extent, ">, memref<", extent, "x1xf32, #l1>, <height_sharded>, ",
                 "core_ranges = <[#ttnn.core_range<(0,0), (", extent, ",", extent, ")>]>>>\n"));
    survives(cat("!t = tensor<1x1x", extent, "x64xf32, #ttcore.metal_layout<logical_shape = ",
                 extent, "x64, dim_alignments = ", extent, "x", extent,
                 ", collapsed_intervals = dense<[[0, -1]]> : tensor<1x2xi64>, l1, sharded>>\n"));
  }
}

TEST(CheckHostileTest, WindowsLinesAreLines) {
  std::string text = "#l = " + std::string(kLayout) +
                     "\r\n// tessera: allow(contradiction)\r\n!a = tensor<64x64xbf16, #l>\r\n"
                     "!b = tensor<32x128xbf16, #l> // tessera: allow\r\n// -----\r\n"
                     "!c = tensor<32x32xbf16, #l>\r\n";
  const CheckReport report = survives(text);
  EXPECT_EQ(report.silenced, 2);
  ASSERT_EQ(report.diagnostics.size(), 1U);
  EXPECT_NE(test::figures(report.diagnostics[0].message).find("32x32"), std::string::npos);
}

TEST(CheckHostileTest, BrokenTextsDoNotHideOthers) {
  // A bracket that never closes, an unterminated string, and a truncated tensor.
  const std::string good = cat("#l = ", kLayout, "\n");
  const CheckReport report = survives(cat(
      good, "op (((( < [ \"text\nop : tensor<64x128xbf16, #l, tensor<64x64xbf16, #l>) -> ()\n"));
  ASSERT_EQ(report.diagnostics.size(), 1U);
  EXPECT_NE(test::figures(report.diagnostics[0].message).find("64x64"), std::string::npos);
  const CheckReport cut = survives(
      "f(tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x"
      "!ttcore.tile<32x32, bf16>, #dram>, <interleaved>)\n");
  ASSERT_EQ(cut.diagnostics.size(), 1U);
  EXPECT_EQ(cut.diagnostics[0].code, "syntax");
}

TEST(CheckHostileTest, TextsBeyondTheLimitAreRefused) {
  const std::string text((std::size_t{64} << 20) + 1, ' ');
  const Result<CheckReport> report = check_mlir(text);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kTextTooLong);
}

}  // namespace
}  // namespace tessera::check
