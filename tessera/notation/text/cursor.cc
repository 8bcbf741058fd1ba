// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/text/cursor.h"

#include <algorithm>
#include <cmath>
#include <system_error>

#include "tessera/base/read_real.h"
#include "tessera/base/text.h"

namespace tessera::notation {
namespace {

// std::isalpha and similar functions depend on the locale; a notation does not.
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }
bool continues_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

template <typename Predicate>
std::size_t skip_while(std::string_view text, std::size_t from, Predicate predicate) {
  while (from < text.size() && predicate(text[from])) ++from;
  return from;
}

}  // namespace

Cursor::Cursor(std::string_view text, std::string_view end_name, std::size_t from)
    : text_(text), end_name_(end_name), position_(skip_while(text, from, is_blank)) {}

Word Cursor::word_at(std::size_t end) const {
  return {text_.substr(position_, end - position_),
          Span{position(), static_cast<std::int64_t>(end)}};
}

Word Cursor::take(std::size_t end) {
  const Word word = word_at(end);
  last_end_ = end;
  position_ = skip_while(text_, end, is_blank);
  return word;
}

Span Cursor::since(std::int64_t from) const {
  return {from, std::max(from, static_cast<std::int64_t>(last_end_))};
}

Word Cursor::next() const {
  if (at_end()) return word_at(position_);
  if (is_letter(peek())) return next_identifier();
  if (is_digit(peek())) return word_at(skip_while(text_, position_, is_digit));
  return word_at(skip_while(text_, position_ + 1, continues_code_point));
}

Word Cursor::next_identifier() const {
  return word_at(is_letter(peek()) ? skip_while(text_, position_, is_word) : position_);
}

bool Cursor::accept(std::string_view symbol) {
  if (text_.substr(position_, symbol.size()) != symbol) return false;
  take(position_ + symbol.size());
  return true;
}

bool Cursor::accept_word(std::string_view word) {
  return next_identifier().text == word && accept(word);
}

Status Cursor::expect(std::string_view symbol, std::string_view help) {
  if (accept(symbol)) return ok_status();
  return expected(cat("'", symbol, "'"), help);
}

Status Cursor::expect_word(std::string_view word, std::string_view help) {
  if (accept_word(word)) return ok_status();
  return expected(cat("'", word, "'"), help);
}

Status Cursor::expect_end() const {
  if (at_end()) return ok_status();
  return expected(end_name_, "nothing may follow");
}

Result<Word> Cursor::identifier(std::string_view what, std::string_view help) {
  const Word word = next_identifier();
  if (word.text.empty()) return expected(what, help);
  return take(static_cast<std::size_t>(word.span.to));
}

Result<std::int64_t> Cursor::integer(std::string_view what, std::string_view help) {
  if (peek() != '-') return magnitude(false, what, help);
  const std::size_t digits = skip_while(text_, position_ + 1, is_blank);
  if (digits == text_.size() || !is_digit(text_[digits])) return expected(what, help);
  take(position_ + 1);
  return magnitude(true, what, help);
}

Result<std::int64_t> Cursor::magnitude(bool negative, std::string_view what,
                                       std::string_view help) {
  if (!is_digit(peek())) return expected(what, help);
  const Word digits = word_at(skip_while(text_, position_, is_digit));
  std::int64_t value = 0;  // counts downward when negative, because |-2^63| has no int64
  for (const char c : digits.text) {
    const std::int64_t digit = c - '0';
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
        __builtin_add_overflow(value, negative ? -digit : digit, &value)) {
      return Error{ErrorCode::kBadNumber,
                   cat(what, " ", quote_name(cat(negative ? "-" : "", digits.text)),
                       " does not fit a signed 64-bit integer"),
                   digits.span, "the largest is 9223372036854775807"};
    }
  }
  take(static_cast<std::size_t>(digits.span.to));
  return value;
}

Result<std::vector<std::int64_t>> Cursor::integers(std::string_view what, std::size_t limit) {
  TESSERA_CHECK_OK(expect("["));
  std::vector<std::int64_t> numbers;
  if (accept("]")) return numbers;
  do {
    if (numbers.size() == limit) {
      return Error{ErrorCode::kRankTooLarge, cat("a list of more than ", limit, " numbers"),
                   next().span, cat("at most ", limit, " fit here")};
    }
    TESSERA_TRY(const std::int64_t number, integer(what));
    numbers.push_back(number);
  } while (accept(","));
  if (!accept("]")) return expected("',' or ']'");
  return numbers;
}

Result<double> Cursor::real(std::string_view what, std::string_view help) {
  const std::size_t end = skip_while(
      text_, position_, [](char c) { return is_word(c) || c == '.' || c == '+' || c == '-'; });
  const Word token = word_at(end);
  if (token.text.empty()) return expected(what, help);
  double value = 0;
  const char* const first = token.text.data();
  const char* const last = first + token.text.size();
  const auto [stop, status] = read_real(first, last, value);
  if (status == std::errc::result_out_of_range) {
    return Error{ErrorCode::kBadNumber,
                 cat(what, " ", quote_name(token.text), " does not fit a 64-bit float"), token.span,
                 "write inf, -inf or 0"};
  }
  if (status != std::errc() || stop != last || std::isnan(value)) return expected(what, help);
  take(end);
  return value;
}

Result<DType> Cursor::dtype() {
  std::size_t end = position_;
  while (end < text_.size() &&
         (is_word(text_[end]) || (text_[end] == '-' && end > position_ && end + 1 < text_.size() &&
                                  is_word(text_[end + 1])))) {
    ++end;
  }
  if (!is_letter(peek())) return expected("an element type", "such as f32, bf16 or i8");
  const Word name = word_at(end);
  if (const std::optional<DType> found = parse_dtype(name.text)) {
    take(end);
    return *found;
  }
  std::vector<std::string_view> names;
  for (const DType type : all_dtypes()) names.push_back(dtype_name(type));
  return Error{ErrorCode::kBadDType, cat("unknown element type ", quote_name(name.text)), name.span,
               did_you_mean(name.text, names)};
}

Error Cursor::expected(std::string_view what, std::string_view help) const {
  const Word found = next();
  return Error{ErrorCode::kSyntax,
               cat("expected ", what, ", found ",
                   at_end() ? std::string(end_name_) : quote_name(found.text)),
               found.span, std::string(help)};
}

}  // namespace tessera::notation
