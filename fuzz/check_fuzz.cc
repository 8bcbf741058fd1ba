// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "fuzz/laws.h"
#include "tessera/check/check.h"

// Any text is checked without harm, diagnostics point into it, and fixes do what they promise.
namespace tessera {
namespace {

bool inside(Span span, std::string_view text) {
  return 0 <= span.from && span.from <= span.to &&
         span.to <= static_cast<std::int64_t>(text.size());
}

auto order(const check::Diagnostic& d) {
  return std::tie(d.span.from, d.span.to, d.code, d.message);
}

void check_report(const check::CheckReport& report, std::string_view text) {
  for (std::size_t i = 0; i < report.diagnostics.size(); ++i) {
    const check::Diagnostic& d = report.diagnostics[i];
    require(inside(d.span, text), "a span lies inside the text", text);
    require(!d.tensor || inside(*d.tensor, text), "a tensor lies inside the text", text);
    require(!d.fix || inside(d.fix->span, text), "a fix lies inside the text", text);
    require(!d.fix || !d.fix->text.empty(), "a fix has words", text);
    require(!d.message.empty() && !d.code.empty(), "a diagnostic has words", text);
    if (i > 0) {
      require(order(report.diagnostics[i - 1]) < order(d), "each once, in order", text);
    }
  }
  require(report.tensors >= 0 && report.unknown >= 0 && report.silenced >= 0, "counts", text);
}

/// No fix is lost to another: after a fix, checking again does not report its diagnostic again.
void check_fix(const check::Diagnostic& fixed, std::string_view text) {
  const std::string after = check::fixed_text(text, {fixed});
  const Result<check::CheckReport> report = check::check_mlir(after);
  require(report.ok(), "a fixed text is read", text);
  check_report(*report, after);
  for (const check::Diagnostic& d : report->diagnostics) {
    require(d.span.from != fixed.span.from || d.code != fixed.code || d.message != fixed.message,
            "a fixed diagnostic is gone", text);
  }
}

void check_text(std::string_view text) {
  const Result<check::CheckReport> report = check::check_mlir(text);
  require(report.ok(), "every short text is read", text);
  check_report(*report, text);
  std::size_t fixes = 0;
  for (const check::Diagnostic& d : report->diagnostics) {
    if (d.fix && ++fixes <= 4) check_fix(d, text);
  }
  const std::string fixed = check::fixed_text(text, report->diagnostics);
  require((fixes == 0) == (fixed == text), "fixes change the text", text);
  const check::LineIndex lines(text);
  for (const check::Diagnostic& d : report->diagnostics) {
    const check::LineColumn at = lines.at(d.span.from);
    require(at.line >= 1 && at.column >= 1, "lines and columns count from 1", text);
  }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::check_text(std::string_view(reinterpret_cast<const char*>(bytes), size));
  return 0;
}
