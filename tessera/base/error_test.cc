// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tessera/base/result.h"

namespace tessera {
namespace {

TEST(ErrorCode, NamesAreStableDistinctAndLowerCase) {
  std::set<std::string_view> names;
  for (const ErrorCode code : all_error_codes()) {
    const std::string_view name = code_name(code);
    EXPECT_NE(name, "unknown");
    EXPECT_TRUE(names.insert(name).second) << name << " names two codes";
    for (const char c : name) EXPECT_TRUE((c >= 'a' && c <= 'z') || c == '_') << name;
  }
  EXPECT_EQ(code_name(ErrorCode::kNotInjective), "not_injective");
  EXPECT_EQ(code_name(ErrorCode::kViewLeavesForm), "view_leaves_form");
  EXPECT_EQ(code_name(ErrorCode::kIo), "io");
  EXPECT_EQ(code_name(static_cast<ErrorCode>(255)), "unknown");
}

TEST(ErrorCode, AllOfThemInDeclarationOrder) {
  const auto& codes = all_error_codes();
  ASSERT_EQ(codes.size(), static_cast<std::size_t>(ErrorCode::kIo) + 1);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(codes[i]), i);
  }
}

TEST(Error, AtKeepsThePlaceItHas) {
  const Error bare{ErrorCode::kSyntax, "m", std::nullopt, ""};
  EXPECT_FALSE(bare.span.has_value());
  EXPECT_EQ(bare.at({3, 5}).span, (Span{3, 5}));
  EXPECT_EQ(bare.at({3, 5}).at({7, 9}).span, (Span{3, 5}));
}

TEST(Error, ShiftedMovesOnlyASpanThatIsThere) {
  const Error bare{ErrorCode::kSyntax, "m", std::nullopt, ""};
  EXPECT_FALSE(bare.shifted(4).span.has_value());
  EXPECT_EQ(bare.at({3, 5}).shifted(4).span, (Span{7, 9}));
}

// The caret is under byte 15 of the text: "cut d0 by [18, " is 15 characters long.
TEST(Reason, FactsAreFoundByNameAndType) {
  const Reason reason = {
      "element_elsewhere",
      {{"index", std::vector<std::int64_t>{0, 1}}, {"slot", 3}, {"dtype", "f32"}}};
  EXPECT_EQ(reason.number("slot"), 3);
  EXPECT_EQ(reason.numbers("index"), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(reason.text("dtype"), "f32");
  EXPECT_EQ(reason.number("index"), std::nullopt);
  EXPECT_EQ(reason.text("slot"), std::nullopt);
  EXPECT_EQ(reason.numbers("place"), std::nullopt);
  EXPECT_EQ(reason.find("place"), nullptr);
}

TEST(Render, CaretUnderTheOffendingText) {
  const Error error{ErrorCode::kSyntax, "expected a width, found 'x'", Span{15, 16},
                    "widths are positive integers"};
  const std::string text = render(error, "cut d0 by [18, x]");
  EXPECT_EQ(text.find("error[syntax]: expected a width, found 'x'\n"), 0u) << text;
  EXPECT_NE(text.find("--> 1:16\n"), std::string::npos) << text;
  EXPECT_NE(text.find("help: widths are positive integers\n"), std::string::npos) << text;
  const std::size_t line = text.find("  | cut d0");
  const std::size_t caret_line = text.find('\n', line) + 1;
  ASSERT_NE(line, std::string::npos);
  EXPECT_EQ(text.find('^') - caret_line, text.find("x]\n", line) - line) << text;
}

TEST(Render, CountsLinesAndColumnsFromOne) {
  const std::string source = "one\ntwo\nthree";
  EXPECT_NE(render({ErrorCode::kSyntax, "m", Span{8, 13}, ""}, source).find("--> 3:1\n"),
            std::string::npos);
  EXPECT_NE(render({ErrorCode::kSyntax, "m", Span{8, 13}, ""}, source).find("^^^^^\n"),
            std::string::npos);
  EXPECT_NE(render({ErrorCode::kSyntax, "m", Span{5, 6}, ""}, source).find("--> 2:2\n"),
            std::string::npos);
}

TEST(Render, NamesTheFile) {
  const Error error{ErrorCode::kSyntax, "m", Span{5, 6}, ""};
  EXPECT_NE(render(error, "one\ntwo", "a\x1b.csv").find("\n --> a?.csv:2:2\n"), std::string::npos);
}

TEST(Render, WithoutASpanThereIsNoSource) {
  EXPECT_EQ(render({ErrorCode::kOverflow, "too big", std::nullopt, ""}, "text"),
            "error[overflow]: too big\n");
}

TEST(Render, LongLinesAreCutAroundTheCaret) {
  const std::string source = std::string(5000, 'a') + "!" + std::string(5000, 'b');
  const std::string text = render({ErrorCode::kSyntax, "m", Span{5000, 5001}, ""}, source);
  EXPECT_LT(text.size(), 400u);
  EXPECT_NE(text.find("..."), std::string::npos);
  const std::size_t bang = text.find('!');
  const std::size_t caret = text.find('^');
  ASSERT_NE(bang, std::string::npos);
  ASSERT_NE(caret, std::string::npos);
  EXPECT_EQ(bang - text.rfind('\n', bang), caret - text.rfind('\n', caret)) << text;
}

TEST(Render, ControlCharactersCannotDriveTheTerminal) {
  const std::string source = "a\x1b[31m\x07\x7f z";
  const std::string text = render({ErrorCode::kSyntax, "m", Span{0, 1}, ""}, source);
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c != 0x7f)) << int{c};
}

