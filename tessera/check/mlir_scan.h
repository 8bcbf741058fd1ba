// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"

namespace tessera::check {

/// `tensor<SHAPExTYPE, ENCODING>` in a file.
struct MlirTensor {
  Span span;              ///< from `tensor` to just after its '>'
  std::size_t comma = 0;  ///< the byte of the comma before the encoding
  std::size_t section = 0;
  bool closed = true;  ///< false if the text ends, or an outer bracket closes, first
};

/// `#name = VALUE` or `!name = VALUE`.
struct MlirAlias {
  std::string_view name;  ///< with its sigil
  Span span;              ///< of the name
  std::size_t value = 0;  ///< where the value begins
  std::size_t limit = 0;  ///< the value ends before this byte: the next alias or section
  std::size_t section = 0;
};

/// `// tessera: ..`
struct MlirRemark {
  std::string_view text;  ///< after the colon, without surrounding spaces
  std::size_t at = 0;     ///< the byte of the first slash
  bool own_line = false;  ///< only spaces precede it
};

/// The parts of an MLIR text that concern layouts, in text order.
///
/// One pass, O(text) time and memory for every text. Comments and strings are skipped, except for
/// remarks and the directives of tests. Brackets () [] {} <> nest; `->`, `=>`, `<=` and a '>'
/// inside parentheses are not brackets. A closing bracket of another kind than the innermost open
/// one also closes everything that is open inside its own pair. Tensors without an encoding, with a
/// dynamic extent, or that contain another tensor with an encoding are left out, so the listed
/// tensors do not overlap.
///
/// A new section begins after a line that begins with `// -----`, and where a name is defined that
/// the section already has, which happens if files are concatenated.
struct MlirScan {
  std::vector<MlirTensor> tensors;
  std::vector<MlirAlias> aliases;
  std::vector<MlirRemark> remarks;
  std::vector<std::string_view> directives;  ///< comments with `RUN:` or `expected-error`
  std::vector<std::size_t> splits;           ///< the bytes of the lines `// -----`
};
MlirScan scan_mlir(std::string_view text);

inline constexpr std::string_view kRunDirective = "RUN:";
inline constexpr std::string_view kErrorDirective = "expected-error";

bool is_mlir_blank(char c);
/// Letters, digits, '_' and '$': the characters of alias names.
bool is_mlir_word(char c);
/// The end of the comment that begins at `at`: its newline, or the end of the text.
std::size_t end_of_comment(std::string_view text, std::size_t at);
/// The end of the string that begins at `at`. Strings end with their line, closed or not.
std::size_t end_of_string(std::string_view text, std::size_t at);
/// The first byte from `at` on that is neither a space nor in a comment, or `end`.
std::size_t skip_blanks(std::string_view text, std::size_t at, std::size_t end);

/// The open brackets, innermost last.
class BracketStack {
 public:
  /// Processes the character at `at` if it is a bracket. Returns how many brackets it closed.
  std::size_t take(std::string_view text, std::size_t at);
  std::size_t depth() const { return open_.size(); }
  void clear();

 private:
  std::size_t close(char opener);

  std::vector<char> open_;
  std::size_t counts_[4] = {0, 0, 0, 0};
};

}  // namespace tessera::check
