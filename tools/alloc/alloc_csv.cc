// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_csv.h"

#include <algorithm>
#include <array>
#include <optional>

#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::array<std::string_view, 11> kNames = {
    "id", "lower", "upper", "size", "alignment", "offset", "hint", "alias", "delta", "end", "gaps"};
constexpr std::size_t kNeeded = 4;

std::optional<BufferColumn> known_column(std::string_view name) {
  if (name == "start" || name == "begin") return BufferColumn::kLower;
  if (name == "buffer" || name == "buffer_id") return BufferColumn::kId;
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<BufferColumn>(found - kNames.begin());
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string all_names() {
  std::string all;
  for (const std::string_view name : kNames) all += cat(all.empty() ? "" : ", ", name);
  return all;
}

Result<BufferColumn> column_of(const Cell& cell) {
  const std::string name = lower_case(cell.value);
  if (const std::optional<BufferColumn> column = known_column(name)) return *column;
  if (name == "stop") {
    return Error{ErrorCode::kUnknownName,
                 cat("column ", quote(cell.value),
                     " is ambiguous: it may include or exclude the moment it names"),
                 cell.span,
                 "name it upper if it is the first moment after the lifetime, and end if it is the "
                 "last moment"};
  }
  if (name.find_first_of(";\t|") != std::string::npos) {
    return Error{ErrorCode::kSyntax, "the columns are not separated by commas", cell.span,
                 cat("as in: ", kNeededColumns)};
  }
  return Error{ErrorCode::kUnknownName, cat("there is no column ", quote(cell.value)), cell.span,
               did_you_mean(name, kNames, cat("the columns are ", all_names()))};
}

}  // namespace

std::string_view column_name(BufferColumn column) {
  return kNames[static_cast<std::size_t>(column)];
}

Result<std::vector<BufferColumn>> read_columns(const CellRow& row) {
  const Span whole{row.from, row.to};
  const bool numbers = std::any_of(row.cells.begin(), row.cells.end(),
                                   [](const Cell& cell) { return whole_number("", cell).ok(); });
  if (numbers) {
    return Error{ErrorCode::kSyntax, "the first row contains numbers, not column names", whole,
                 cat("put a line above it: ", kNeededColumns)};
  }
  std::vector<BufferColumn> columns;
  const auto has = [&](BufferColumn column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  for (const Cell& cell : row.cells) {
    TESSERA_TRY(const BufferColumn column, column_of(cell));
    const bool both_ends = (column == BufferColumn::kUpper && has(BufferColumn::kEnd)) ||
                           (column == BufferColumn::kEnd && has(BufferColumn::kUpper));
    if (has(column) || both_ends) {
      return Error{ErrorCode::kContradiction,
                   cat("two columns specify the ", column_name(column), " of a buffer"), cell.span,
                   "omit one of them"};
    }
    columns.push_back(column);
  }
  for (std::size_t i = 0; i < kNeeded; ++i) {
    const auto needed = static_cast<BufferColumn>(i);
    if (has(needed) || (needed == BufferColumn::kUpper && has(BufferColumn::kEnd))) continue;
    return Error{ErrorCode::kSyntax, cat("there is no column ", kNames[i]), whole,
                 cat("the columns ", kNeededColumns, " are required, in any order")};
  }
  if (has(BufferColumn::kDelta) && !has(BufferColumn::kAlias)) {
    return Error{ErrorCode::kSyntax, "there is a column delta but no column alias", whole,
                 "delta counts bytes from the start of the alias"};
  }
  return columns;
}

}  // namespace tessera::tools
