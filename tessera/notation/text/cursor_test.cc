// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/text/cursor.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tessera/testing/figures.h"

namespace tessera::notation {
namespace {

TEST(Cursor, ReadsTokensAcrossBlanks) {
  Cursor cursor("  mesh = [ 3,\t2 ] ->x");
  EXPECT_TRUE(cursor.accept_word("mesh"));
  EXPECT_TRUE(cursor.expect("=").ok());
  const auto numbers = cursor.integers("an extent", 4);
  ASSERT_TRUE(numbers.ok());
  EXPECT_EQ(*numbers, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(cursor.since(2), (Span{2, 17}));
  EXPECT_TRUE(cursor.accept("->"));
  EXPECT_EQ(cursor.next().text, "x");
  EXPECT_FALSE(cursor.at_end());
  EXPECT_TRUE(cursor.accept("x"));
  EXPECT_TRUE(cursor.expect_end().ok());
}

TEST(Cursor, AWordIsReadWholeOrNotAtAll) {
  Cursor cursor("offsets");
  EXPECT_FALSE(cursor.accept_word("offset"));
  EXPECT_EQ(cursor.position(), 0);
  EXPECT_TRUE(cursor.accept_word("offsets"));
}

TEST(Cursor, IntegersReachBothEndsOfTheRange) {
  const auto read = [](std::string_view text) { return Cursor(text).integer("a number"); };
  EXPECT_EQ(*read("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*read("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(*read("- 7"), -7);
  EXPECT_EQ(*read("007"), 7);
  for (const std::string_view text : {"9223372036854775808", "99999999999999999999999"}) {
    const auto number = read(text);
    ASSERT_FALSE(number.ok());
    EXPECT_EQ(number.error().code, ErrorCode::kBadNumber);
    EXPECT_EQ(number.error().span, (Span{0, static_cast<std::int64_t>(text.size())}));
  }
  const auto below = read("-9223372036854775809");
  ASSERT_FALSE(below.ok());
  EXPECT_EQ(below.error().message,
            "a number '-9223372036854775809' does not fit a signed 64-bit integer");
  EXPECT_EQ(below.error().span, (Span{1, 20}));
  EXPECT_EQ(test::figures(read("-x").error().message), "'-'");
}

TEST(Cursor, ErrorsNameWhatWasFound) {
  EXPECT_EQ(test::figures(Cursor("").expect("<").error().message), "'<'");
  EXPECT_EQ(Cursor("", "the end of the layout").expect("<").error().message,
            "expected '<', found the end of the layout");
  EXPECT_EQ(test::figures(Cursor("  word>").expect("<").error().message), "'<' 'word'");
  EXPECT_EQ(Cursor("  word>").expect("<").error().span, (Span{2, 6}));
  EXPECT_EQ(Cursor("123abc").expect("<").error().span, (Span{0, 3}));
  // A code point is one token: the caret covers its bytes, the message stays plain ASCII.
  EXPECT_EQ(Cursor("\xE2\x86\x92 m0").expect("->").error().message,
            "expected '->', found '\\xe2\\x86\\x92'");
  EXPECT_EQ(Cursor("\xE2\x86\x92 m0").expect("->").error().span, (Span{0, 3}));
  EXPECT_EQ(Cursor(std::string(1000, 'a')).expect("<").error().message,
            "expected '<', found 'aaaaaaaaaaaaaaaaaaaaaaaa...'");
  EXPECT_EQ(test::figures(Cursor("a b").expect_end().error().message), "'a'");
}

TEST(Cursor, ListsAreLimited) {
  Cursor cursor("[1, 2, 3]");
  const auto list = cursor.integers("an extent", 2);
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().code, ErrorCode::kRankTooLarge);
  EXPECT_EQ(list.error().span, (Span{7, 8}));
  EXPECT_EQ(Cursor("[1; 2]").integers("an extent", 2).error().message,
            "expected ',' or ']', found ';'");
  EXPECT_TRUE(Cursor("[ ]").integers("an extent", 0)->empty());
}

TEST(Cursor, RealsReadEveryDouble) {
  const auto read = [](std::string_view text) { return Cursor(text).real("a value"); };
  EXPECT_EQ(*read("-0.5"), -0.5);
  EXPECT_EQ(*read("1e+300"), 1e300);
  EXPECT_EQ(*read("5e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(*read("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read("1e999").error().code, ErrorCode::kBadNumber);
  for (const std::string_view text : {"nan", "", "1.2.3", "1e", "x", "--1"}) {
    EXPECT_FALSE(read(text).ok()) << text;
  }
}

TEST(Cursor, ElementTypes) {
  EXPECT_EQ(*Cursor("bf16,").dtype(), DType::kBF16);
  EXPECT_EQ(*Cursor("fp8-e4m3>").dtype(), DType::kF8E4M3);
  const auto unknown = Cursor("f23").dtype();
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kBadDType);
  EXPECT_EQ(unknown.error().help, "did you mean 'f32'?");
}

}  // namespace
}  // namespace tessera::notation