TEST(Printable, ReplacesControlCharactersOnly) {
  EXPECT_EQ(printable("a\tb\n\x1b[31m\x7f"), "a b??[31m?");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m \xC2\xA9 \xC3\xA9"),
            "?31m \xC2\xA9 \xC3\xA9");  // U+009B is CSI
  EXPECT_EQ(printable("\xC2"), "\xC2");
}

// The lines that render() shows, for lines of every length near that of the window.
TEST(Excerpt, CutsOnlyWhatDoesNotFit) {
  for (const std::size_t before : {0, 1, 49, 50, 51, 99, 100, 101, 102, 150, 300}) {
    for (const std::size_t after : {0, 1, 48, 49, 50, 98, 99, 100, 101, 300}) {
      const std::string source =
          "first\n" + std::string(before, 'a') + "!" + std::string(after, 'b') + "\nlast";
      const auto from = static_cast<std::int64_t>(6 + before);
      const std::string text = excerpt(source, {from, from + 1});
      const std::string shown = text.substr(0, text.find('\n'));
      const std::string carets = text.substr(shown.size() + 1);
      EXPECT_EQ(shown.find('!'), carets.find('^')) << text;
      EXPECT_EQ(std::count(carets.begin(), carets.end(), '^'), 1) << text;
      const bool fits = before + 1 + after <= 100;
      const auto is_shown = [&](char c, std::size_t all) {
        return static_cast<std::size_t>(std::count(shown.begin(), shown.end(), c)) == all;
      };
      EXPECT_EQ(shown.starts_with("  | ..."), !is_shown('a', before)) << text;
      EXPECT_EQ(shown.ends_with("..."), !is_shown('b', after)) << text;
      if (fits) {
        EXPECT_TRUE(is_shown('a', before) && is_shown('b', after)) << text;
      }
      EXPECT_LE(shown.size(), 4U + 100 + 6);
      EXPECT_EQ(text, [&] {
        const std::string all = render({ErrorCode::kSyntax, "m", Span{from, from + 1}, ""}, source);
        return all.substr(all.find("  | "));
      }());
    }
  }
}

TEST(Excerpt, DoesNotShowTheEndOfALine) {
  EXPECT_EQ(excerpt("one\r\ntwo\r\n", {0, 1}), "  | one\n  | ^\n");
  EXPECT_EQ(excerpt("one\r\ntwo\r\n", {5, 8}), "  | two\n  | ^^^\n");
  EXPECT_EQ(excerpt("a\rb", {0, 1}), "  | a?b\n  | ^\n");
}

// Two bytes, one column: the caret after "éé" is in column 3.
TEST(Render, CountsCodePointsNotBytes) {
  const std::string text = render({ErrorCode::kSyntax, "m", Span{4, 5}, ""}, "éé?");
  EXPECT_NE(text.find("--> 1:3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  |   ^\n"), std::string::npos) << text;
}

TEST(Render, SpansOutsideTheTextAreHarmless) {
  const std::vector<Span> spans = {{-5, -1}, {0, 0}, {3, 3}, {3, 99}, {99, 120}, {7, 2}};
  for (const Span span : spans) {
    for (const std::string_view source : {"", "abc", "a\nb\n", "\n"}) {
      const std::string text = render({ErrorCode::kSyntax, "m", span, "h"}, source);
      EXPECT_NE(text.find('^'), std::string::npos);
    }
  }
}

Result<int> half(int n) {
  if (n % 2 != 0) return Error{ErrorCode::kOutOfRange, "odd", std::nullopt, ""};
  return n / 2;
}

Result<int> quarter(int n) {
  TESSERA_TRY(const int once, half(n));
  TESSERA_TRY(const int twice, half(once));
  return twice;
}

Status must_be_even(int n) {
  if (n % 2 != 0) return Error{ErrorCode::kOutOfRange, "odd", std::nullopt, ""};
  return ok_status();
}

Status check_even(int n) {
  TESSERA_CHECK_OK(must_be_even(n));
  return ok_status();
}

TEST(Result, CarriesAValueOrAnError) {
  ASSERT_TRUE(quarter(12).ok());
  EXPECT_EQ(*quarter(12), 3);
  ASSERT_FALSE(quarter(10));
  EXPECT_EQ(quarter(10).error().code, ErrorCode::kOutOfRange);
  EXPECT_FALSE(quarter(7).ok());
  EXPECT_TRUE(check_even(4).ok());
  EXPECT_FALSE(check_even(5).ok());
}

TEST(Result, MovesItsValueOut) {
  Result<std::string> text = std::string("abc");
  EXPECT_EQ(text->size(), 3u);
  const std::string taken = *std::move(text);
  EXPECT_EQ(taken, "abc");
}

/// Also in builds without assertions: a bug must not become a wrong answer.
TEST(ResultDeathTest, TakingWhatIsNotThereIsLoud) {
  const Result<int> failed = Error{ErrorCode::kTooLarge, "more than 7"};
  EXPECT_DEATH((void)*failed, "too_large.*more than 7");
  EXPECT_DEATH((void)failed.value(), "too_large");
  const Result<int> good = 3;
  EXPECT_DEATH((void)good.error(), "has a value");
}

}  // namespace
}  // namespace tessera
