// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/terminal.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "tools/terminal/text.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

Terminal with(bool is_terminal, std::optional<int> width,
              const std::map<std::string, std::string>& variables) {
  return terminal_from(is_terminal, width, [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Terminal, ColourOnlyOnATerminalWithoutNoColor) {
  EXPECT_TRUE(with(true, 80, {}).colour);
  EXPECT_TRUE(with(true, 80, {{"NO_COLOR", ""}}).colour);
  EXPECT_FALSE(with(true, 80, {{"NO_COLOR", "1"}}).colour);
  EXPECT_FALSE(with(true, 80, {{"TERM", "dumb"}}).colour);
  EXPECT_FALSE(with(false, std::nullopt, {}).colour);
}

TEST(Terminal, WidthIsColumnsThenScreenThen80) {
  EXPECT_EQ(with(true, 120, {}).width, 120);
  EXPECT_EQ(with(true, 120, {{"COLUMNS", "50"}}).width, 50);
  EXPECT_EQ(with(false, std::nullopt, {}).width, 80);
  for (const char* bad : {"", "x", "-5", "0", "12x", "99999999999999"}) {
    EXPECT_EQ(with(false, std::nullopt, {{"COLUMNS", bad}}).width, 80) << bad;
  }
  EXPECT_EQ(with(false, std::nullopt, {{"COLUMNS", "3"}}).width, kMinWidth);
}

TEST(Terminal, PipesGetWholeLines) {
  EXPECT_TRUE(with(true, 80, {}).wraps);
  EXPECT_TRUE(with(false, std::nullopt, {{"COLUMNS", "50"}}).wraps);
  const Terminal pipe = with(false, std::nullopt, {});
  EXPECT_FALSE(pipe.wraps);
  const std::string text(500, 'x');
  EXPECT_EQ(wrap(text + " " + text, pipe, "- ", "  "), "- " + text + " " + text + "\n");
}

TEST(Terminal, BoxesOnlyInAUtf8Locale) {
  EXPECT_TRUE(with(false, {}, {{"LANG", "en_US.UTF-8"}}).unicode);
  EXPECT_TRUE(with(false, {}, {{"LC_ALL", "C.utf8"}, {"LANG", "C"}}).unicode);
  EXPECT_FALSE(with(false, {}, {{"LC_ALL", "C"}, {"LANG", "en_US.UTF-8"}}).unicode);
  EXPECT_FALSE(with(false, {}, {}).unicode);
}

TEST(Terminal, WrapKeepsWordsAndWidth) {
  EXPECT_EQ(wrap("one two three", 8, "", "  "), "one two\n  three\n");
  EXPECT_EQ(wrap("abcdefghij k", 4, "", ""), "abcd\nefgh\nij k\n");
  EXPECT_EQ(wrap("", 10, "", ""), "\n");
  EXPECT_EQ(wrap("a b", 80, "> ", ""), "> a b\n");
  std::string words;
  for (int i = 0; i < 200; ++i)
    words += std::string(static_cast<std::size_t>(i * 7 % 23), 'x') + " ";
  for (const int width : {5, 20, 33}) {
    std::istringstream lines(wrap(words, width, "- ", "    "));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(columns_of(line), static_cast<std::size_t>(width));
    }
  }
}

TEST(Terminal, PaintOnlyWithColour) {
  Terminal terminal;
  EXPECT_EQ(paint(terminal, Paint::kWarning, "x"), "x");
  terminal.colour = true;
  EXPECT_EQ(paint(terminal, Paint::kWarning, "x"), "\x1b[33mx\x1b[0m");
}

TEST(Text, QuotesAreShortAndHarmless) {
  EXPECT_EQ(quote("abc"), "'abc'");
  EXPECT_EQ(quote("a\x1b[31m\n"), "'a?[31m?'");
  EXPECT_LT(quote(std::string(1000, 'x')).size(), 80U);
}

TEST(Text, SuggestionsAreNear) {
  const std::vector<std::string_view> names = {"show", "locate", "diff"};
  EXPECT_EQ(facts_in(did_you_mean("shwo", names, "no")), "'show'");
  EXPECT_EQ(facts_in(did_you_mean("lokate", names, "no")), "'locate'");
  EXPECT_EQ(did_you_mean("xyz", names, "no"), "no");
  EXPECT_EQ(did_you_mean(std::string(1 << 20, 's'), names, "no"), "no");
}

}  // namespace
}  // namespace tessera::tools
