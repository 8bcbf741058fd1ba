// SPDX-License-Identifier: Apache-2.0
#include "tessera/check/negative_tests.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/check/check.h"

namespace tessera::check {
namespace {

bool is_negative(std::string_view run_line) {
  const std::string text = cat("// RUN: ", run_line, "\nmodule {}\n");
  return NegativeTests(text, scan_mlir(text)).has(static_cast<std::int64_t>(text.size()) - 2);
}

TEST(NegativeTests, ACommandThatMustFailOnTheFileIsOne) {
  for (const char* line :
       {"not ttmlir-opt %s", "not ttmlir-opt --split-input-file %s 2>&1 | FileCheck %s",
        "not --crash ttmlir-opt < %s", "! ttmlir-opt %s", "%not opt %s", "/usr/bin/not opt %s",
        "env A=1 not opt %s", "A=1 not opt %s", "cat %s | not opt", "opt %s | not opt -",
        "true && not opt %s", "not opt '%s'", "not opt --file=%s"}) {
    EXPECT_TRUE(is_negative(line)) << line;
  }
}

TEST(NegativeTests, OthersAreNone) {
  for (const char* line :
       {"ttmlir-opt %s", "ttmlir-opt %s | FileCheck %s", "opt %s | not FileCheck %s",
        "opt %s | not grep foo", "opt %s --implicit-check-not=x", "opt %s && not opt %t",
        "not opt %shlibdir", "not not opt %s", "opt 'not opt %s'", "opt %s; not test -e %t", ""}) {
    EXPECT_FALSE(is_negative(line)) << line;
  }
}

TEST(NegativeTests, ARunLineContinuesAfterABackslash) {
  const std::string text = "// RUN: not \\\n// RUN:   opt \\\n// RUN: %s\nmodule {}\n";
  EXPECT_TRUE(NegativeTests(text, scan_mlir(text)).has(0));
}

/// Which of the three parts of a split file are negative.
std::vector<bool> parts(const std::string& header, const std::vector<std::string>& bodies) {
  std::string text = header;
  std::vector<std::int64_t> begins;
  for (const std::string& body : bodies) {
    if (!begins.empty()) text += "// -----\n";
    begins.push_back(static_cast<std::int64_t>(text.size()));
    text += body + "\n";
  }
  const NegativeTests negative(text, scan_mlir(text));
  std::vector<bool> result;
  for (const std::int64_t begin : begins) result.push_back(negative.has(begin));
  return result;
}

TEST(NegativeTests, AnExpectedErrorConcernsItsPartOfASplitFile) {
  const std::string good = "module {}";
  const std::string bad = "// expected-error @+1 {{no}}\nmodule {}";
  using Parts = std::vector<bool>;
  EXPECT_EQ(parts("", {good, bad, good}), (Parts{false, true, false}));
  EXPECT_EQ(parts("// RUN: opt --split-input-file --verify-diagnostics %s\n", {bad, good, bad}),
            (Parts{true, false, true}));
  EXPECT_EQ(parts("// RUN: opt --verify-diagnostics %s\n", {good, bad, good}),
            (Parts{true, true, true}));
  EXPECT_EQ(parts("// RUN: not opt --split-input-file %s\n", {good, good, good}),
            (Parts{true, true, true}));
  EXPECT_EQ(parts("", {good, "\"expected-error\"() : () -> ()", good}),
            (Parts{false, false, false}));
}

// 53 rows on 3 cores are 18 per core.
std::string layout(int rows) {
  return cat("#tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<", rows,
             "x32xf32, #tt.memory_space<l1>>>");
}
std::string tensor(std::string_view encoding) {
  return cat("func.func private @f(tensor<53x63xf32, ", encoding, ">)\n");
}

CheckReport checked(const std::string& text) {
  Result<CheckReport> report = check_mlir(text);
  EXPECT_TRUE(report.ok());
  return report ? *std::move(report) : CheckReport{};
}

TEST(NegativeTests, TheirDiagnosticsAreCountedNotReported) {
  const std::string text = cat("// RUN: opt -split-input-file %s\n", tensor(layout(17)),
                               "// -----\n// expected-error @+1 {{17}}\n", tensor(layout(17)));
  const CheckReport report = checked(text);
  ASSERT_EQ(report.diagnostics.size(), 1U);
  EXPECT_EQ(LineIndex(text).at(report.diagnostics[0].span.from).line, 2);
  EXPECT_EQ(report.expected, 1);
  EXPECT_EQ(report.tensors, 2);
  const std::string fixed = fixed_text(text, report.diagnostics);
  EXPECT_EQ(fixed.substr(fixed.find("// -----")), text.substr(text.find("// -----")));
}

TEST(NegativeTests, TextThatTheyUseHasNoFix) {
  // One alias for both parts: correcting it would make the negative test pass.
  const std::string shared = cat("#a = ", layout(17), "\n", tensor("#a"),
                                 "// -----\n// expected-error @+1 {{17}}\n", tensor("#a"));
  const CheckReport both = checked(shared);
  ASSERT_EQ(both.diagnostics.size(), 1U);
  EXPECT_FALSE(both.diagnostics[0].fix.has_value());
  // An alias that a negative test defines.
  const std::string inside = cat(
      tensor("#a"), "// -----\n// expected-error @+1 {{17}}\n#a = ", layout(17), "\nmodule {}\n");
  const CheckReport defined = checked(inside);
  ASSERT_EQ(defined.diagnostics.size(), 1U);
  EXPECT_FALSE(defined.diagnostics[0].fix.has_value());
  // Without a negative test, each has its fix.
  const CheckReport alone = checked(cat("#a = ", layout(17), "\n", tensor("#a")));
  ASSERT_EQ(alone.diagnostics.size(), 1U);
  EXPECT_TRUE(alone.diagnostics[0].fix.has_value());
}

TEST(Occurrences, CountTheSameFindingInAFile) {
  const CheckReport report =
      checked(cat(tensor(layout(17)), tensor(layout(17)), tensor(layout(16)), tensor(layout(17))));
  ASSERT_EQ(report.diagnostics.size(), 4U);
  std::vector<std::int64_t> counts;
  for (const Diagnostic& diagnostic : report.diagnostics) counts.push_back(diagnostic.occurrences);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{3, 3, 1, 3}));
}

}  // namespace
}  // namespace tessera::check
