// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"

namespace tessera::check {

/// `tensor<SHAPExTYPE, ENCODING>` as it stands in a file.
struct MlirTensor {
  Span span;              ///< from `tensor` to behind its '>'
  std::size_t comma = 0;  ///< the byte of the comma before the encoding
  std::size_t section = 0;
  bool closed = true;  ///< else the text ends, or a bracket closes, before the tensor does
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
  std::string_view text;  ///< behind the colon, without blanks around it
  std::size_t at = 0;     ///< the byte of the first slash
  bool own_line = false;  ///< nothing but blanks stand before it
};

/// What a text of MLIR holds that speaks about layouts, in the order of the text.
///
/// One pass, O(text) time and memory whatever the text is. Comments and strings hold nothing but
/// remarks. Brackets nest as () [] {} <>, where `->`, `=>`, `<=` and a '>' inside parentheses are
/// none; a bracket that closes another kind than the innermost one ends what is open inside its
/// own. Tensors without an encoding, with a dynamic extent, or around another tensor that has an
/// encoding are left out, so no two of those listed overlap.
///
/// A new section begins behind a line that begins with `// -----`, and where a name is defined that
/// the section already has, as when files are joined.
struct MlirScan {
  std::vector<MlirTensor> tensors;
  std::vector<MlirAlias> aliases;
  std::vector<MlirRemark> remarks;
};
MlirScan scan_mlir(std::string_view text);

bool is_mlir_blank(char c);
/// Letters, digits, '_' and '$': what the name of an alias is made of.
bool is_mlir_word(char c);
/// Behind the comment that begins at `at`: its newline, or the end of the text.
std::size_t end_of_comment(std::string_view text, std::size_t at);
/// Behind the string that begins at `at`. Strings end with their line, closed or not.
std::size_t end_of_string(std::string_view text, std::size_t at);
/// The first byte from `at` on that is neither blank nor comment, or `end`.
std::size_t skip_blanks(std::string_view text, std::size_t at, std::size_t end);

/// Brackets that are open, innermost last.
class BracketStack {
 public:
  /// Takes the character at `at` if it is a bracket. Returns how many brackets it closed.
  std::size_t take(std::string_view text, std::size_t at);
  std::size_t depth() const { return open_.size(); }
  void clear();

 private:
  std::size_t close(char opener);

  std::vector<char> open_;
  std::size_t counts_[4] = {0, 0, 0, 0};
};

}  // namespace tessera::check
