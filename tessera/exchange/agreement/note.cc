// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/agreement/note.h"

#include <algorithm>

#include "tessera/exchange/exchange.h"

namespace tessera::exchange {
namespace {

// The bytes that the parts of an error may take in a note.
constexpr std::size_t kMessageBytes = 2300;
constexpr std::size_t kHelpBytes = 1100;
constexpr std::size_t kCorrectionBytes = 400;
static_assert(kMessageBytes + kHelpBytes + kCorrectionBytes + 40 + 200 <= Exchange::kNoteBytes);

}  // namespace

void NoteWriter::number(std::int64_t value) {
  auto rest = static_cast<std::uint64_t>(value);
  for (int i = 0; i < 8; ++i, rest >>= 8) byte(static_cast<std::uint8_t>(rest & 255));
}

void NoteWriter::text(std::string_view value) {
  value = value.substr(0, 65535);
  byte(static_cast<std::uint8_t>(value.size() & 255));
  byte(static_cast<std::uint8_t>(value.size() >> 8));
  for (const char c : value) byte(static_cast<std::uint8_t>(c));
}

void NoteWriter::error(const Error& error) {
  byte(static_cast<std::uint8_t>(error.code));
  byte(error.span ? 1 : 0);
  if (error.span) {
    number(error.span->from);
    number(error.span->to);
  }
  text(cut_text(error.message, kMessageBytes));
  text(cut_text(error.help, kHelpBytes));
  // A truncated correction would be wrong.
  text(error.correction.size() <= kCorrectionBytes ? error.correction : "");
}

std::span<const std::byte> NoteReader::take(std::size_t count) {
  if (count > rest_.size()) {
    good_ = false;
    rest_ = {};
    return {};
  }
  const std::span<const std::byte> taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

std::optional<NoteKind> NoteReader::kind() {
  const int kind = byte();
  if (!good_ || kind >= kNoteKinds) {
    good_ = false;
    return std::nullopt;
  }
  return static_cast<NoteKind>(kind);
}

std::uint8_t NoteReader::byte() {
  const std::span<const std::byte> one = take(1);
  return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one.front());
}

std::int64_t NoteReader::number() {
  std::uint64_t value = 0;
  const std::span<const std::byte> eight = take(8);
  for (std::size_t i = eight.size(); i-- > 0;) {
    value = (value << 8) | static_cast<std::uint64_t>(eight[i]);
  }
  return static_cast<std::int64_t>(value);
}

std::string NoteReader::text() {
  const std::size_t low = byte();
  const std::size_t high = byte();
  const std::span<const std::byte> bytes = take(low + 256 * high);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Error NoteReader::error() {
  Error error;
  const std::size_t code = byte();
  if (code >= all_error_codes().size()) {
    good_ = false;
    return error;
  }
  error.code = all_error_codes()[code];
  const int has_span = byte();
  if (has_span > 1) good_ = false;
  if (has_span == 1) {
    const std::int64_t from = number();
    const std::int64_t to = number();
    if (from < 0 || to < from) good_ = false;
    error.span = Span{from, to};
  }
  error.message = text();
  if (error.message.empty()) good_ = false;
  error.help = text();
  error.correction = text();
  return error;
}

std::int64_t NoteReader::count(std::int64_t bytes_each) {
  const std::int64_t count = number();
  if (count < 0 || count > static_cast<std::int64_t>(rest_.size()) / bytes_each) {
    good_ = false;
    return 0;
  }
  return count;
}

std::string cut_text(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most - 2;
  // The second and later bytes of a character are 10xxxxxx; no character has more than three.
  for (int i = 0; i < 3 && end > 0; ++i) {
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80) break;
    --end;
  }
  return std::string(text.substr(0, end)) + "..";
}

}  // namespace tessera::exchange
