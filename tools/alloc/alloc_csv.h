// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tools/files/csv.h"

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
  kEnd,   ///< in place of upper: the last moment of the lifetime
  kGaps,  ///< when it needs only some of its bytes; see alloc_gaps.h
};
inline constexpr std::string_view kNeededColumns = "id,lower,upper,size";

/// "id", "lower", ..
std::string_view column_name(BufferColumn column);

/// The columns that the first row of a file names. Errors carry the span of the cell.
Result<std::vector<BufferColumn>> read_columns(const CellRow& row);

}  // namespace tessera::tools
