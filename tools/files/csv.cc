// SPDX-License-Identifier: Apache-2.0
#include "tools/files/csv.h"

#include <algorithm>
#include <charconv>

#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

Error bad_row(std::size_t from, std::size_t to, std::string message, std::string help) {
  const Span span{static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)};
  return Error{ErrorCode::kSyntax, std::move(message), span, std::move(help)};
}

/// Reads cells one after the other.
class RowReader {
 public:
  RowReader(std::string_view text, std::size_t from) : text_(text), at_(from) {}

  Status read_cell(Cell& cell, std::int64_t& lines) {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    return at_ < text_.size() && text_[at_] == '"' ? read_quoted(cell, lines) : read_plain(cell);
  }

  bool take_comma() {
    if (at_ >= text_.size() || text_[at_] != ',') return false;
    ++at_;
    return true;
  }

  std::size_t at() const { return at_; }
  /// The start of the next line.
  std::size_t after_line() const {
    if (at_ >= text_.size()) return text_.size();
    return at_ + (text_[at_] == '\r' ? 2 : 1);
  }

 private:
  bool at_line_end(std::size_t at) const {
    return at >= text_.size() || text_[at] == '\n' ||
           (text_[at] == '\r' && at + 1 < text_.size() && text_[at + 1] == '\n') ||
           (text_[at] == '\r' && at + 1 == text_.size());
  }

  Status read_plain(Cell& cell) {
    const std::size_t from = at_;
    while (!at_line_end(at_) && text_[at_] != ',') {
      if (text_[at_] == '"') {
        return bad_row(at_, at_ + 1, "a quote inside a cell that does not begin with a quote",
                       "put the whole cell in quotes, and double those inside it");
      }
      ++at_;
    }
    std::size_t to = at_;
    while (to > from && is_blank(text_[to - 1])) --to;
    cell.span = {static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)};
    cell.value = text_.substr(from, to - from);
    cell.quoted = false;
    return ok_status();
  }

  Status read_quoted(Cell& cell, std::int64_t& lines) {
    const std::size_t from = at_++;
    cell.value.clear();
    cell.quoted = true;
    for (;; ++at_) {
      if (at_ >= text_.size()) {
        return bad_row(from, from + 1, "this quote is not closed",
                       "close the cell with a quote; a quote inside it is doubled");
      }
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
        ++at_;
      }
      lines += text_[at_] == '\n' ? 1 : 0;
      cell.value += text_[at_];
    }
    ++at_;
    cell.span = {static_cast<std::int64_t>(from), static_cast<std::int64_t>(at_)};
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (!at_line_end(at_) && text_[at_] != ',') {
      return bad_row(
          at_, at_ + 1, "text after the closing quote of a cell",
          "a comma or the end of the line must follow; a quote inside a cell is doubled");
    }
    return ok_status();
  }

  std::string_view text_;
  std::size_t at_;
};

}  // namespace

Status read_row(std::string_view text, std::int64_t from, std::size_t most, CellRow& row) {
  RowReader reader(text, static_cast<std::size_t>(from));
  row.from = from;
  row.lines = 1;
  std::size_t count = 0;
  do {
    if (count == most) {
      return bad_row(reader.at(), reader.at(), cat("there are more than ", most, " cells"),
                     "a row has one cell per column; put a cell that contains commas in quotes");
    }
    if (count == row.cells.size()) row.cells.emplace_back();
    TESSERA_CHECK_OK(reader.read_cell(row.cells[count], row.lines));
    ++count;
  } while (reader.take_comma());
  row.cells.resize(count);
  row.to = static_cast<std::int64_t>(reader.at());
  row.next = static_cast<std::int64_t>(std::min(reader.after_line(), text.size()));
  return ok_status();
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4) return false;
    const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (at + bytes > text.size()) return false;
    std::uint32_t point = bytes == 1 ? lead : lead & (0x7FU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
      const auto byte = static_cast<unsigned char>(text[at + i]);
      if ((byte & 0xC0U) != 0x80U) return false;
      point = point << 6U | (byte & 0x3FU);
    }
    const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
    const bool surrogate = point >= 0xD800 && point < 0xE000;
    if (overlong || surrogate || point > 0x10FFFF) return false;
    at += bytes;
  }
  return true;
}

Result<std::int64_t> whole_number(std::string_view column, const Cell& cell) {
  const std::string_view digits = cell.value;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = end == digits.data() + digits.size();
  if (error == std::errc() && is_number) return number;
  if (digits.empty()) {
    return Error{ErrorCode::kBadNumber, cat(column, " is empty"), cell.span,
                 "write a whole number"};
  }
  if (error == std::errc::result_out_of_range && is_number) {
    return Error{ErrorCode::kBadNumber,
                 cat(column, " ", quote(digits), " does not fit a signed 64-bit integer"),
                 cell.span, "use a smaller number"};
  }
  return Error{ErrorCode::kBadNumber, cat(column, " ", quote(digits), " is not a whole number"),
               cell.span, "write decimal digits, without a fraction, unit or separator"};
}

}  // namespace tessera::tools
