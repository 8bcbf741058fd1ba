// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_buffers.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "tessera/base/text.h"
#include "tools/alloc/alloc_csv.h"
#include "tools/alloc/alloc_gaps.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kMostCells = 64;
constexpr std::size_t kMostIdBytes = 4096;
constexpr std::size_t kMostGuessed = 4096;  // ids that a misspelt one is compared with
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

Error at_line(std::int64_t line, Error error) {
  error.message = cat("line ", line, ": ", error.message);
  return error;
}

class BufferReader {
 public:
  explicit BufferReader(std::string_view text) : text_(text) {}

  Result<BufferFile> read() {
    if (text_.size() > kMostBufferBytes) {
      return Error{ErrorCode::kTextTooLong,
                   cat("the file is longer than ", kMostBufferBytes, " bytes"), std::nullopt,
                   "use a file with fewer buffers"};
    }
    if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF")) {
      return Error{ErrorCode::kSyntax, "the file is UTF-16", Span{0, 2}, "save it as UTF-8"};
    }
    const std::size_t turn = text_.find('\r');
    if (turn < text_.size() - 1 && text_.find('\n') == std::string_view::npos) {
      const auto at = static_cast<std::int64_t>(turn);
      return Error{ErrorCode::kSyntax, "the lines end in a carriage return alone", Span{at, at + 1},
                   "save the file with lines that end in LF or CR LF"};
    }
    if (text_.starts_with(kByteOrderMark)) at_ = std::ssize(kByteOrderMark);
    TESSERA_TRY(const bool has_header, next_row(kMostCells));
    if (!has_header) {
      return Error{ErrorCode::kSyntax, "the file has no rows", Span{at_, at_},
                   cat("its first line names the columns: ", kNeededColumns)};
    }
    Result<std::vector<BufferColumn>> names = read_columns(row_);
    if (!names) return at_line(row_line_, names.error());
    file_.columns = *std::move(names);
    file_.header = {row_.from, row_.to, row_line_};
    const std::size_t columns = file_.columns.size();
    while (true) {
      TESSERA_TRY(const bool has_row, next_row(columns));
      if (!has_row) break;
      if (Status status = read_buffer(); !status) return at_line(row_line_, status.error());
    }
    TESSERA_CHECK_OK(resolve_aliases());
    TESSERA_CHECK_OK(check_together());
    return std::move(file_);
  }

 private:
  /// The next row that is not blank, or false at the end.
  Result<bool> next_row(std::size_t most_cells) {
    while (at_ < std::ssize(text_)) {
      row_line_ = line_;
      if (Status status = read_row(text_, at_, most_cells, row_); !status) {
        const Error& error = status.error();
        const auto before = text_.substr(static_cast<std::size_t>(at_),
                                         static_cast<std::size_t>(error.span->from - at_));
        return at_line(line_ + std::count(before.begin(), before.end(), '\n'), error);
      }
      at_ = row_.next;
      line_ += row_.lines;
      if (!row_.blank()) return true;
    }
    return false;
  }

  Status read_buffer() {
    const std::size_t columns = file_.columns.size();
    if (row_.cells.size() < columns) {
      return Error{ErrorCode::kSyntax,
                   cat("expected ", columns, " cells, found ", row_.cells.size()),
                   Span{row_.to, row_.to},
                   cat("the cell of column ", column_name(file_.columns[row_.cells.size()]),
                       " is missing; an empty one still needs its comma")};
    }
    if (file_.rows.size() == kMostBuffers) {
      return Error{ErrorCode::kTooLarge, cat("there are more than ", kMostBuffers, " buffers"),
                   Span{row_.from, row_.to}, "use a file with fewer buffers"};
    }
    memory::Buffer buffer;
    std::string alias;
    written_gaps_.clear();
    for (std::size_t c = 0; c < columns; ++c) {
      TESSERA_CHECK_OK(read_cell(file_.columns[c], row_.cells[c], buffer, alias));
    }
    TESSERA_CHECK_OK(check_alone(buffer, !alias.empty()));
    gaps_ += written_gaps_.size();
    TESSERA_CHECK_OK(add_gaps(std::move(written_gaps_), buffer));
    file_.rows.push_back({row_.from, row_.to, row_line_});
    file_.problem.buffers.push_back(std::move(buffer));
    aliases_.push_back(std::move(alias));
    return ok_status();
  }

  Status read_cell(BufferColumn column, const Cell& cell, memory::Buffer& buffer,
                   std::string& alias) {
    const std::string_view name = column_name(column);
    if (column == BufferColumn::kId) return read_id(cell);
    if (column == BufferColumn::kAlias) {
      alias = cell.value;
      return ok_status();
    }
    if (column == BufferColumn::kGaps) {
      TESSERA_TRY(written_gaps_, read_gaps(cell, file_.has(BufferColumn::kEnd), kMostGaps - gaps_));
      return ok_status();
    }
    const bool may_be_empty = column > BufferColumn::kSize && column != BufferColumn::kEnd;
    if (may_be_empty && cell.value.empty()) return ok_status();
    TESSERA_TRY(const std::int64_t number, whole_number(name, cell));
    if (column == BufferColumn::kLower) {
      buffer.lower = number;
    } else if (column == BufferColumn::kUpper) {
      buffer.upper = number;
    } else if (column == BufferColumn::kEnd) {
      if (number == INT64_MAX) {
        return Error{ErrorCode::kOverflow, cat("end ", number, " has no next moment"), cell.span,
                     "use a smaller number"};
      }
      buffer.upper = number + 1;
    } else if (column == BufferColumn::kAlignment) {
      buffer.alignment = number;
      if (number >= 1) return ok_status();
      return Error{ErrorCode::kBadAlignment, cat("alignment ", number, " is not positive"),
                   cell.span, "use 1 or more; an empty cell means 1"};
    } else {
      // Some programs write -1 for no hint.
      if (column == BufferColumn::kHint && number == -1) return ok_status();
      if (number < 0) {
        return Error{ErrorCode::kBadBuffer, cat(name, " ", number, " is negative"), cell.span,
                     cat("use 0 or more", may_be_empty ? ", or an empty cell" : "")};
      }
      if (column == BufferColumn::kSize) buffer.size = number;
      if (column == BufferColumn::kOffset) buffer.fixed = number;
      if (column == BufferColumn::kHint) buffer.hint = number;
      // The buffer that it is part of is known only after all have been read.
      if (column == BufferColumn::kDelta) buffer.alias = memory::Alias{0, number};
    }
    return ok_status();
  }

  Status read_id(const Cell& cell) {
    if (cell.value.empty()) {
      return Error{ErrorCode::kSyntax, "id is empty", cell.span, "every buffer needs an id"};
    }
    if (cell.value.size() > kMostIdBytes) {
      return Error{ErrorCode::kTextTooLong, cat("the id is longer than ", kMostIdBytes, " bytes"),
                   cell.span, "use a shorter id"};
    }
    if (!is_utf8(cell.value)) {
      return Error{ErrorCode::kSyntax, "the id is not UTF-8", cell.span, "save the file as UTF-8"};
    }
    const auto [found, is_new] = by_id_.emplace(cell.value, file_.ids.size());
    if (!is_new) {
      return Error{
          ErrorCode::kContradiction,
          cat("id ", quote(cell.value), " is also used in line ", file_.rows[found->second].line),
          cell.span, "give every buffer a unique id"};
    }
    file_.ids.push_back(cell.value);
    return ok_status();
  }

  /// The checks of one buffer that do not depend on the others.
  Status check_alone(memory::Buffer& buffer, bool is_alias) const {
    const auto span_of = [&](BufferColumn column) {
      const auto found = std::find(file_.columns.begin(), file_.columns.end(), column);
      return row_.cells[static_cast<std::size_t>(found - file_.columns.begin())].span;
    };
    if (buffer.lower >= buffer.upper) {
      return Error{
          ErrorCode::kBadBuffer,
          cat("the lifetime from ", buffer.lower, " to ", buffer.upper, " is empty"),
          span_of(file_.has(BufferColumn::kUpper) ? BufferColumn::kUpper : BufferColumn::kEnd),
          "upper is the first moment after the lifetime and must be above lower; end is "
          "its last moment"};
    }
    if (buffer.fixed && *buffer.fixed % buffer.alignment != 0) {
      const std::int64_t below = *buffer.fixed / buffer.alignment * buffer.alignment;
      return Error{
          ErrorCode::kBadBuffer,
          cat("offset ", *buffer.fixed, " is not a multiple of the alignment ", buffer.alignment),
          span_of(BufferColumn::kOffset), cat("the multiple below it is ", below)};
    }
    if (buffer.alias && !is_alias) {
      if (buffer.alias->delta != 0) {
        return Error{ErrorCode::kBadBuffer,
                     cat("there is a delta of ", buffer.alias->delta, " but no alias"),
                     span_of(BufferColumn::kDelta), "delta counts from the start of the alias"};
      }
      buffer.alias.reset();
    }
    return ok_status();
  }

  Status resolve_aliases() {
    for (std::size_t i = 0; i < aliases_.size(); ++i) {
      if (aliases_[i].empty()) continue;
      memory::Buffer& buffer = file_.problem.buffers[i];
      const auto found = by_id_.find(aliases_[i]);
      if (found == by_id_.end()) {
        const std::vector<std::string_view> names(
            file_.ids.begin(),
            file_.ids.begin() + std::min<std::ptrdiff_t>(std::ssize(file_.ids), kMostGuessed));
        return at_line(
            file_.rows[i].line,
            Error{
                ErrorCode::kUnknownName, cat("no buffer has the id ", quote(aliases_[i])),
                file_.cell(text_, i, BufferColumn::kAlias),
                did_you_mean(aliases_[i], names, "alias is the id of another buffer of the file")});
      }
      buffer.alias = memory::Alias{found->second, buffer.alias.value_or(memory::Alias{}).delta};
    }
    return ok_status();
  }

  /// The largest of the numbers that count bytes: the one to report when their sum is too large.
  static BufferColumn largest_number(const memory::Buffer& buffer) {
    const std::pair<std::int64_t, BufferColumn> numbers[] = {
        {buffer.size, BufferColumn::kSize},
        {buffer.alignment, BufferColumn::kAlignment},
        {buffer.fixed.value_or(0), BufferColumn::kOffset},
        {buffer.alias.value_or(memory::Alias{}).delta, BufferColumn::kDelta}};
    return std::max_element(std::begin(numbers), std::end(numbers),
                            [](const auto& a, const auto& b) { return a.first < b.first; })
        ->second;
  }

  /// The errors that the library finds in all of them together, reported with line and cell.
  Status check_together() {
    const Status found = memory::check(file_.problem);
    if (found) return ok_status();
    if (!found.error().span || found.error().span->from >= std::ssize(file_.rows)) {
      return found.error();
    }
    // The same error again, with names; other buffers are named with their lines.
    const auto i = static_cast<std::size_t>(found.error().span->from);
    std::vector<std::string> names;
    for (std::size_t other = 0; other < file_.ids.size(); ++other) {
      names.push_back(cat("buffer ", quote(file_.ids[other])));
      if (other != i) names.back() += cat(" of line ", file_.rows[other].line);
    }
    const Status named = memory::check(file_.problem, names);
    Error error = named ? found.error() : named.error();
    const memory::Buffer& buffer = file_.problem.buffers[i];
    const BufferColumn column = error.code == ErrorCode::kOverflow       ? largest_number(buffer)
                                : error.code == ErrorCode::kNotSupported ? BufferColumn::kGaps
                                : buffer.fixed                           ? BufferColumn::kOffset
                                : buffer.alias                           ? BufferColumn::kAlias
                                                                         : BufferColumn::kId;
    error.span = file_.cell(text_, i, column);
    return at_line(file_.rows[i].line, std::move(error));
  }

  std::string_view text_;
  std::int64_t at_ = 0;
  std::int64_t line_ = 1;
  std::int64_t row_line_ = 1;
  CellRow row_;
  BufferFile file_;
  std::vector<std::string> aliases_;
  std::vector<WrittenGap> written_gaps_;  // of the current row
  std::size_t gaps_ = 0;                  // of the rows before it
  std::unordered_map<std::string, std::size_t> by_id_;
};

}  // namespace

bool BufferFile::has(BufferColumn column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

Span BufferFile::cell(std::string_view text, std::size_t buffer, BufferColumn column) const {
  const BufferRow& row = rows[buffer];
  CellRow read;
  const auto find = [&](BufferColumn wanted) {
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), wanted) -
                                    columns.begin());
  };
  if (!read_row(text, row.from, columns.size(), read)) return {row.from, row.to};
  return read.cells[find(has(column) ? column : BufferColumn::kId)].span;
}

Result<BufferFile> read_buffers(std::string_view text) { return BufferReader(text).read(); }

}  // namespace tessera::tools
