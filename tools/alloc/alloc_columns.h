// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tools/alloc/alloc_cells.h"

namespace tessera::tools {

/// The columns of a file of buffers; the first four are required.
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

/// The columns that the first row of a file names. Errors carry the span of the cell.
Result<std::vector<BufferColumn>> read_columns(const CellRow& row);

/// The 64-bit integer in a cell, or why there is none; `column` is its name in the message.
Result<std::int64_t> whole_number(std::string_view column, const Cell& cell);

}  // namespace tessera::tools
