// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <ranges>
#include <set>

#include "tessera/base/text.h"
#include "tessera/check/check.h"
#include "tessera/testing/check/mlir_files.h"
#include "tessera/testing/process.h"

namespace tessera::check {
namespace {

using test::Dice;
using test::MlirFile;

std::vector<Diagnostic> errors_of(const std::string& text) {
  std::vector<Diagnostic> out;
  const Result<CheckReport> report = check_mlir(text);
  if (!report) return {{Severity::kError, "refused", {}, report.error().message, {}, {}, {}}};
  for (const Diagnostic& diagnostic : report->diagnostics) {
    if (diagnostic.severity == Severity::kError) out.push_back(diagnostic);
  }
  return out;
}

std::string said(const Diagnostic& diagnostic, const std::string& text) {
  const auto from = static_cast<std::size_t>(diagnostic.span.from);
  const auto size = static_cast<std::size_t>(diagnostic.span.to - diagnostic.span.from);
  return cat(diagnostic.code, ": ", diagnostic.message, " at `", text.substr(from, size), "`",
             diagnostic.fix ? cat(" fix `", diagnostic.fix->text, "`") : "");
}

bool within(const Span& inner, const Span& outer) {
  return outer.from <= inner.from && inner.to <= outer.to;
}

std::string without_space(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') out += c;
  }
  return out;
}

std::int64_t cases(std::int64_t all) { return test::kSanitized ? all / 10 : all; }

/// Whether the diagnostics are in file order, each once, and inside the file.
bool in_order(const std::vector<Diagnostic>& diagnostics, const std::string& text) {
  for (std::size_t i = 0; i < diagnostics.size(); ++i) {
    const Diagnostic& here = diagnostics[i];
    const Span whole{0, static_cast<std::int64_t>(text.size())};
    if (here.span.from > here.span.to || !within(here.span, whole)) return false;
    if (here.tensor && !within(*here.tensor, whole)) return false;
    if (here.fix && !within(here.fix->span, whole)) return false;
    if (here.message.empty() || here.code.empty()) return false;
    if (i == 0) continue;
    const Diagnostic& before = diagnostics[i - 1];
    if (before.span.from > here.span.from) return false;
    if (before.span == here.span && before.message == here.message) return false;
  }
  return true;
}

TEST(Planted, ValidFilesHaveNoErrors) {
  test::Failures failures;
  std::int64_t tensors = 0;
  const std::int64_t files = cases(2000);
  for (std::int64_t seed = 0; seed < files; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const MlirFile file = test::random_file(dice, nullptr);
    const Result<CheckReport> report = check_mlir(file.text);
    ASSERT_TRUE(report) << file.text;
    for (const Diagnostic& error : errors_of(file.text)) {
      failures.add(cat(said(error, file.text), "\n", file.text));
    }
    if (report->tensors < file.tensors) {
      failures.add(cat(report->tensors, " tensors of ", file.tensors, "\n", file.text));
    }
    EXPECT_TRUE(in_order(report->diagnostics, file.text)) << file.text;
    tensors += file.tensors;
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
  std::cout << files << " files with " << tensors << " tensors\n";
}

/// Why the checker's result for a file with a planted error is wrong; empty if it is right.
std::string planted_mistake(const MlirFile& file, const std::string& right,
                            std::map<std::string, int>& fixed) {
  if (file.changed.size() != 1) return "the generator planted nothing";
  const std::vector<Diagnostic> errors = errors_of(file.text);
  if (errors.empty()) return "found nothing";
  if (!in_order(errors, file.text)) return "not in the order of the file";
  bool has_fix = false;
  for (const Diagnostic& error : errors) {
    if (std::none_of(file.home.begin(), file.home.end(),
                     [&](const Span& home) { return within(error.span, home); })) {
      return cat("elsewhere: ", said(error, file.text));
    }
    has_fix = has_fix || error.fix.has_value();
  }
  const Span changed = file.changed.front();
  if (!right.empty()) {
    // Exactly one number is wrong: the diagnostic must point at it, and the fix must correct it.
    if (errors.size() != 1) return cat(errors.size(), " errors: ", said(errors[1], file.text));
    if (!within(changed, errors.front().span)) {
      return cat("not at the change: ", said(errors.front(), file.text));
    }
    if (!has_fix) return cat("no fix: ", said(errors.front(), file.text));
  }
  if (!has_fix) return {};
  std::string text = file.text;
  std::vector<Diagnostic> left = errors;
  for (int round = 0; round < 8 && has_fix; ++round) {
    text = fixed_text(text, left);
    left = errors_of(text);
    has_fix = std::any_of(left.begin(), left.end(),
                          [](const Diagnostic& error) { return error.fix.has_value(); });
  }
  if (has_fix) return cat("fixes do not end: ", said(left.front(), text));
  for (const Diagnostic& error : left) {
    // The remaining errors are those without a fix, not new ones from the fixes.
    if (std::none_of(errors.begin(), errors.end(), [&](const Diagnostic& before) {
          return !before.fix && before.message == error.message;
        })) {
      return cat("fixed into another error: ", said(errors.front(), file.text), " then ",
                 said(error, text));
    }
  }
  if (!left.empty()) return {};
  ++fixed["fixed"];
  if (right.empty()) return {};
  std::string expected = file.text;
  expected.replace(static_cast<std::size_t>(changed.from),
                   static_cast<std::size_t>(changed.to - changed.from), right);
  if (without_space(text) != without_space(expected)) {
    return cat("mended otherwise: ", said(errors.front(), file.text));
  }
  return {};
}

TEST(Planted, EveryContradictionIsFoundWhereItIs) {
  const std::int64_t files = cases(160);
  std::int64_t all = 0;
  for (const std::string& kind : test::planted_kinds()) {
    test::Failures failures;
    std::map<std::string, int> fixed;
    for (std::int64_t seed = 0; seed < files; ++seed) {
      Dice dice(static_cast<std::uint64_t>(seed) + 1000000);
      const test::Planted planted = test::random_planted(dice, kind);
      const MlirFile file = test::random_file(dice, &planted.tensor);
      const std::string mistake = planted_mistake(file, planted.right, fixed);
      if (!mistake.empty()) failures.add(cat(mistake, "\n", file.text));
    }
    EXPECT_EQ(failures.count(), 0) << kind << "\n" << failures.report();
    std::cout << kind << ": " << files << " planted, " << fixed["fixed"] << " mended\n";
    all += files;
  }
  std::cout << all << " files\n";
}

/// The text with a comment at the end of the line that contains `byte`.
std::string with_comment(std::string text, std::size_t byte, const std::string& comment) {
  std::size_t end = std::min(text.find('\n', byte), text.size());
  if (end > 0 && text[end - 1] == '\r') --end;
  return text.insert(end, " " + comment);
}

/// The first byte of a line that does not concern the planted tensor and has no comment; empty if
/// there is none.
std::optional<std::size_t> other_line(const MlirFile& file) {
  for (std::size_t from = 0; from < file.text.size();) {
    const std::size_t end = std::min(file.text.find('\n', from), file.text.size());
    const Span line{static_cast<std::int64_t>(from), static_cast<std::int64_t>(end)};
    const bool apart = std::all_of(file.home.begin(), file.home.end(), [&](const Span& home) {
      return home.to < line.from || line.to < home.from;
    });
    const std::string_view said = std::string_view(file.text).substr(from, end - from);
    if (apart && said.find("//") == std::string_view::npos && said.size() > 2) return from;
    from = end + 1;
  }
  return std::nullopt;
}

TEST(Planted, CommentsSilenceTheirLineAndNoOther) {
  test::Failures failures;
  std::int64_t silenced = 0;
  std::int64_t elsewhere = 0;
  const std::int64_t files = cases(1000);
  const std::vector<std::string>& kinds = test::planted_kinds();
  for (std::int64_t seed = 0; seed < files; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 2000000);
    const test::Planted planted =
        test::random_planted(dice, kinds[static_cast<std::size_t>(seed) % kinds.size()]);
    const MlirFile file = test::random_file(dice, &planted.tensor);
    const std::vector<Diagnostic> errors = errors_of(file.text);
    std::set<std::string> codes;
    std::map<std::int64_t, std::size_t> lines;
    const LineIndex index(file.text);
    for (const Diagnostic& error : errors) {
      codes.insert(error.code);
      lines[index.at(error.span.from).line] = static_cast<std::size_t>(error.span.from);
    }
    const std::string comment =
        cat("// tessera: allow(", join(std::vector<std::string>(codes.begin(), codes.end()), ", "),
            ")");
    // The last line first, so that the positions of the others stay valid.
    std::string quiet = file.text;
    for (const auto& [number, at] : std::ranges::reverse_view(lines)) {
      quiet = with_comment(quiet, at, comment);
    }
    const Result<CheckReport> report = check_mlir(quiet);
    ASSERT_TRUE(report);
    for (const Diagnostic& error : errors_of(quiet)) failures.add(said(error, quiet) + quiet);
    if (report->silenced < 1) failures.add("nothing was silenced\n" + quiet);
    ++silenced;
    if (const std::optional<std::size_t> line = other_line(file)) {
      const std::string loud = with_comment(file.text, *line, "// tessera: allow");
      if (errors_of(loud).size() != errors.size()) failures.add("silenced from afar\n" + loud);
      ++elsewhere;
    }
    const std::string below = file.text + "\n\n// tessera: allow\n";
    if (errors_of(below).size() != errors.size()) failures.add("silenced from below\n" + below);
  }
  EXPECT_EQ(failures.count(), 0) << failures.report();
  EXPECT_GT(elsewhere, files / 2);
  std::cout << silenced << " files silenced, " << elsewhere << " with a comment elsewhere\n";
}

TEST(Planted, AnAliasThatOneTensorAgreesWithIsNotMended) {
  const auto ttnn = [](std::int64_t rows, std::int64_t cols) {
    return cat("tensor<", rows, "x", cols, "xf32, #l>");
  };
  Dice dice(3);
  for (int i = 0; i < 300; ++i) {
    const std::int64_t rows = dice.between(1, 500);
    const std::int64_t cols = dice.between(1, 500);
    const std::int64_t other = dice.between(1, 500);
    const std::string right = cat(test::ceil_divide(rows, 32), "x", test::ceil_divide(cols, 32));
    const std::string text =
        cat("#l = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<", right,
            "x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<dram>>, <interleaved>>\n",
            "func.func @f(%a: ", ttnn(rows, cols), ", %b: ", ttnn(other, cols), ")\n");
    const std::vector<Diagnostic> errors = errors_of(text);
    const bool agrees = test::ceil_divide(rows, 32) == test::ceil_divide(other, 32);
    EXPECT_EQ(errors.size(), agrees ? 0U : 1U) << text;
    EXPECT_EQ(fixed_text(text, errors), text);
    for (const Diagnostic& error : errors) {
      ASSERT_TRUE(error.tensor.has_value());
      const auto from = static_cast<std::size_t>(error.tensor->from);
      const auto size = static_cast<std::size_t>(error.tensor->to - error.tensor->from);
      EXPECT_EQ(text.substr(from, size), ttnn(other, cols));
    }
  }
}

TEST(Planted, HurtFilesAreReadAllTheSame) {
  const std::int64_t files = cases(1500);
  for (std::int64_t seed = 0; seed < files; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 4000000);
    std::string text = test::random_file(dice, nullptr).text;
    for (std::int64_t i = dice.between(1, 4); i > 0; --i) text = test::mutated(dice, text);
    const Result<CheckReport> report = check_mlir(text);
    ASSERT_TRUE(report) << text;
    EXPECT_TRUE(in_order(report->diagnostics, text)) << text;
    EXPECT_TRUE(check_mlir(fixed_text(text, report->diagnostics))) << text;
  }
}

}  // namespace
}  // namespace tessera::check
