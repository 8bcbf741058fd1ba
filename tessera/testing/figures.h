// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace tessera::test {

/// The values in a message, in order and separated by blanks: numbers, units of memory, indices,
/// paths and quoted names. Tests compare these, so that no test depends on the wording.
/// Example: figures("rank 3 has 2 of [4, 8], expected 'x'") = "3 2 [4 8] 'x'".
inline std::string figures(std::string_view message) {
  std::string found;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find_first_of(" \n"), message.size());
    std::string_view token = message.substr(0, end);
    message.remove_prefix(std::min(end + 1, message.size()));
    while (token.starts_with('(')) token.remove_prefix(1);
    while (!token.empty() &&
           std::string_view(",;:.)?").find(token.back()) != std::string_view::npos) {
      token.remove_suffix(1);
    }
    const bool value = token.starts_with('\'') ||
                       token.find_first_of("\"[]/_#0123456789") != std::string_view::npos;
    const bool unit = token == "KB" || token == "MB" || token == "GB" || token == "ms";
    if (!value && !unit) continue;
    if (!found.empty()) found += ' ';
    found += token;
  }
  return found;
}

}  // namespace tessera::test
