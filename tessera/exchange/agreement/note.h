// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"

namespace tessera::exchange {

/// What a note is about; its first byte.
enum class NoteKind : std::uint8_t {
  kUp,       ///< a decision, from a rank to its parent
  kDown,     ///< what was decided, from a rank to its children
  kAsk,      ///< are you there?
  kHere,     ///< yes, and whom I wait for
  kFound,    ///< somebody is silent: tell all
  kVerdict,  ///< somebody is silent, and all ranks are told
};
inline constexpr int kNoteKinds = 6;

/// Writes a note, numbers with the lowest byte first.
class NoteWriter {
 public:
  explicit NoteWriter(NoteKind kind) { byte(static_cast<std::uint8_t>(kind)); }
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void number(std::int64_t value);
  /// A length in two bytes, and the text: at most 65535 bytes of it.
  void text(std::string_view value);
  /// All of an error, with texts cut to what a note holds beside some 200 bytes of other things.
  void error(const Error& error);
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads a note that anybody may have written: what is not there reads as 0 or empty, and good()
/// says no from then on.
class NoteReader {
 public:
  explicit NoteReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  /// Nothing for a byte that names no kind.
  std::optional<NoteKind> kind();
  std::uint8_t byte();
  std::int64_t number();
  std::string text();
  Error error();
  /// A count of things that take at least `bytes_each` bytes, all of which can still come.
  std::int64_t count(std::int64_t bytes_each);
  /// What was read cannot be.
  void fail() { good_ = false; }
  /// Everything that was read was there.
  bool good() const { return good_; }
  /// Everything that is there was read, and more was not asked for.
  bool done() const { return good_ && rest_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t count);
  std::span<const std::byte> rest_;
  bool good_ = true;
};

/// The longest beginning of `text` that has at most `most` bytes and ends between two characters
/// (of UTF-8); what was cut shows as "..". `most` is at least 2.
std::string cut_text(std::string_view text, std::size_t most);

}  // namespace tessera::exchange
