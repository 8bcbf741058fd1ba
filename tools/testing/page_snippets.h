// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

namespace tessera::tools {

/// The lines of a file; none of one that cannot be read.
inline std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream stream(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Whether the lines of a snippet of a page occur in `code` consecutively; indentation may differ.
inline bool stands_in(const std::vector<std::string>& snippet,
                      const std::vector<std::string>& code) {
  const auto trimmed = [](const std::string& line) {
    const std::size_t from = line.find_first_not_of(' ');
    return from == std::string::npos ? "" : line.substr(from);
  };
  for (std::size_t from = 0; from + snippet.size() <= code.size(); ++from) {
    std::size_t same = 0;
    while (same < snippet.size() && trimmed(code[from + same]) == trimmed(snippet[same])) ++same;
    if (same == snippet.size()) return true;
  }
  return false;
}

}  // namespace tessera::tools
