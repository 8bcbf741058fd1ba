// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"

namespace tessera::exchange {

/// The kind of a note; its first byte.
enum class NoteKind : std::uint8_t {
  kUp,     ///< a decision, from a rank to its parent
  kDown,   ///< the outcome, from a rank to its children
  kAsk,    ///< are you there?
  kHere,   ///< yes, and the rank that I wait for
  kFound,  ///< a fault was found; sent to the rank that announces it
  kFinal,  ///< no more decisions, and the final error; sent to all ranks
};
inline constexpr int kNoteKinds = 6;

/// Writes a note; numbers are little-endian.
class NoteWriter {
 public:
  explicit NoteWriter(NoteKind kind) { byte(static_cast<std::uint8_t>(kind)); }
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void number(std::int64_t value);
  /// A length in two bytes, and the text; at most 65535 bytes.
  void text(std::string_view value);
  /// A whole error, with texts cut to what fits in a note beside about 200 bytes of other contents.
  void error(const Error& error);
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads a note that may contain anything. A missing field reads as 0 or empty, and good() is false
/// from then on.
class NoteReader {
 public:
  explicit NoteReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  /// Empty for a byte that is not a valid kind.
  std::optional<NoteKind> kind();
  std::uint8_t byte();
  std::int64_t number();
  std::string text();
  Error error();
  /// A number of items that take at least `bytes_each` bytes each; fails if the rest of the note is
  /// too short for them.
  std::int64_t count(std::int64_t bytes_each);
  /// Marks what was read as invalid.
  void fail() { good_ = false; }
  /// True when every field that was read was present.
  bool good() const { return good_; }
  /// True when the whole note was read, and nothing beyond its end.
  bool done() const { return good_ && rest_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t count);
  std::span<const std::byte> rest_;
  bool good_ = true;
};

/// The longest prefix of `text` that has at most `most` bytes and ends between two (UTF-8)
/// characters; a cut is shown as "..". `most` is at least 2.
std::string cut_text(std::string_view text, std::size_t most);

}  // namespace tessera::exchange
