// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"

namespace tessera {

/// Reads a JSON text value by value, without a tree: memory is needed only for what the caller
/// keeps, so a text of any length can be read. Every error has the span of what was found.
///
///     JsonReader json(R"({"name": "x", "shape": [2, 3]})");
///     TESSERA_CHECK_OK(json.enter_object());
///     while (true) {
///       TESSERA_TRY(const std::optional<std::string> key, json.next_key());
///       if (!key) break;                                         // after the '}'
///       if (*key == "name") { TESSERA_TRY(name, json.text()); }
///       else { TESSERA_CHECK_OK(json.skip()); }
///     }
///     TESSERA_CHECK_OK(json.finish());
///
/// Texts follow RFC 8259: UTF-8, one value, nothing after it. Errors: kSyntax, kBadNumber for
/// numbers that do not fit, kTooLarge for more than `most_depth` levels. After an error the reader
/// must not be used again.
class JsonReader {
 public:
  enum class Next : std::uint8_t { kNull, kBoolean, kNumber, kText, kArray, kObject, kNothing };

  explicit JsonReader(std::string_view text, std::size_t most_depth = 64);

  /// What the next value is; kNothing if the text ends or something else follows.
  Next peek();
  /// The span of what was read or entered last.
  Span span() const { return span_; }
  /// Where the next value begins.
  std::int64_t position();

  Status enter_object();
  /// The next key; nullopt behind the end of the object.
  Result<std::optional<std::string>> next_key();
  Status enter_array();
  /// True before an item; false behind the end of the array.
  Result<bool> next_item();

  Status null();
  Result<bool> boolean();
  Result<std::int64_t> integer();
  /// Any number; one that is too large for a double is kBadNumber.
  Result<double> real();
  Result<std::string> text();
  /// True if the number that comes next is written without fraction and exponent.
  bool is_integer_next();
  /// Skips the next value, whatever it is.
  Status skip();
  /// Only white space is left.
  Status finish();

 private:
  void skip_space();
  /// "expected `what`, found ..".
  Error expected(std::string_view what);
  Result<std::string_view> number();
  bool take(std::string_view word);
  Status enter(char open, std::string_view what);
  Status append_escape(std::string& out);
  Result<std::uint32_t> four_digits();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t most_depth_;
  std::vector<bool> first_;  ///< for each open array and object: nothing was read in it yet
  Span span_;
};

}  // namespace tessera
