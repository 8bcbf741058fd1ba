// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/conversion_page.h"

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/pages/generated_page.h"

namespace tessera::test {
namespace {

constexpr const char* kPage = "docs/conversions.md";

std::string share_text(double share) {
  if (share == 0) return "-";
  const int percent = static_cast<int>(share * 100 + 1e-9);
  return percent == 0 ? "<1" : std::to_string(percent);
}

std::string axes_text(const notation::Scope& scope) {
  if (scope.most_axes == 0) return "one place";
  const std::string most = scope.most_axes > 8 ? "any rank" : cat("rank ", scope.most_axes);
  if (scope.most_axes <= 8 && scope.least_axes < scope.most_axes && scope.least_axes > 0) {
    return cat("rank ", scope.least_axes, " to ", scope.most_axes);
  }
  return most;
}

std::string yes(bool can) { return can ? "yes" : "-"; }

}  // namespace

std::string table_text(const ConversionTable& table) {
  std::string text = "| from \\ to |";
  std::string rule = "|---|";
  for (const Notation& to : notations()) {
    text += cat(" ", to.name, " |");
    rule += "---|";
  }
  text += cat("\n", rule, "\n");
  for (const Notation& from : notations()) {
    text += cat("| ", from.name, " |");
    for (const Notation& to : notations()) {
      const auto share = table.shares.find({std::string(from.name), std::string(to.name)});
      text += cat(" ", share_text(share == table.shares.end() ? 0 : share->second), " |");
    }
    text += "\n";
  }
  return text;
}

std::string scopes_text() {
  std::string text =
      "| notation | mesh | padding | copies | partial results | tiles as atoms | shared slots | "
      "boxes |\n|---|---|---|---|---|---|---|---|\n";
  for (const Notation& notation : notations()) {
    const notation::Scope& scope = notation.scope;
    text += cat("| ", notation.name, " | ", axes_text(scope), " | ", yes(scope.pads), " | ",
                yes(scope.replicates), " | ", yes(scope.partial), " | ", yes(scope.tiles), " | ",
                yes(scope.shares), " | ", yes(scope.pieces), " |\n");
  }
  return text;
}

std::string page_mistake(const ConversionTable& table) {
  return page_mistake(kPage, {{"scopes", scopes_text()}, {"shares", table_text(table)}});
}

}  // namespace tessera::test
