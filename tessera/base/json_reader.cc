// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/read_real.h"
#include "tessera/base/text.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::uint32_t code, std::string& out) {
  const auto push = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xC0 | (code >> 6));
    push(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    push(0xE0 | (code >> 12));
    push(0x80 | ((code >> 6) & 0x3F));
    push(0x80 | (code & 0x3F));
  } else {
    push(0xF0 | (code >> 18));
    push(0x80 | ((code >> 12) & 0x3F));
    push(0x80 | ((code >> 6) & 0x3F));
    push(0x80 | (code & 0x3F));
  }
}

Span span_of(std::size_t from, std::size_t to) {
  return {static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)};
}

}  // namespace

JsonReader::JsonReader(std::string_view text, std::size_t most_depth)
    : text_(text), most_depth_(most_depth) {
  if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;  // a byte order mark
}

void JsonReader::skip_space() {
  at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
}

std::int64_t JsonReader::position() {
  skip_space();
  return static_cast<std::int64_t>(at_);
}

Error JsonReader::expected(std::string_view what) {
  skip_space();
  std::size_t to = at_;
  if (at_ < text_.size()) {
    to = std::min(text_.find_first_of(" \t\r\n,:[]{}", at_), text_.size());
    if (to == at_) ++to;
  }
  constexpr std::size_t kShown = 40;
  const std::string found = at_ == text_.size()
                                ? "the end of the text"
                                : quote_name(text_.substr(at_, std::min(to - at_, kShown)));
  return Error{ErrorCode::kSyntax, cat("expected ", what, ", found ", found), span_of(at_, to), ""};
}

JsonReader::Next JsonReader::peek() {
  skip_space();
  if (at_ == text_.size()) return Next::kNothing;
  switch (text_[at_]) {
    case '{':
      return Next::kObject;
    case '[':
      return Next::kArray;
    case '"':
      return Next::kText;
    case 'n':
      return Next::kNull;
    case 't':
    case 'f':
      return Next::kBoolean;
    default:
      return text_[at_] == '-' || is_digit(text_[at_]) ? Next::kNumber : Next::kNothing;
  }
}

bool JsonReader::take(std::string_view word) {
  skip_space();
  if (!text_.substr(at_).starts_with(word)) return false;
  span_ = span_of(at_, at_ + word.size());
  at_ += word.size();
  return true;
}

Status JsonReader::enter(char open, std::string_view what) {
  if (!take({&open, 1})) return expected(what);
  if (first_.size() == most_depth_) {
    return Error{ErrorCode::kTooLarge, cat("nested deeper than ", most_depth_, " levels"), span_};
  }
  first_.push_back(true);
  return ok_status();
}

Status JsonReader::enter_object() { return enter('{', "an object"); }
Status JsonReader::enter_array() { return enter('[', "a list"); }

Result<std::optional<std::string>> JsonReader::next_key() {
  if (take("}")) {
    first_.pop_back();
    return std::optional<std::string>();
  }
  if (!first_.back() && !take(",")) return expected("',' or '}'");
  first_.back() = false;
  if (peek() != Next::kText) return expected("a key in double quotes");
  TESSERA_TRY(std::string key, text());
  const Span span = span_;
  if (!take(":")) return expected("':'");
  span_ = span;
  return std::optional(std::move(key));
}

Result<bool> JsonReader::next_item() {
  if (take("]")) {
    first_.pop_back();
    return false;
  }
  if (!first_.back() && !take(",")) return expected("',' or ']'");
  first_.back() = false;
  return true;
}

Status JsonReader::null() {
  if (take("null")) return ok_status();
  return expected("null");
}

Result<bool> JsonReader::boolean() {
  if (take("true")) return true;
  if (take("false")) return false;
  return expected("true or false");
}

Result<std::string_view> JsonReader::number() {
  skip_space();
  std::size_t to = at_;
  const auto digits = [&] {
    const std::size_t from = to;
    while (to < text_.size() && is_digit(text_[to])) ++to;
    return to - from;
  };
  const auto is = [&](std::string_view any) {
    return to < text_.size() && any.find(text_[to]) != std::string_view::npos;
  };
  if (is("-")) ++to;
  const std::size_t whole = to;
  if (digits() == 0 || (text_[whole] == '0' && to > whole + 1)) return expected("a number");
  if (is(".")) {
    ++to;
    if (digits() == 0) return expected("a number");
  }
  if (is("eE")) {
    ++to;
    if (is("+-")) ++to;
    if (digits() == 0) return expected("a number");
  }
  span_ = span_of(at_, to);
  const std::string_view found = text_.substr(at_, to - at_);
  at_ = to;
  return found;
}

bool JsonReader::is_integer_next() {
  if (peek() != Next::kNumber) return false;
  const std::size_t end = std::min(text_.find_first_not_of("-0123456789", at_), text_.size());
  return end == text_.size() || std::string_view(".eE").find(text_[end]) == std::string_view::npos;
}

