// SPDX-License-Identifier: Apache-2.0
#include "tools/files/array_file.h"

#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

Error wrong_size(const std::string& name, std::int64_t expected, std::size_t found,
                 std::string_view what) {
  const bool is_short = std::cmp_less(found, expected);
  return Error{ErrorCode::kIo,
               cat(quote(name), is_short ? " is truncated" : " is too long", ": ", what, " take ",
                   expected, " bytes, found ", found),
               std::nullopt,
               is_short ? "copy or save it again" : "save it again, or remove the extra bytes"};
}

}  // namespace

bool is_raw_file(const std::string& name, bool raw) {
  if (name.ends_with(".bin") || name.ends_with(".raw")) return true;
  return raw && !name.ends_with(".npy");
}

Result<ArrayFile> open_array(const std::string& name, bool is_raw, std::int64_t raw_bytes,
                             const std::function<Status(const NpyHeader&)>& accepts) {
  TESSERA_TRY(MappedInput file, MappedInput::open(name));
  const std::span<const std::byte> bytes = file.bytes();
  if (is_raw) {
    if (std::cmp_not_equal(bytes.size(), raw_bytes)) {
      return wrong_size(name, raw_bytes, bytes.size(), "the elements of its layout");
    }
    return ArrayFile{std::move(file), bytes};
  }
  const Result<NpyHeader> header = read_npy_header(bytes);
  if (!header) {
    Error error = header.error();
    const std::int64_t at = error.span.value_or(Span{}).from;
    error.message = cat(quote(name), ", byte ", at, ": ", error.message);
    error.span.reset();
    return error;
  }
  TESSERA_CHECK_OK(accepts(*header));
  const auto start = static_cast<std::size_t>(header->data_offset);
  if (std::cmp_not_equal(bytes.size() - start, header->data_bytes)) {
    const std::int64_t whole = (Checked(header->data_offset) + header->data_bytes).saturated();
    return wrong_size(name, whole, bytes.size(), "its header and elements");
  }
  return ArrayFile{std::move(file), bytes.subspan(start)};
}

}  // namespace tessera::tools
