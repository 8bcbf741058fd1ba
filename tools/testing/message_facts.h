// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace tessera::tools {

/// The facts of a message in their order: quoted texts, numbers and flags. Tests compare these and
/// not the sentence around them: facts_in("line 3: size '4.5' is not a number") is "3 '4.5'".
inline std::string facts_in(std::string_view message) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_number = [&](std::string_view token) {
    if (token.starts_with('-')) token.remove_prefix(1);
    return !token.empty() && is_digit(token.front()) && is_digit(token.back()) &&
           std::count(token.begin(), token.end(), '.') <= 1 &&
           std::all_of(token.begin(), token.end(), [&](char c) { return is_digit(c) || c == '.'; });
  };
  std::string facts;
  for (std::size_t at = 0; at < message.size();) {
    std::size_t end = at;
    std::string_view fact;
    if (message[at] == '\'' && (at == 0 || !is_letter(message[at - 1]))) {
      const std::size_t close = message.find('\'', at + 1);
      if (close != std::string_view::npos) {
        end = close + 1;
        fact = message.substr(at, end - at);
      }
    } else {
      while (end < message.size() &&
             (is_letter(message[end]) ||
              std::string_view("_.-").find(message[end]) != std::string_view::npos)) {
        ++end;
      }
      std::string_view token = message.substr(at, end - at);
      while (token.ends_with('.')) token.remove_suffix(1);
      if (is_number(token) || (token.size() > 2 && token.starts_with("--"))) fact = token;
    }
    if (!fact.empty()) facts.append(facts.empty() ? "" : " ").append(fact);
    at = std::max(end, at + 1);
  }
  return facts;
}

}  // namespace tessera::tools
