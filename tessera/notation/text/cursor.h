// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/names.h"
#include "tessera/base/result.h"

/// text/: what all notations need to read text: tokens, numbers, tensor types. Text comes in;
/// values with their spans, or errors with the span of the invalid part, go out. It knows no
/// layouts.
namespace tessera::notation {

/// A piece of the text and its span.
struct Word {
  std::string_view text;
  Span span;
};

/// A value that was read, and its span.
template <typename T>
struct Said {
  T value;
  Span span;
};

/// Reads a text from left to right, one token at a time. Every notation is a recursive descent
/// over one of these.
///
/// Blanks between tokens are free. The cursor is always at the first byte of a token or at the end,
/// never goes back, and examines each byte a bounded number of times: reading takes linear time. A
/// failed read leaves the cursor at the token that was not expected.
class Cursor {
 public:
  /// Starts at byte `from`. `end_name` is the name of the end in errors, such as "the end of the
  /// layout".
  explicit Cursor(std::string_view text, std::string_view end_name = "the end of the text",
                  std::size_t from = 0);

  bool at_end() const { return position_ == text_.size(); }
  /// The first byte of the next token; NUL at the end.
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  /// Where the next token begins.
  std::int64_t position() const { return static_cast<std::int64_t>(position_); }
  /// From `from` to the end of the last token that was read.
  Span since(std::int64_t from) const;
  /// The next token: a word, a number or a single character; empty at the end.
  Word next() const;
  /// The identifier [A-Za-z_][A-Za-z0-9_]* that comes next; empty when there is none.
  Word next_identifier() const;

  /// Reads `symbol` if it comes next.
  bool accept(std::string_view symbol);
  /// Reads `word` if it is the whole next identifier.
  bool accept_word(std::string_view word);
  Status expect(std::string_view symbol, std::string_view help = {});
  Status expect_word(std::string_view word, std::string_view help = {});
  /// An error unless everything was read.
  Status expect_end() const;

  Result<Word> identifier(std::string_view what, std::string_view help = {});
  /// [-]digits. A number that does not fit is kBadNumber with the span of all its digits.
  Result<std::int64_t> integer(std::string_view what, std::string_view help = {});
  /// Only the digits, negated when `negative`, so that -2^63 can be read.
  Result<std::int64_t> magnitude(bool negative, std::string_view what, std::string_view help = {});
  /// '[' integers ']', possibly empty, at most `limit` integers.
  Result<std::vector<std::int64_t>> integers(std::string_view what, std::size_t limit);
  /// A decimal number, inf or -inf. The output of std::to_chars reads back as the same double.
  Result<double> real(std::string_view what, std::string_view help = {});
  /// An element type: letters, digits, '_' and inner '-' (fp8-e4m3).
  Result<DType> dtype();

  /// "expected X, found 'y'" at the next token.
  Error expected(std::string_view what, std::string_view help = {}) const;

 private:
  /// Reads up to `end` and skips the blanks after it.
  Word take(std::size_t end);
  Word word_at(std::size_t end) const;

  std::string_view text_;
  std::string_view end_name_;
  std::size_t position_ = 0;
  std::size_t last_end_ = 0;
};

}  // namespace tessera::notation
