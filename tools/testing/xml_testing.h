// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"

namespace tessera::tools {

inline bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == ':';
}

/// What is not well formed in a text of elements, attributes in double quotes and character data;
/// "" for XML. `ids` gets every id.
inline std::string xml_mistake(std::string_view text, std::set<std::string>& ids) {
  std::vector<std::string> open;
  std::size_t i = 0;
  const auto name = [&] {
    std::string out;
    while (i < text.size() && is_name_character(text[i])) out += text[i++];
    return out;
  };
  const auto entity = [&]() -> bool {  // at an ampersand
    for (const std::string_view each : {"&amp;", "&lt;", "&gt;", "&quot;"}) {
      if (!text.substr(i).starts_with(each)) continue;
      i += each.size();
      return true;
    }
    return false;
  };
  while (i < text.size()) {
    if (text[i] == '&') {
      if (!entity()) return cat("an ampersand at ", i);
      continue;
    }
    if (static_cast<unsigned char>(text[i]) < 0x20 && text[i] != '\n') return cat("control ", i);
    if (text[i] != '<') {
      if (text[i] == '>') return cat("a bracket at ", i);
      ++i;
      continue;
    }
    ++i;
    if (i < text.size() && text[i] == '/') {
      ++i;
      if (open.empty() || name() != open.back()) return cat("a wrong end before ", i);
      open.pop_back();
      if (i >= text.size() || text[i] != '>') return cat("no bracket at ", i);
      ++i;
      continue;
    }
    const std::string element = name();
    if (element.empty()) return cat("no element at ", i);
    std::set<std::string> attributes;
    while (i < text.size() && text[i] == ' ') {
      ++i;
      const std::string attribute = name();
      if (attribute.empty() || !attributes.insert(attribute).second) return cat("attribute ", i);
      if (!text.substr(i).starts_with("=\"")) return cat("no value at ", i);
      i += 2;
      const std::size_t from = i;
      while (i < text.size() && text[i] != '"') {
        if (text[i] == '<') return cat("a bracket in a value at ", i);
        if (text[i] != '&') {
          ++i;
        } else if (!entity()) {
          return cat("an ampersand at ", i);
        }
      }
      const std::string value(text.substr(from, i - from));
      if (attribute == "id" && !ids.insert(value).second) return cat("id ", value, " twice");
      ++i;
    }
    if (text.substr(i).starts_with("/>")) {
      i += 2;
    } else if (i < text.size() && text[i] == '>') {
      ++i;
      open.push_back(element);
    } else {
      return cat("an open element at ", i);
    }
  }
  return open.empty() ? "" : cat("no end of ", open.back());
}

}  // namespace tessera::tools
