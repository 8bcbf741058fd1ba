// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/terminal.h"

#include <algorithm>
#include <charconv>

#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

bool continues_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Bytes of the first `columns` code points of `text`.
std::size_t bytes_of_columns(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  while (at < text.size() && (columns > 0 || continues_code_point(text[at]))) {
    if (!continues_code_point(text[at])) --columns;
    ++at;
  }
  return at;
}

}  // namespace

Terminal terminal_from(bool is_terminal, std::optional<int> screen_width,
                       const Environment& environment) {
  const auto variable = [&](const char* name) {
    const char* value = environment(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  Terminal terminal;
  terminal.colour =
      is_terminal && variable("NO_COLOR").empty() && variable("TERM") != std::string_view("dumb");
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (variable(name).empty()) continue;
    const std::string locale = upper_case(variable(name));
    terminal.unicode =
        locale.find("UTF-8") != std::string::npos || locale.find("UTF8") != std::string::npos;
    break;
  }
  const std::string_view columns = variable("COLUMNS");
  int width = 0;
  const auto [end, error] = std::from_chars(columns.data(), columns.data() + columns.size(), width);
  const bool is_given = !columns.empty() && error == std::errc() &&
                        end == columns.data() + columns.size() && width > 0;
  if (!is_given) width = screen_width.value_or(80);
  terminal.width = std::max(kMinWidth, width);
  terminal.wraps = is_terminal || is_given;
  return terminal;
}

std::string paint(const Terminal& terminal, Paint paint, std::string_view text) {
  if (!terminal.colour) return std::string(text);
  const std::string_view code = paint == Paint::kHeading   ? "\x1b[1m"
                                : paint == Paint::kWarning ? "\x1b[33m"
                                : paint == Paint::kError   ? "\x1b[31m"
                                                           : "\x1b[2m";
  return cat(code, text, "\x1b[0m");
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_code_point(c); }));
}

std::string wrap(std::string_view text, const Terminal& terminal, std::string_view first,
                 std::string_view rest) {
  if (!terminal.wraps) return cat(first, text, "\n");
  return wrap(text, terminal.width, first, rest);
}

std::string wrap(std::string_view text, int width, std::string_view first, std::string_view rest) {
  std::string out;
  std::string line(first);
  bool line_is_empty = true;
  const auto limit = static_cast<std::size_t>(width);
  const auto end_line = [&] {
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line;
    out += '\n';
    line = rest;
    line_is_empty = true;
  };
  while (!text.empty()) {
    const std::size_t space = text.find_first_of(" \n");
    std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    while (!word.empty()) {
      const std::size_t used = columns_of(line) + (line_is_empty ? 0 : 1);
      const std::size_t size = columns_of(word);
      if (used + size <= limit) {
        if (!line_is_empty) line += ' ';
        line += word;
        line_is_empty = false;
        break;
      }
      if (!line_is_empty) {
        end_line();
        continue;
      }
      const std::size_t room = std::max<std::size_t>(1, limit > used ? limit - used : 1);
      const std::size_t bytes = bytes_of_columns(word, room);
      line += word.substr(0, bytes);
      word.remove_prefix(bytes);
      line_is_empty = false;
      if (!word.empty()) end_line();
    }
  }
  end_line();
  return out;
}

}  // namespace tessera::tools
