// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"

namespace tessera::tools {

/// A cell of comma-separated values.
struct Cell {
  Span span;          ///< in the text, including quotes, excluding the blanks around it
  std::string value;  ///< without the quotes; a doubled quote inside them becomes one
  bool quoted = false;
};

/// One row: one line, or several when a quoted cell contains line ends.
struct CellRow {
  std::vector<Cell> cells;
  std::int64_t from = 0;
  std::int64_t to = 0;     ///< end of its text, before the end of the line
  std::int64_t next = 0;   ///< where the next row begins
  std::int64_t lines = 1;  ///< number of line ends in it
  bool blank() const { return cells.size() == 1 && cells[0].value.empty() && !cells[0].quoted; }
};

/// Reads the row that begins at `from`, by RFC 4180 (www.rfc-editor.org/rfc/rfc4180): quoted cells
/// may contain commas, line ends and, doubled, quotes. Lines end with \n, \r\n or the end of the
/// text. Blanks around a cell are not part of it unless they are quoted. At most `most` cells are
/// allocated.
/// Errors: kSyntax for quotes that are not closed or that occur inside a cell, and for more than
/// `most` cells.
Status read_row(std::string_view text, std::int64_t from, std::size_t most, CellRow& row);

/// Whether the whole text is UTF-8.
bool is_utf8(std::string_view text);

/// The 64-bit integer in a cell, or why there is none; `column` is its name in the message.
Result<std::int64_t> whole_number(std::string_view column, const Cell& cell);

}  // namespace tessera::tools
