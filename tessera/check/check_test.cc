// SPDX-License-Identifier: Apache-2.0
#include "tessera/check/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tessera/base/text.h"
#include "tessera/target/machine.h"
#include "tessera/testing/figures.h"

namespace tessera::check {
namespace {

std::string file(const std::string& name) {
  std::ifstream stream("tessera/check/testdata/" + name);
  std::stringstream text;
  text << stream.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

CheckReport checked(std::string_view text, const CheckOptions& options = {}) {
  Result<CheckReport> report = check_mlir(text, options);
  EXPECT_TRUE(report.ok());
  return report ? *std::move(report) : CheckReport{};
}

/// The codes of each line, sorted: those expected by `// expect: a, b`, and those of the
/// diagnostics.
using Codes = std::map<std::int64_t, std::vector<std::string>>;

Codes expected_codes(std::string_view text) {
  Codes codes;
  const LineIndex lines(text);
  const std::int64_t last = lines.at(static_cast<std::int64_t>(text.size())).line;
  constexpr std::string_view kExpect = "// expect: ";
  for (std::int64_t number = 1; number <= last; ++number) {
    const std::size_t at = lines.line(number).find(kExpect);
    if (at == std::string_view::npos) continue;
    std::stringstream words(std::string(lines.line(number).substr(at + kExpect.size())));
    for (std::string word; words >> word;) {
      codes[number].push_back(word.substr(0, word.find(',')));
    }
    std::sort(codes[number].begin(), codes[number].end());
  }
  return codes;
}

Codes found_codes(std::string_view text, const CheckReport& report) {
  Codes codes;
  const LineIndex lines(text);
  for (const Diagnostic& d : report.diagnostics) {
    codes[lines.at(d.span.from).line].push_back(d.code);
  }
  for (auto& [line, list] : codes) std::sort(list.begin(), list.end());
  return codes;
}

std::string told(std::string_view text, const CheckReport& report) {
  std::string out;
  const LineIndex lines(text);
  for (const Diagnostic& d : report.diagnostics) {
    out += cat(lines.at(d.span.from).line, ":", lines.at(d.span.from).column, " ", d.code, " ",
               d.message, "\n");
  }
  return out;
}

/// Checks the law of fixed_text, and that fixing terminates.
std::string expect_fix_law(std::string text) {
  for (int round = 0; round < 8; ++round) {
    const CheckReport before = checked(text);
    const std::string fixed = fixed_text(text, before.diagnostics);
    if (fixed == text) return text;
    // A fix that overlaps another one may be left: it is applied when nothing overlaps it.
    const CheckReport after = checked(fixed);
    std::size_t fixes = 0;
    for (const Diagnostic& d : before.diagnostics) fixes += d.fix ? 1 : 0;
    EXPECT_LT(after.diagnostics.size(), before.diagnostics.size()) << told(fixed, after);
    EXPECT_GT(fixes, 0U);
    EXPECT_EQ(after.tensors, before.tensors);
    text = fixed;
  }
  ADD_FAILURE() << "fixing goes on";
  return text;
}

TEST(CheckTest, CorrectFilesHaveNoDiagnostics) {
  const std::string text = file("correct.mlir");
  const CheckReport report = checked(text);
  EXPECT_EQ(told(text, report), "");
  EXPECT_EQ(report.tensors, 18);
  EXPECT_EQ(report.unknown, 6);
  EXPECT_EQ(report.silenced, 0);
}

TEST(CheckTest, EveryPlantedContradictionIsFound) {
  const std::string text = file("contradictions.mlir");
  const CheckReport report = checked(text);
  EXPECT_EQ(found_codes(text, report), expected_codes(text)) << told(text, report);
  for (const Diagnostic& d : report.diagnostics) {
    const bool warning = d.code == "waste" || d.code == "empty_cores" || d.code.starts_with("unus");
    EXPECT_EQ(d.severity == Severity::kWarning, warning) << d.code;
    EXPECT_FALSE(d.message.empty());
    EXPECT_FALSE(d.help.empty()) << d.message;
  }
}

TEST(CheckTest, DiagnosticsAreInTheOrderOfTheFile) {
  const CheckReport report = checked(file("contradictions.mlir"));
  ASSERT_GT(report.diagnostics.size(), 20U);
  EXPECT_TRUE(std::is_sorted(
      report.diagnostics.begin(), report.diagnostics.end(),
      [](const Diagnostic& a, const Diagnostic& b) { return a.span.from < b.span.from; }));
}

TEST(CheckTest, FixesLeaveOnlyWhatNobodyCanDecide) {
  const std::string fixed = expect_fix_law(file("contradictions.mlir"));
  const CheckReport report = checked(fixed);
  const LineIndex lines(fixed);
  std::vector<std::string> left;
  for (const Diagnostic& d : report.diagnostics) {
    if (d.severity == Severity::kWarning) continue;
    const std::string_view line = lines.line(lines.at(d.span.from).line);
    left.emplace_back(line.substr(0, line.find(' ')));
  }
  EXPECT_EQ(left, (std::vector<std::string>{"#bare", "#overlap", "#syntax", "#number", "#shared"}));
  EXPECT_NE(fixed.find("#rank = #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>"),
            std::string::npos);
  EXPECT_NE(fixed.find("#host = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
                       "memref<64x128xbf16, #system_memory>> //"),
            std::string::npos);
  EXPECT_NE(fixed.find("%9 = op : tensor<1x1x64x64xf32, #shard>"), std::string::npos);
}

TEST(CheckTest, CommentsSilence) {
  const std::string text = file("silenced.mlir");
  const CheckReport report = checked(text);
  EXPECT_EQ(found_codes(text, report), expected_codes(text)) << told(text, report);
  EXPECT_EQ(report.silenced, 7);
}

constexpr std::string_view kPair =
    "#l = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4x4x!ttcore.tile<32x32, bf16>, "
    "#dram>, <interleaved>>\n"
    "func.func private @f(tensor<64x128xbf16, #l>)\n"
    "func.func private @g(tensor<32x128xbf16, #l>)\n";

TEST(CheckTest, TensorsThatDisagreeHaveNoFix) {
  const CheckReport report = checked(kPair);
  ASSERT_EQ(report.diagnostics.size(), 2U);
  for (const Diagnostic& d : report.diagnostics) {
    EXPECT_FALSE(d.fix.has_value());
    ASSERT_TRUE(d.tensor.has_value());
    EXPECT_EQ(kPair.substr(static_cast<std::size_t>(d.span.from), 3), "4x4");
    EXPECT_EQ(d.span.to - d.span.from, 3);
  }
  const std::string& help = report.diagnostics[1].help;
  EXPECT_NE(test::figures(help).find("2x4 'tensor<32x128xbf16 #l>' 3"), std::string::npos) << help;
  EXPECT_EQ(fixed_text(kPair, report.diagnostics), kPair);
}

TEST(CheckTest, TensorsThatAgreeHaveOneFix) {
  std::string text(kPair);
  text.replace(text.find("32x128"), 6, "33x100");  // two rows of tiles and four columns as well
  const CheckReport report = checked(text);
  ASSERT_EQ(report.diagnostics.size(), 2U);  // the messages name the tensors
  EXPECT_EQ(report.diagnostics[0].fix, report.diagnostics[1].fix);
  ASSERT_TRUE(report.diagnostics[0].fix.has_value());
  EXPECT_EQ(report.diagnostics[0].fix->text, "2x4");
  const std::string fixed = fixed_text(text, report.diagnostics);
  EXPECT_NE(fixed.find("memref<2x4x!ttcore"), std::string::npos);
  EXPECT_TRUE(checked(fixed).diagnostics.empty());
}

TEST(CheckTest, OneLayoutMayHaveSeveralDiagnostics) {
  const std::string_view text =
      "func.func private @f(tensor<2x64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, "
      "memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>)\n";
  const CheckReport report = checked(text);
  ASSERT_EQ(report.diagnostics.size(), 3U) << told(text, report);
  EXPECT_EQ(fixed_text(text, report.diagnostics),
            "func.func private @f(tensor<2x64x128xbf16, #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 "
            "+ d1, d2), <1x1>, memref<4x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>)\n");
  EXPECT_FALSE(report.diagnostics[0].tensor.has_value());
}

TEST(CheckTest, FixesStayInsideTheAliasThatIsWrong) {
  const std::string_view text =
      "#crs = #ttnn.core_range_set<[#ttnn.core_range<(0,0), (7,0)>]>\n"
      "#map = affine_map<(d0) -> (0, d0)>\n"
      "!memref = memref<1x1x!ttcore.tile<32x32, bf16>, #l1>\n"
      "#l1 = #ttnn.buffer_type<l1>\n"
      "#l = #ttnn.ttnn_layout<#map, <2x4>, !memref, <block_sharded>, core_ranges = #crs>\n"
      "!t = tensor<64x128xbf16, #l>\n";
  const CheckReport report = checked(text);
  ASSERT_EQ(report.diagnostics.size(), 2U) << told(text, report);
  EXPECT_EQ(fixed_text(text, report.diagnostics),
            "#crs = #ttnn.core_range_set<[#ttnn.core_range<(0,0), (3,1)>]>\n"
            "#map = affine_map<(d0, d1) -> (d0, d1)>\n"
            "!memref = memref<1x1x!ttcore.tile<32x32, bf16>, #l1>\n"
            "#l1 = #ttnn.buffer_type<l1>\n"
            "#l = #ttnn.ttnn_layout<#map, <2x4>, !memref, <block_sharded>, core_ranges = #crs>\n"
            "!t = tensor<64x128xbf16, #l>\n");
}

TEST(CheckTest, AnAliasMeansAnotherThingAfterDashes) {
  const std::string good =
      "#l = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x"
      "!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>\n"
      "func.func private @f(tensor<64x128xbf16, #l>)\n";
  std::string bad = good;
  bad.replace(bad.find("2x4"), 3, "2x5");
  EXPECT_EQ(checked(good + "// -----\n" + bad).diagnostics.size(), 1U);
  EXPECT_EQ(checked(good + bad).diagnostics.size(), 1U) << "a second definition ends the first";
  EXPECT_EQ(checked(bad + "// -----\n" + bad).diagnostics.size(), 2U);
  EXPECT_EQ(checked(good + "// ---------\nfunc.func private @g(tensor<64x64xbf16, #l>)\n")
                .diagnostics.size(),
            1U)
      << "the only definition of a file counts beyond an ornament";
}

TEST(CheckTest, AMachineAddsItsRules) {
  const std::string_view text =
      "#big = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<4096x4096xf32, #l1>, "
      "<block_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (0,0)>]>>\n"
      "#wide = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x16>, memref<1x1x!ttcore.tile<32x32, "
      "f32>, #l1>, <block_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (15,0)>]>>\n"
      "#share = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <9x9>, memref<1x1x!ttcore.tile<32x32, "
      "f32>, #l1>, <interleaved>>\n"
      "func.func private @f(tensor<4096x4096xf32, #big>, tensor<32x512xf32, #wide>, "
      "tensor<32x512xf32, #share>)\n";
  EXPECT_TRUE(checked(text).diagnostics.empty()) << told(text, checked(text));
  const Result<const Machine*> wormhole = find_machine("wormhole");
  ASSERT_TRUE(wormhole.ok());
  CheckOptions options;
  options.target = *wormhole;
  const CheckReport report = checked(text, options);
  EXPECT_EQ(found_codes(text, report),
            (Codes{{1, {"exceeds_memory"}}, {2, {"mesh_too_large"}}, {3, {"mesh_too_large"}}}))
      << told(text, report);
}

TEST(CheckTest, WasteHasALimit) {
  const std::string_view text =
      "!t = tensor<8x96x32xf32, #tt.metal_layout<(d0, d1, d2) -> (d0 * 96 + d1, d1, d2), undef, "
      "<1x1x1>, memref<768x96x32xf32, #tt.memory_space<l1>>>>\n"
      "!small = tensor<1x1xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
      "memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>>\n";
  const CheckReport report = checked(text);
  ASSERT_EQ(report.diagnostics.size(), 1U) << told(text, report);
  EXPECT_EQ(test::figures(report.diagnostics[0].message), "96 8x96x32");
  CheckOptions generous;
  generous.most_waste = 96;
  EXPECT_TRUE(checked(text, generous).diagnostics.empty());
}

TEST(CheckTest, LinesAndColumns) {
  const LineIndex lines("ab\r\n\ncd");
  EXPECT_EQ(lines.at(0).line, 1);
  EXPECT_EQ(lines.at(4).line, 2);
  EXPECT_EQ(lines.at(5).column, 1);
  EXPECT_EQ(lines.at(6).column, 2);
  EXPECT_EQ(lines.at(99).column, 3);
  EXPECT_EQ(lines.line(1), "ab");
  EXPECT_EQ(lines.line(2), "");
  EXPECT_EQ(lines.line(3), "cd");
  EXPECT_EQ(lines.line(4), "");
  EXPECT_EQ(LineIndex("").at(0).line, 1);
}

TEST(CheckTest, OverlappingFixesWaitForTheNextRun) {
  Diagnostic a;
  a.fix = Edit{{1, 3}, "XX"};
  Diagnostic b;
  b.fix = Edit{{2, 4}, "Y"};
  Diagnostic c;
  c.fix = Edit{{4, 4}, "Z"};
  EXPECT_EQ(fixed_text("abcdef", {a, b, c}), "aXXdZef");
  EXPECT_EQ(fixed_text("abcdef", {c, a, a}), "aXXdZef");
  EXPECT_EQ(fixed_text("abcdef", {}), "abcdef");
}

}  // namespace
}  // namespace tessera::check
