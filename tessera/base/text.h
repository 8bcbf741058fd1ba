// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

inline void append_text(std::string& out, std::string_view text) { out += text; }
inline void append_text(std::string& out, char c) { out += c; }
template <std::integral T>
void append_text(std::string& out, T number) {
  out += std::to_string(number);
}

/// Joins its arguments into one string: cat("rank ", 3, " of ", name).
template <typename... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

/// join({18, 32}, "x") is "18x32".
inline std::string join(std::span<const std::int64_t> numbers, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += separator;
    out += std::to_string(numbers[i]);
  }
  return out;
}

/// The same for texts.
inline std::string join(std::span<const std::string> texts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += separator;
    out += texts[i];
  }
  return out;
}

/// bracketed({18, 32}) is "[18, 32]".
inline std::string bracketed(std::span<const std::int64_t> numbers) {
  return "[" + join(numbers, ", ") + "]";
}

}  // namespace tessera
