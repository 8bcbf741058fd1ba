// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/problem.h"
#include "tools/alloc/alloc_csv.h"

/// tools/alloc/: the verb `alloc`. A CSV file of buffers and a capacity come in; offsets and
/// reports (text, JSON, SVG) go out. Plans are found by memory/ alone: nothing here chooses an
/// offset.
namespace tessera::tools {

/// Longer texts and more buffers are refused before memory is allocated for them.
inline constexpr std::size_t kMostBufferBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMostBuffers = std::size_t{1} << 20;

/// The position of a buffer in the text.
struct BufferRow {
  std::int64_t from = 0;
  std::int64_t to = 0;    ///< before the end of its line
  std::int64_t line = 0;  ///< from 1
};

/// The buffers of a CSV file, and where in the file each one is.
///
///     id,lower,upper,size,alignment
///     weights,0,9,4096,64
///     "x, first",0,3,512,
///
/// The first line names the columns, in any order. Required: id, lower, upper (exclusive) and size.
/// Optional: alignment, offset (a fixed offset), hint (an offset to try first), alias (the id of
/// the buffer that contains this one), delta (bytes from that buffer's start) and gaps (times in
/// which it needs only some of its bytes, or none; see alloc_gaps.h). Cells of the optional columns
/// may be empty. `start` and `begin` are other names of lower, `buffer` and
/// `buffer_id` of id. `end` may stand in place of upper: the last moment of the lifetime, as in
/// google/minimalloc. `stop` is refused, because programs differ on whether that moment is
/// included.
struct BufferFile {
  std::vector<BufferColumn> columns;
  BufferRow header;
  std::vector<BufferRow> rows;  ///< one per buffer
  std::vector<std::string> ids;
  memory::Problem problem;

  bool has(BufferColumn column) const;
  /// The span of a buffer's cell; for a column that the file does not have, the span of the id's
  /// cell.
  Span cell(std::string_view text, std::size_t buffer, BufferColumn column) const;
};

/// Reads and checks a file. Errors carry the span of the cell in the text, and their messages name
/// the line.
Result<BufferFile> read_buffers(std::string_view text);

}  // namespace tessera::tools
