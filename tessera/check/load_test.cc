// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iostream>

#include "tessera/base/text.h"
#include "tessera/check/check.h"
#include "tessera/testing/check/mlir_files.h"
#include "tessera/testing/process.h"

/// The checker's time grows with the length of the text, not with the numbers in it.
namespace tessera::check {
namespace {

double seconds_to_check(const std::string& text) {
  const double begin = test::cpu_seconds();
  const Result<CheckReport> report = check_mlir(text);
  if (report) fixed_text(text, report->diagnostics);
  return test::cpu_seconds() - begin;
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(CheckLoad, TenMegabytesOfValidText) {
  const std::size_t size = test::kSanitized ? 1000000 : 10000000;
  std::string text;
  for (std::uint64_t seed = 3000000; text.size() < size; ++seed) {
    test::Dice dice(seed);
    text += test::random_file(dice, nullptr).text + "// -----\n";
  }
  const Result<CheckReport> report = check_mlir(text);
  ASSERT_TRUE(report);
  for (const Diagnostic& diagnostic : report->diagnostics) {
    ASSERT_EQ(diagnostic.severity, Severity::kWarning) << diagnostic.message;
  }
  const double seconds = seconds_to_check(text);
  EXPECT_LT(seconds, 2) << text.size();
  std::cout << text.size() << " bytes in " << seconds << " s\n";
}

TEST(CheckLoad, HostileTextsTakeNoLonger) {
  const std::string wrong =
      "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<9x9xf32, "
      "#ttnn.buffer_type<dram>>, <interleaved>>";
  const int n = test::kSanitized ? 2000 : 20000;
  std::string chain;
  std::string doubling = "#a0 = #ttnn.core_range<(0, 0), (0, 0)>\n";
  std::string pairs = "#b0 = " + wrong + "\n";
  std::string renamed;
  for (int i = 0; i < n; ++i) {
    chain += cat("#c", i, " = #c", (i + 1) % n, "\n");
    renamed += cat("#l = ", i % 2 == 0 ? wrong : "#m", "\ntensor<2x2xf32, #l>\n");
  }
  for (int i = 1; i < 60; ++i) {
    doubling += cat("#a", i, " = [#a", i - 1, ", #a", i - 1, "]\n");
    pairs += cat("!t", i, " = tuple<!t", i - 1, ", !t", i - 1, ", tensor<2x2xf32, #b0>>\n");
  }
  doubling += cat("tensor<2x2xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2xf32, ",
                  "#ttnn.buffer_type<l1>>, <block_sharded>, core_ranges = <[#a59]>>>");
  const std::string metal = "tensor<2x2xf32, #tt.metal_layout<";
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"a ring of aliases", chain + "tensor<2x2xf32, #c0>"},
      {"doubling aliases", doubling},
      {"doubling types", pairs + "!t59"},
      {"tensors that never close", repeated("tensor<2x2xf32, ", 5 * n)},
      {"tensors of tensors", repeated("tensor<1x", 5 * n) + "f32" + repeated(", #x>", 5 * n)},
      {"one wrong alias, many uses",
       "#w = " + wrong + "\n" + repeated("tensor<2x2xf32, #w>\n", 5 * n)},
      {"many wrong layouts", repeated("tensor<2x2xf32, " + wrong + ">\n", n)},
      {"wrong in as many ways as there are shapes",
       [&] {
         std::string text = "#w = " + wrong + "\n";
         for (int i = 0; i < n; ++i) text += cat("tensor<", i, "x7xf32, #w>\n");
         return text;
       }()},
      {"sections", repeated("// -----\n", 10 * n)},
      {"redefinitions", renamed},
      {"codes", cat("// tessera: allow(", repeated("waste, ", 10 * n), ")\n")},
      {"remarks", repeated("// tessera: allow(waste)\n", 5 * n)},
      {"slashes", repeated("/", 50 * n) + repeated(" ", 50 * n)},
      {"names before slashes", repeated("#a // x\n", 10 * n)},
      {"quotes", repeated("\"\\", 20 * n)},
      {"dims", metal + "(d0" + repeated(", d1", 5 * n) + ") -> (d0)"},
      {"terms", metal + "(d0, d1) -> (d0" + repeated(" + d1", 5 * n) + ", d1), undef, <1x1>"},
      {"parentheses", metal + "(d0, d1) -> (" + repeated("(", 5 * n)},
      {"closers", repeated(">)]}", 5 * n)},
      {"mixed brackets", repeated("<([{", 5 * n) + repeated(">)", 5 * n)},
      {"extents", "tensor<" + repeated("9x", 5 * n) + "f32, " + wrong + ">"},
      {"cores", metal + repeated("#ttnn.core_range<(0,0), (7,7)>, ", n)},
      {"blanks", "tensor" + repeated(" \n", 20 * n) + "<" + repeated(" \n", 20 * n)},
  };
  for (const auto& [name, text] : texts) {
    const double seconds = seconds_to_check(text);
    EXPECT_LT(seconds, 2) << name;
    if (seconds > 0.3) std::cout << name << ": " << text.size() << " bytes, " << seconds << " s\n";
  }
}

}  // namespace
}  // namespace tessera::check
