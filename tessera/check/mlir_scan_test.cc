// SPDX-License-Identifier: Apache-2.0
#include "tessera/check/mlir_scan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/check/alias_table.h"
#include "tessera/check/expansion.h"

namespace tessera::check {
namespace {

std::vector<std::string> tensors(std::string_view text) {
  std::vector<std::string> found;
  for (const MlirTensor& tensor : scan_mlir(text).tensors) {
    found.emplace_back(text.substr(static_cast<std::size_t>(tensor.span.from),
                                   static_cast<std::size_t>(tensor.span.to - tensor.span.from)));
    EXPECT_EQ(text[tensor.comma], ',');
  }
  return found;
}

using Texts = std::vector<std::string>;

TEST(MlirScanTest, FindsTensorsWithAnEncoding) {
  EXPECT_EQ(tensors("f(tensor<4xf32, #a>, tensor<4xf32>) -> tensor<4x!t<2, 3>, #b>"),
            (Texts{"tensor<4xf32, #a>", "tensor<4x!t<2, 3>, #b>"}));
  EXPECT_EQ(tensors("tensor<4xf32, #x<(d0) -> (d0), dense<1> : tensor<1xi64>>>"),
            (Texts{"tensor<4xf32, #x<(d0) -> (d0), dense<1> : tensor<1xi64>>>"}));
  EXPECT_EQ(tensors("tensor<4xf32, #x<(d0 <= 4, d0 >= 1)>>"),
            (Texts{"tensor<4xf32, #x<(d0 <= 4, d0 >= 1)>>"}));
  EXPECT_EQ(tensors("tensor<4xf32, #x<\"> )\">>"), (Texts{"tensor<4xf32, #x<\"> )\">>"}));
  EXPECT_EQ(tensors("tensor <4xf32, // > \n #x>"), (Texts{"tensor <4xf32, // > \n #x>"}));
}

TEST(MlirScanTest, PassesEverythingElse) {
  EXPECT_EQ(tensors("// tensor<4xf32, #a>\n\"tensor<4xf32, #a>\""), Texts{});
  EXPECT_EQ(tensors("x.tensor<4xf32, #a> my_tensor<4xf32, #a> @tensor<4, 4>"), Texts{});
  EXPECT_EQ(tensors("tensor<?x4xf32, #a> tensor<*xf32, #a> tensor<4x?xf32, #a>"), Texts{});
  EXPECT_EQ(tensors("tensor<tensor<4xf32, #a>, #b>"), (Texts{"tensor<4xf32, #a>"}));
}

TEST(MlirScanTest, FindsAliasesAndSections) {
  const std::string_view text = "#a = 1\n!b = f32\n// -----\n#a = 2\n#a = 3\nop {x = #a, y == #c}";
  const MlirScan scan = scan_mlir(text);
  ASSERT_EQ(scan.aliases.size(), 4U);
  EXPECT_EQ(scan.aliases[1].name, "!b");
  EXPECT_EQ(scan.aliases[0].section, scan.aliases[1].section);
  EXPECT_LT(scan.aliases[1].section, scan.aliases[2].section);
  EXPECT_LT(scan.aliases[2].section, scan.aliases[3].section);
}

TEST(MlirScanTest, FindsRemarks) {
  const MlirScan scan =
      scan_mlir("  // tessera: allow(waste) \r\nop //tessera:allow\n// tessera\n");
  ASSERT_EQ(scan.remarks.size(), 2U);
  EXPECT_EQ(scan.remarks[0].text, "allow(waste)");
  EXPECT_TRUE(scan.remarks[0].own_line);
  EXPECT_EQ(scan.remarks[1].text, "allow");
  EXPECT_FALSE(scan.remarks[1].own_line);
}

TEST(MlirScanTest, FindsRemarksBehindOtherWords) {
  const MlirScan scan = scan_mlir("x // CHECK: y // tessera: allow(waste)\n/// tessera: no\n");
  ASSERT_EQ(scan.remarks.size(), 1U);
  EXPECT_EQ(scan.remarks[0].text, "allow(waste)");
  EXPECT_FALSE(scan.remarks[0].own_line);
}

TEST(MlirScanTest, FindsAliasesWhoseSignIsOnAnotherLine) {
  const MlirScan scan = scan_mlir("#a\n  // tessera: allow\n = #x<1>\n#b\r\n= #a\n");
  ASSERT_EQ(scan.aliases.size(), 2U);
  EXPECT_EQ(scan.aliases[0].name, "#a");
  EXPECT_EQ(scan.aliases[1].name, "#b");
  EXPECT_EQ(scan.remarks.size(), 1U);
}

TEST(MlirScanTest, TakesALongerRowOfDashesForAnOrnament) {
  const MlirScan scan = scan_mlir("#a = 1\n// --------\n#b = 2\n// -----\n#c = 3\n");
  ASSERT_EQ(scan.aliases.size(), 3U);
  EXPECT_EQ(scan.aliases[0].section, scan.aliases[1].section);
  EXPECT_LT(scan.aliases[1].section, scan.aliases[2].section);
}

TEST(AliasTableTest, KnowsWhereAValueEnds) {
  const std::string_view text =
      "#a = dense<[[0, -1]]> : tensor<1x2xi64>\n"
      "#b = #x.y<(d0) -> (d0)> // a comment\n"
      "!c = (tensor<4xf32>) -> tensor<4xf32>\n"
      "#d = \"a string > \"\n"
      "#e = #a module {}\n"
      "#f =\n";
  const MlirScan scan = scan_mlir(text);
  const AliasTable table(text, scan.aliases);
  const auto value = [&](std::size_t alias) {
    const Span span = table.value(alias);
    return text.substr(static_cast<std::size_t>(span.from),
                       static_cast<std::size_t>(span.to - span.from));
  };
  EXPECT_EQ(value(0), "dense<[[0, -1]]> : tensor<1x2xi64>");
  EXPECT_EQ(value(1), "#x.y<(d0) -> (d0)>");
  EXPECT_EQ(value(2), "(tensor<4xf32>) -> tensor<4xf32>");
  EXPECT_EQ(value(3), "\"a string > \"");
  EXPECT_EQ(value(4), "#a");
  EXPECT_EQ(value(5), "");
  EXPECT_EQ(table.find("#a", 0), 0U);
  EXPECT_EQ(table.find("#a", 7), 0U) << "the only definition";
  EXPECT_EQ(table.find("#z", 0), std::nullopt);
}

TEST(ExpansionTest, KnowsTheWayBack) {
  const std::string_view text =
      "#d = #s<dram>\n#l = #x<memref<2x, // why\n #d>>\n!t = tensor<4xf32, #l>\n";
  const MlirScan scan = scan_mlir(text);
  const AliasTable table(text, scan.aliases);
  ASSERT_EQ(scan.tensors.size(), 1U);
  const Result<Expansion> expansion = Expansion::of(text, scan.tensors[0].span, 0, table);
  ASSERT_TRUE(expansion.ok());
  const std::string& expanded = expansion->text();
  EXPECT_EQ(expanded, "tensor<4xf32, #x<memref<2x, \n #s<dram>>>>");
  const auto source = [&](std::string_view part) {
    const auto from = static_cast<std::int64_t>(expanded.find(part));
    return expansion->source({from, from + static_cast<std::int64_t>(part.size())});
  };
  const auto text_of = [&](const Expansion::Source& s) {
    return text.substr(static_cast<std::size_t>(s.span.from),
                       static_cast<std::size_t>(s.span.to - s.span.from));
  };
  EXPECT_EQ(text_of(source("4xf32")), "4xf32");
  EXPECT_EQ(source("4xf32").alias, std::nullopt);
  EXPECT_TRUE(source("4xf32").exact);
  EXPECT_EQ(text_of(source("dram")), "dram");
  EXPECT_EQ(source("dram").alias, 0U);
  EXPECT_EQ(text_of(source("#s<dram>>")), "#d>");
  EXPECT_EQ(source("#s<dram>>").alias, 1U);
  EXPECT_TRUE(source("#s<dram>>").exact);
  EXPECT_FALSE(source("dram>>").exact) << "half of an alias";
  EXPECT_FALSE(source("2x, \n").exact) << "a comment would be lost";
  EXPECT_EQ(text_of(source("#x<memref<2x, \n #s<dram>>>>")), "#l>");
  EXPECT_EQ(expansion->expanded(static_cast<std::int64_t>(scan.tensors[0].comma)), 12);
}

}  // namespace
}  // namespace tessera::check
