// SPDX-License-Identifier: Apache-2.0
#include "tools/check/check_fix.h"

#include <algorithm>

namespace tessera::tools {
namespace {

constexpr int kMostRounds = 16;

/// The diagnostics whose fixes can be applied together: of two that overlap, the first. Two with
/// the same edit are both fixed by it.
std::vector<check::Diagnostic> compatible(const std::vector<check::Diagnostic>& diagnostics) {
  std::vector<const check::Diagnostic*> fixable;
  for (const check::Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.fix) fixable.push_back(&diagnostic);
  }
  std::sort(fixable.begin(), fixable.end(),
            [](const check::Diagnostic* a, const check::Diagnostic* b) {
              const Span& left = a->fix->span;
              const Span& right = b->fix->span;
              return left.from != right.from ? left.from < right.from
                     : left.to != right.to   ? left.to < right.to
                                             : a < b;  // in the order of the file
            });
  std::vector<check::Diagnostic> chosen;
  for (const check::Diagnostic* diagnostic : fixable) {
    const check::Edit& edit = *diagnostic->fix;
    const bool fits =
        chosen.empty() || edit == *chosen.back().fix ||
        edit.span.from >= std::max(chosen.back().fix->span.to, chosen.back().fix->span.from + 1);
    if (fits) chosen.push_back(*diagnostic);
  }
  return chosen;
}

}  // namespace

Result<FixedText> fix_mlir(std::string_view text, const check::CheckReport& report,
                           const check::CheckOptions& options) {
  FixedText result{std::string(text), {}, report};
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<check::Diagnostic> chosen = compatible(result.report.diagnostics);
    if (chosen.empty()) break;
    const CheckedText before("", result.text);
    for (const check::Diagnostic& diagnostic : chosen) {
      result.fixes.push_back({diagnostic, before.region(diagnostic.span),
                              before.region(diagnostic.fix->span),
                              std::string(before.at(diagnostic.fix->span))});
    }
    result.text = check::fixed_text(before.text, chosen);
    TESSERA_TRY(result.report, check::check_mlir(result.text, options));
  }
  return result;
}

}  // namespace tessera::tools
