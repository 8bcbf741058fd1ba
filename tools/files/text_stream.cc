// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <istream>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tools/files/text_file.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kStreamChunk = 1 << 16;

}  // namespace

Error file_error(std::string_view what, const std::string& name, int error_number,
                 std::string help) {
  const ErrorCode code = error_number == ENOMEM ? ErrorCode::kOutOfMemory : ErrorCode::kIo;
  return Error{code, cat(what, " '", printable(name), "': ", std::strerror(error_number)),
               std::nullopt, std::move(help)};
}

Error text_too_long(const std::string& name, std::size_t most_bytes,
                    std::optional<std::int64_t> size) {
  const std::string found =
      size ? std::to_string(*size) : cat("more than ", std::to_string(most_bytes));
  return Error{ErrorCode::kTextTooLong,
               cat("'", printable(name), "': a text of ", found, " bytes; at most ", most_bytes,
                   " are read"),
               std::nullopt, "cut it into parts"};
}

Result<std::string> read_text_stream(std::istream& in, std::size_t most_bytes) {
  std::string text;
  std::array<char, kStreamChunk> chunk{};
  while (in && text.size() <= most_bytes) {
    in.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) return file_error("cannot read", "standard input", EIO, "name a file instead");
  if (text.size() > most_bytes) return text_too_long("standard input", most_bytes, std::nullopt);
  return text;
}

}  // namespace tessera::tools
