// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/json.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <ostream>

namespace tessera {
namespace {

/// The bytes at the beginning of a text that are one code point in UTF-8; if there is none, the
/// bytes that could have begun one, at least one.
struct CodePoint {
  std::size_t bytes;
  bool is_valid;
};

CodePoint first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, true};
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const std::size_t bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Bounds of the second byte: no overlong forms, no surrogates, nothing beyond U+10FFFF.
  unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i < bytes; ++i) {
    if (i == text.size()) return {i, false};
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < least || byte > most) return {i, false};
    least = 0x80;
    most = 0xBF;
  }
  return {bytes, true};
}

/// Whether the byte needs no escape inside quotes.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

void append_escape(char c, std::string& out) {
  constexpr std::string_view kNamed = "\"\\\b\f\n\r\t";
  constexpr std::string_view kNames = "\"\\bfnrt";
  constexpr std::string_view kHex = "0123456789abcdef";
  const std::size_t at = kNamed.find(c);
  if (at != std::string_view::npos) {
    out += '\\';
    out += kNames[at];
    return;
  }
  out += "\\u00";
  out += kHex[static_cast<unsigned char>(c) >> 4];
  out += kHex[static_cast<unsigned char>(c) & 15];
}

void append_text(std::string_view text, std::string& out) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
  out += '"';
  while (!text.empty()) {
    const auto plain_end = std::find_if_not(text.begin(), text.end(), is_plain);
    const auto plain = static_cast<std::size_t>(plain_end - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const CodePoint point = first_code_point(text);
    if (!point.is_valid) {
      out += kReplacement;
    } else if (point.bytes > 1) {
      out += text.substr(0, point.bytes);
    } else {
      append_escape(text[0], out);
    }
    text.remove_prefix(point.bytes);
  }
  out += '"';
}

template <typename T>
void append_integer(T value, std::string& out) {
  std::array<char, 24> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

/// The shortest digits that read back as `value`: as 12.5, 0.0001 or 1200.0 if there are at most 15
/// digits before the point and at most 3 zeros directly after it, else as 1.25e+16.
void append_real(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  if (std::signbit(value)) out += '-';
  if (value == 0) {
    out += "0.0";
    return;
  }
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::fabs(value),
                                 std::chars_format::scientific)
                       .ptr;  // d.ddde+xx
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t mark = text.find('e');
  int exponent = 0;
  const char* const sign = text.data() + mark + 1;
  std::from_chars(*sign == '+' ? sign + 1 : sign, end, exponent);
  constexpr int kMostBefore = 15;
  constexpr int kMostZeros = 3;
  if (exponent >= kMostBefore || exponent < -kMostZeros - 1) {
    out += text;
    return;
  }
  std::array<char, 32> digits{};
  std::size_t count = 0;
  for (const char c : text.substr(0, mark)) {
    if (c != '.') digits[count++] = c;
  }
  const std::string_view all(digits.data(), count);
  if (exponent < 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-exponent - 1), '0');
    out += all;
    return;
  }
  const auto before = static_cast<std::size_t>(exponent) + 1;
  out += all.substr(0, before);
  if (count <= before) {
    out.append(before - count, '0');
    out += ".0";
  } else {
    out += '.';
    out += all.substr(before);
  }
}

}  // namespace

Json::Json() = default;
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json::Json(std::initializer_list<Json> items) {
  const bool is_object = std::all_of(items.begin(), items.end(), [](const Json& item) {
    return item.is_array() && item.size() == 2 && item[0].is_string();
  });
  if (!is_object) {
    value_.emplace<Array>(items);
    return;
  }
  value_.emplace<Object>();
  for (const Json& item : items) (*this)[item[0].text()] = item[1];
}

Json Json::array(std::initializer_list<Json> items) {
  Json json;
  json.value_.emplace<Array>(items);
  return json;
}

Json Json::object() {
  Json json;
  json.value_.emplace<Object>();
  return json;
}

void Json::set_boolean(bool value) { value_ = value; }
void Json::set_integer(std::int64_t value) { value_ = value; }
void Json::set_large_integer(std::uint64_t value) { value_ = value; }
void Json::set_real(double value) { value_ = value; }
void Json::set_text(std::string_view value) { value_.emplace<std::string>(value); }
void Json::set_array(std::size_t reserved) { value_.emplace<Array>().reserve(reserved); }

bool Json::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
bool Json::is_boolean() const { return std::holds_alternative<bool>(value_); }
bool Json::is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_array() const { return std::holds_alternative<Array>(value_); }
bool Json::is_object() const { return std::holds_alternative<Object>(value_); }

