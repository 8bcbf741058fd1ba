// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/testing/notation/rule_check.h"

namespace tessera::test {
namespace {

struct Token {
  std::size_t from;
  std::size_t size;
};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

template <typename Matches>
std::vector<Token> tokens(const std::string& text, const Matches& matches) {
  std::vector<Token> out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t end = i;
    while (end < text.size() && matches(text[end])) ++end;
    if (end > i) out.push_back({i, end - i});
    i = std::max(i, end);
  }
  return out;
}

std::string change_number(Dice& dice, std::string text) {
  const auto numbers = tokens(text, [](char c) { return c >= '0' && c <= '9'; });
  if (numbers.empty()) return text;
  const Token token =
      numbers[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(numbers.size())))];
  static constexpr std::array<std::string_view, 14> kNumbers = {"-1",
                                                                "0",
                                                                "-0",
                                                                "1",
                                                                "2",
                                                                "3",
                                                                "7",
                                                                "64",
                                                                "9223372036854775807",
                                                                "-9223372036854775808",
                                                                "9223372036854775808",
                                                                "4294967296",
                                                                "3037000500",
                                                                "99999999999999999999999999"};
  const std::string was = text.substr(token.from, token.size);
  std::string becomes(kNumbers[static_cast<std::size_t>(dice.below(kNumbers.size()))]);
  if (dice.chance(30)) becomes = "-" + was;
  if (dice.chance(20) && was.size() < 18) {
    becomes = std::to_string(std::stoll(was) + (dice.chance(50) ? 1 : -1));
  }
  return text.replace(token.from, token.size, becomes);
}

std::string change_word(Dice& dice, std::string text) {
  const auto words = tokens(text, is_word);
  if (words.empty()) return text;
  const Token token =
      words[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(words.size())))];
  const std::size_t at =
      token.from + static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(token.size)));
  switch (dice.below(4)) {
    case 0:
      return text.erase(at, 1);
    case 1:
      return text.insert(at, 1, text[at]);
    case 2:
      return text.replace(at, 1, 1, 'q');
    default:
      return text.erase(token.from, token.size);
  }
}

/// Drops or repeats one item of a list: the text between commas or brackets.
std::string change_item(Dice& dice, std::string text) {
  const auto items = tokens(
      text, [](char c) { return std::string_view(",()[]<>").find(c) == std::string_view::npos; });
  if (items.empty()) return text;
  const Token token =
      items[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(items.size())))];
  const std::string item = text.substr(token.from, token.size);
  if (dice.chance(50)) return text.insert(token.from, item + ",");
  const bool comma = token.from > 0 && text[token.from - 1] == ',';
  return comma ? text.erase(token.from - 1, token.size + 1) : text.erase(token.from, token.size);
}

std::string change_byte(Dice& dice, std::string text) {
  static constexpr std::string_view kBytes = "()[]<>,.:=-x \t\n0aZ_%\"\\#";
  const auto at = static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(text.size())));
  switch (dice.below(4)) {
    case 0:
      return text.erase(at, 1);
    case 1:
      return text.substr(0, at);
    case 2:
      return text.insert(at, 1, kBytes[static_cast<std::size_t>(dice.below(kBytes.size()))]);
    default:
      return text.replace(at, 1, 1, static_cast<char>(dice.below(256)));
  }
}

}  // namespace

std::string mutated(Dice& dice, const std::string& text) {
  switch (dice.below(5)) {
    case 0:
    case 1:
      return change_number(dice, text);
    case 2:
      return change_word(dice, text);
    case 3:
      return change_item(dice, text);
    default:
      return change_byte(dice, text);
  }
}

}  // namespace tessera::test
