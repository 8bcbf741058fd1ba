// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/conversion_page.h"

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"

namespace tessera::test {
namespace {

constexpr const char* kPage = "docs/conversions.md";

std::string share_text(double share) {
  if (share == 0) return "-";
  const int percent = static_cast<int>(share * 100 + 1e-9);
  return percent == 0 ? "<1" : std::to_string(percent);
}

std::string axes_text(const Scope& scope) {
  if (scope.most_axes == 0) return "one place";
  const std::string most = scope.most_axes > 8 ? "any rank" : cat("rank ", scope.most_axes);
  if (scope.most_axes <= 8 && scope.least_axes < scope.most_axes && scope.least_axes > 0) {
    return cat("rank ", scope.least_axes, " to ", scope.most_axes);
  }
  return most;
}

std::string yes(bool can) { return can ? "yes" : "-"; }

/// The page with `body` between the markers of this name; nothing when it lacks them.
std::optional<std::string> with_body(const std::string& page, std::string_view name,
                                     const std::string& body) {
  const std::string from = cat("<!-- ", name, " -->\n");
  const std::string to = cat("<!-- end of ", name, " -->");
  const std::size_t begin = page.find(from);
  const std::size_t end = page.find(to);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  return cat(page.substr(0, begin + from.size()), body, page.substr(end));
}

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
    const Scope& scope = notation.scope;
    text += cat("| ", notation.name, " | ", axes_text(scope), " | ", yes(scope.pads), " | ",
                yes(scope.replicates), " | ", yes(scope.partial), " | ", yes(scope.tiles), " | ",
                yes(scope.shares), " | ", yes(scope.pieces), " |\n");
  }
  return text;
}

std::string page_mistake(const ConversionTable& table) {
  std::ifstream in(kPage);
  std::stringstream read;
  read << in.rdbuf();
  const std::string page = read.str();
  if (page.empty()) return cat(kPage, " is not there: run in the root of the sources");
  std::optional<std::string> right = with_body(page, "scopes", scopes_text());
  if (right) right = with_body(*right, "shares", table_text(table));
  if (!right) return cat(kPage, " has lost its markers");
  if (*right == page) return {};
  const char* update = std::getenv("TESSERA_UPDATE_DOCS");
  if (update == nullptr || std::string_view(update) != "1") {
    return cat("the tables of ", kPage, " are out of date: run this with TESSERA_UPDATE_DOCS=1");
  }
  std::ofstream(kPage) << *right;
  return {};
}

}  // namespace tessera::test