Result<std::int64_t> JsonReader::integer() {
  if (peek() != Next::kNumber) return expected("an integer");
  TESSERA_TRY(const std::string_view digits, number());
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc() && end == digits.data() + digits.size()) return value;
  return Error{ErrorCode::kBadNumber, cat(quote_name(digits), " is not a 64-bit integer"), span_,
               "write it in digits; the largest is 9223372036854775807"};
}

Result<double> JsonReader::real() {
  if (peek() != Next::kNumber) return expected("a number");
  TESSERA_TRY(const std::string_view digits, number());
  double value = 0;
  const auto [end, error] = read_real(digits.data(), digits.data() + digits.size(), value);
  // A number that is too small for a double is read as 0, as other readers do.
  if (error == std::errc::result_out_of_range && digits.find("e-") == std::string_view::npos &&
      digits.find("E-") == std::string_view::npos && !digits.starts_with("0.") &&
      !digits.starts_with("-0.")) {
    return Error{ErrorCode::kBadNumber, cat(quote_name(digits), " is too large a number"), span_};
  }
  return value;
}

Result<std::uint32_t> JsonReader::four_digits() {
  std::uint32_t code = 0;
  const char* const from = text_.data() + at_;
  const char* const to = from + std::min<std::size_t>(4, text_.size() - at_);
  const auto [end, error] = std::from_chars(from, to, code, 16);
  if (error != std::errc() || end != from + 4) return expected("four hexadecimal digits");
  at_ += 4;
  return code;
}

/// Behind a backslash.
Status JsonReader::append_escape(std::string& out) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (at_ == text_.size()) return expected("an escape");
  if (const std::size_t letter = kLetters.find(text_[at_]); letter != std::string_view::npos) {
    out += kMeanings[letter];
    ++at_;
    return ok_status();
  }
  if (text_[at_] != 'u') return expected("an escape");
  ++at_;
  TESSERA_TRY(std::uint32_t code, four_digits());
  if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
    at_ += 2;
    TESSERA_TRY(const std::uint32_t low, four_digits());
    if (low < 0xDC00 || low > 0xDFFF) return expected("the second half of a surrogate pair");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xD800 && code <= 0xDFFF) {
    return expected("a surrogate pair");
  }
  append_utf8(code, out);
  return ok_status();
}

Result<std::string> JsonReader::text() {
  if (peek() != Next::kText) return expected("a text in double quotes");
  const std::size_t from = at_++;
  std::string out;
  while (true) {
    const std::size_t plain = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
           static_cast<unsigned char>(text_[at_]) >= 0x20) {
      const std::size_t length = utf8_length(text_.substr(at_, 4));
      if (length == 0) {
        return Error{ErrorCode::kSyntax, "the text is not UTF-8", span_of(at_, at_ + 1)};
      }
      at_ += length;
    }
    out += text_.substr(plain, at_ - plain);
    if (at_ == text_.size()) {
      return Error{ErrorCode::kSyntax, "a text without its closing quote",
                   span_of(from, text_.size())};
    }
    const char stop = text_[at_];
    if (stop != '"' && stop != '\\') {
      return Error{ErrorCode::kSyntax, "a control character in a text", span_of(at_, at_ + 1),
                   "write it as \\u and four digits"};
    }
    ++at_;
    if (stop == '"') break;
    TESSERA_CHECK_OK(append_escape(out));
  }
  span_ = span_of(from, at_);
  return out;
}

Status JsonReader::skip() {
  const std::size_t depth = first_.size();
  std::vector<bool> objects;  // for each array and object entered here
  do {
    if (!objects.empty()) {
      if (objects.back()) {
        TESSERA_TRY(const std::optional<std::string> key, next_key());
        if (!key) objects.pop_back();
        if (!key) continue;
      } else {
        TESSERA_TRY(const bool more, next_item());
        if (!more) objects.pop_back();
        if (!more) continue;
      }
    }
    switch (peek()) {
      case Next::kNull:
        TESSERA_CHECK_OK(null());
        break;
      case Next::kBoolean:
        TESSERA_CHECK_OK(boolean());
        break;
      case Next::kNumber:
        TESSERA_CHECK_OK(number());
        break;
      case Next::kText:
        TESSERA_CHECK_OK(text());
        break;
      case Next::kArray:
        TESSERA_CHECK_OK(enter_array());
        objects.push_back(false);
        break;
      case Next::kObject:
        TESSERA_CHECK_OK(enter_object());
        objects.push_back(true);
        break;
      case Next::kNothing:
        return expected("a value");
    }
  } while (first_.size() > depth);
  return ok_status();
}

Status JsonReader::finish() {
  skip_space();
  if (at_ == text_.size()) return ok_status();
  return expected("the end of the text");
}

}  // namespace tessera
