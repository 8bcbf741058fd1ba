// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

namespace tessera {

/// std::from_chars for a double, also where the standard library has none, as that of WebAssembly:
/// a sign other than '-' and leading white space are refused, and a number that no double is near
/// is `result_out_of_range` and leaves `value` unchanged. Hexadecimal numbers, infinities and "nan"
/// are read by neither way that our texts are read. Example: "0.5s" gives 0.5 and a pointer to the
/// 's'.
inline std::from_chars_result read_real(const char* from, const char* to, double& value) {
#if defined(__cpp_lib_to_chars)
  return std::from_chars(from, to, value);
#else
  const char* end = from;
  const bool is_negative = end != to && *end == '-';
  if (is_negative) ++end;
  for (const std::string_view word : {"infinity", "inf", "nan"}) {
    const std::string_view found(end, std::min<std::size_t>(word.size(), to - end));
    const bool is_word = std::equal(found.begin(), found.end(), word.begin(), word.end(),
                                    [](char a, char b) { return (a | 0x20) == b; });
    if (!is_word) continue;
    const double read = word == "nan" ? std::numeric_limits<double>::quiet_NaN()
                                      : std::numeric_limits<double>::infinity();
    value = is_negative ? -read : read;
    return {end + word.size(), std::errc()};
  }
  bool in_exponent = false;
  bool is_zero = true;
  const auto digits = [&] {
    bool found = false;
    for (; end != to && *end >= '0' && *end <= '9'; ++end) {
      found = true;
      is_zero = is_zero && (*end == '0' || in_exponent);
    }
    return found;
  };
  const bool whole = digits();
  if (end != to && *end == '.') ++end;
  const bool fraction = digits();
  if (!whole && !fraction) return {from, std::errc::invalid_argument};
  in_exponent = true;
  if (end != to && (*end == 'e' || *end == 'E')) {
    const char* const before = end++;
    if (end != to && (*end == '-' || *end == '+')) ++end;
    if (!digits()) end = before;
  }
  const std::string text(from, end);
  const double read = std::strtod(text.c_str(), nullptr);
  if (std::isinf(read) || (read == 0 && !is_zero)) return {end, std::errc::result_out_of_range};
  value = read;
  return {end, std::errc()};
#endif
}

}  // namespace tessera
