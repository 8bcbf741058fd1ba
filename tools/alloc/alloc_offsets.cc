// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_offsets.h"

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {

Status check_capacity(const BufferFile& file, std::string_view text, std::int64_t capacity) {
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    const memory::Buffer& buffer = file.problem.buffers[i];
    const std::int64_t offset = buffer.fixed.value_or(0);
    const std::int64_t end = (Checked(offset) + buffer.size).saturated();
    if (end <= capacity || buffer.size == 0) continue;
    const bool is_large = buffer.size > capacity;
    const std::string what = is_large ? cat(" has ", buffer.size, " bytes")
                                      : cat(" is fixed at ", offset, " and ends at ", end);
    return Error{ErrorCode::kDoesNotFit,
                 cat("line ", file.rows[i].line, ": ", quote(file.ids[i]), what,
                     ", and the capacity is ", capacity),
                 file.cell(text, i, is_large ? BufferColumn::kSize : BufferColumn::kOffset),
                 is_large ? "split the buffer, or use a larger capacity"
                          : "use a smaller fixed offset, or a larger capacity"};
  }
  return ok_status();
}

std::string with_offsets(const BufferFile& file, std::string_view text,
                         std::span<const std::int64_t> offsets) {
  std::string out;
  out.reserve(text.size() + offsets.size() * 12);
  std::int64_t at = 0;
  const auto copy_to = [&](std::int64_t to) {
    out += text.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(to - at));
    at = to;
  };
  const bool has_offsets = file.has(BufferColumn::kOffset);
  if (!has_offsets) {
    copy_to(file.header.to);
    out += cat(",", column_name(BufferColumn::kOffset));
  }
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    const Span cell = has_offsets ? file.cell(text, i, BufferColumn::kOffset)
                                  : Span{file.rows[i].to, file.rows[i].to};
    copy_to(cell.from);
    out += has_offsets ? std::to_string(offsets[i]) : cat(",", offsets[i]);
    at = cell.to;
  }
  copy_to(std::ssize(text));
  return out;
}

}  // namespace tessera::tools
