// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tools/alloc/alloc_cells.h"

namespace tessera::tools {

/// What a column of a file of buffers says; the first four have to be there.
enum class BufferColumn : std::uint8_t {
  kId,
  kLower,
  kUpper,
  kSize,
  kAlignment,
  kOffset,
  kHint,
  kAlias,
  kDelta,
};
inline constexpr std::string_view kNeededColumns = "id,lower,upper,size";

/// "id", "lower", ..
std::string_view column_name(BufferColumn column);

/// The columns that the first row of a file names. Errors have the place of the cell.
Result<std::vector<BufferColumn>> read_columns(const CellRow& row);

/// The 64-bit integer in a cell, or why there is none; `column` is what the message calls it.
Result<std::int64_t> whole_number(std::string_view column, const Cell& cell);

}  // namespace tessera::tools
