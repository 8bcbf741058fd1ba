// SPDX-License-Identifier: Apache-2.0
#include "tools/files/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "tessera/base/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kFirst = std::size_t{1} << 16;
constexpr int kGzipWindow = 15 + 16;  // the largest window, in the format of gzip

/// Frees the state of zlib at the end of a scope.
struct Inflater {
  z_stream stream = {};
  bool is_open = inflateInit2(&stream, kGzipWindow) == Z_OK;
  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (is_open) inflateEnd(&stream);
  }
};

uInt limited(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

Result<std::string> gunzip(std::string_view bytes, std::size_t most_bytes,
                           const std::string& name) {
  Inflater inflater;
  if (!inflater.is_open) return Error{ErrorCode::kOutOfMemory, "out of memory"};
  z_stream& stream = inflater.stream;
  std::string text;
  std::size_t read = 0;
  std::size_t written = 0;
  for (;;) {
    if (written == text.size()) {
      if (written >= most_bytes) {
        return Error{
            ErrorCode::kTextTooLong,
            cat("'", printable(name), "': more than ", most_bytes, " bytes after decompression"),
            std::nullopt, "cut it into parts"};
      }
      text.resize(std::min(most_bytes, std::max(kFirst, 2 * text.size())));
    }
    const uInt input = limited(bytes.size() - read);
    const uInt output = limited(text.size() - written);
    // zlib does not write to its input, but has no const in this place.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + read));
    stream.avail_in = input;
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + written);
    stream.avail_out = output;
    const int state = inflate(&stream, Z_NO_FLUSH);
    read += input - stream.avail_in;
    written += output - stream.avail_out;
    if (state == Z_STREAM_END) {
      if (!is_gzip(bytes.substr(read))) break;
      inflateReset(&stream);
      continue;
    }
    const bool is_stuck = state == Z_BUF_ERROR && stream.avail_out > 0;
    if ((state != Z_OK && state != Z_BUF_ERROR) || is_stuck) {
      return Error{ErrorCode::kIo,
                   cat("'", printable(name),
                       "': the compressed data are damaged or end too early, at byte ", read),
                   std::nullopt, "test the file with `gzip -t`"};
    }
  }
  text.resize(written);
  return text;
}

}  // namespace tessera::tools
