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
  Span span;          ///< in the text, with quotes and without the blanks around it
  std::string value;  ///< without quotes; a doubled quote inside them is one
  bool quoted = false;
};

/// One row: a line, or several when quotes go over line ends.
struct CellRow {
  std::vector<Cell> cells;
  std::int64_t from = 0;
  std::int64_t to = 0;     ///< where its text ends, before the end of the line
  std::int64_t next = 0;   ///< where the next row begins
  std::int64_t lines = 1;  ///< line ends in it
  bool blank() const { return cells.size() == 1 && cells[0].value.empty() && !cells[0].quoted; }
};

/// Reads the row that begins at `from`, by RFC 4180 (www.rfc-editor.org/rfc/rfc4180): cells in
/// quotes may hold commas, line ends and, doubled, quotes. Lines end with \n, \r\n or the text;
/// blanks around a cell are no part of it unless they are quoted. Memory is spent on at most `most`
/// cells.
/// Errors: kSyntax, for quotes that do not end or stand inside a cell, and for more cells.
Status read_row(std::string_view text, std::int64_t from, std::size_t most, CellRow& row);

/// Whether all of it is UTF-8.
bool is_utf8(std::string_view text);

}  // namespace tessera::tools