std::string_view Json::kind_name() const {
  if (is_null()) return "null";
  if (is_boolean()) return "boolean";
  if (is_string()) return "string";
  if (is_array()) return "array";
  if (is_object()) return "object";
  return "number";
}

bool Json::boolean() const {
  const bool* value = std::get_if<bool>(&value_);
  assert(value != nullptr);
  return value != nullptr && *value;
}

std::int64_t Json::integer(std::int64_t least, std::int64_t most) const {
  const std::int64_t* value = std::get_if<std::int64_t>(&value_);
  const bool fits = value != nullptr && *value >= least && *value <= most;
  assert(fits);
  return fits ? *value : 0;
}

std::uint64_t Json::natural(std::uint64_t most) const {
  std::uint64_t value = 0;
  bool fits = false;
  if (const std::int64_t* small = std::get_if<std::int64_t>(&value_)) {
    value = static_cast<std::uint64_t>(*small);
    fits = *small >= 0;
  } else if (const std::uint64_t* large = std::get_if<std::uint64_t>(&value_)) {
    value = *large;
    fits = true;
  }
  fits = fits && value <= most;
  assert(fits);
  return fits ? value : 0;
}

double Json::real() const {
  if (const double* value = std::get_if<double>(&value_)) return *value;
  if (const std::int64_t* value = std::get_if<std::int64_t>(&value_)) {
    return static_cast<double>(*value);
  }
  return static_cast<double>(natural(std::numeric_limits<std::uint64_t>::max()));
}

const std::string& Json::text() const {
  static const std::string kNothing;
  const std::string* value = std::get_if<std::string>(&value_);
  assert(value != nullptr);
  return value != nullptr ? *value : kNothing;
}

std::size_t Json::size() const {
  if (const Array* items = std::get_if<Array>(&value_)) return items->size();
  return members().size();
}

const Json& Json::null() {
  static const Json kNull;
  return kNull;
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : members()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

const Json& Json::operator[](std::string_view key) const {
  const Json* value = find(key);
  return value != nullptr ? *value : null();
}

Json& Json::operator[](std::string_view key) {
  assert(is_null() || is_object());
  if (!is_object()) value_.emplace<Object>();
  Object& object = *std::get_if<Object>(&value_);
  for (Member& member : object) {
    if (member.key == key) return member.value;
  }
  return object.emplace_back(Member{std::string(key), {}}).value;
}

const std::vector<Json::Member>& Json::members() const {
  static const Object kNothing;
  const Object* object = std::get_if<Object>(&value_);
  return object != nullptr ? *object : kNothing;
}

const Json& Json::operator[](std::size_t index) const {
  return index < static_cast<std::size_t>(end() - begin()) ? begin()[index] : null();
}

Json& Json::operator[](std::size_t index) {
  assert(is_array() && index < size());
  return (*std::get_if<Array>(&value_))[index];
}

void Json::push_back(Json item) {
  assert(is_null() || is_array());
  if (!is_array()) value_.emplace<Array>();
  std::get_if<Array>(&value_)->push_back(std::move(item));
}

const Json* Json::begin() const {
  const Array* items = std::get_if<Array>(&value_);
  return items != nullptr ? items->data() : nullptr;
}

const Json* Json::end() const {
  const Array* items = std::get_if<Array>(&value_);
  return items != nullptr ? items->data() + items->size() : nullptr;
}

bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

std::ostream& operator<<(std::ostream& out, const Json& json) { return out << dump(json); }

void dump(const Json& json, std::string& out) {
  if (const bool* boolean = std::get_if<bool>(&json.value_)) {
    out += *boolean ? "true" : "false";
  } else if (const std::int64_t* integer = std::get_if<std::int64_t>(&json.value_)) {
    append_integer(*integer, out);
  } else if (const std::uint64_t* large = std::get_if<std::uint64_t>(&json.value_)) {
    append_integer(*large, out);
  } else if (const double* real = std::get_if<double>(&json.value_)) {
    append_real(*real, out);
  } else if (const std::string* text = std::get_if<std::string>(&json.value_)) {
    append_text(*text, out);
  } else if (json.is_array()) {
    char before = '[';
    for (const Json& item : json) {
      out += std::exchange(before, ',');
      dump(item, out);
    }
    if (before == '[') out += before;
    out += ']';
  } else if (json.is_object()) {
    char before = '{';
    for (const auto& [key, value] : json.members()) {
      out += std::exchange(before, ',');
      append_text(key, out);
      out += ':';
      dump(value, out);
    }
    if (before == '{') out += before;
    out += '}';
  } else {
    out += "null";
  }
}

std::string dump(const Json& json) {
  std::string out;
  dump(json, out);
  return out;
}

}  // namespace tessera
