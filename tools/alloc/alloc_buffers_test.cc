// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_buffers.h"

#include <gtest/gtest.h>

#include "tessera/base/text.h"
#include "tools/alloc/alloc_csv.h"
#include "tools/alloc/alloc_gaps.h"
#include "tools/alloc/alloc_offsets.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

using memory::Buffer;

TEST(AllocCsv, FollowRfc4180) {
  // The rules of section 2 of the RFC, one after the other.
  struct Case {
    std::string text;
    std::vector<std::string> values;
    std::int64_t next;
  };
  const std::vector<Case> cases = {
      {"aaa,bbb,ccc\r\nzzz", {"aaa", "bbb", "ccc"}, 13},
      {"aaa,bbb\nz", {"aaa", "bbb"}, 8},
      {"aaa,bbb", {"aaa", "bbb"}, 7},
      {"\"aaa\",\"b\r\nbb\",\"ccc\"\r\n", {"aaa", "b\r\nbb", "ccc"}, 21},
      {"\"aaa\",\"b\"\"bb\"", {"aaa", "b\"bb"}, 13},
      {"\"a,b\",", {"a,b", ""}, 6},
      {" a b ,\t\" c \" \n", {"a b", " c "}, 14},
      {"\n", {""}, 1},
  };
  for (const Case& c : cases) {
    CellRow row;
    ASSERT_TRUE(read_row(c.text, 0, 8, row).ok()) << c.text;
    std::vector<std::string> values;
    for (const Cell& cell : row.cells) values.push_back(cell.value);
    EXPECT_EQ(values, c.values) << c.text;
    EXPECT_EQ(row.next, c.next) << c.text;
  }
}

TEST(AllocCsv, Utf8IsRecognized) {
  for (const std::string_view text : {"", "abc", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  // A lone continuation byte, a lead byte without one, overlong forms, a surrogate, beyond the last
  // code point.
  for (const std::string_view text :
       {"\x80", "\xC3", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

TEST(AllocBuffers, ColumnsComeInAnyOrder) {
  const std::string text =
      "\xEF\xBB\xBFSize, ID ,alias,Delta,begin,hint,upper,offset,alignment\r\n"
      "100,\"a \"\"x\"\", 1\",,,-3,-1,5,64,32\r\n"
      "\r\n"
      "10,b,\"a \"\"x\"\", 1\",8,0,,9,,\r\n"
      "0,c,,0,9223372036854775806,7,9223372036854775807,,\r\n"
      "\r\n  \r\n";
  const Result<BufferFile> file = read_buffers(text);
  ASSERT_TRUE(file.ok()) << render(file.error(), text);
  EXPECT_EQ(file->ids, (std::vector<std::string>{"a \"x\", 1", "b", "c"}));
  const std::vector<Buffer>& buffers = file->problem.buffers;
  ASSERT_EQ(buffers.size(), 3U);
  EXPECT_EQ(buffers[0].lower, -3);
  EXPECT_EQ(buffers[0].upper, 5);
  EXPECT_EQ(buffers[0].size, 100);
  EXPECT_EQ(buffers[0].alignment, 32);
  EXPECT_EQ(buffers[0].fixed, 64);
  EXPECT_EQ(buffers[0].hint, std::nullopt);
  EXPECT_FALSE(buffers[0].alias.has_value());
  EXPECT_EQ(buffers[1].alignment, 1);
  EXPECT_EQ(buffers[1].fixed, std::nullopt);
  ASSERT_TRUE(buffers[1].alias.has_value());
  EXPECT_EQ(buffers[1].alias->of, 0U);
  EXPECT_EQ(buffers[1].alias->delta, 8);
  EXPECT_EQ(buffers[2].upper, INT64_MAX);
  EXPECT_EQ(buffers[2].hint, 7);
  EXPECT_FALSE(buffers[2].alias.has_value());
  EXPECT_EQ(file->rows[1].line, 4);
}

TEST(AllocBuffers, EndIsTheLastMoment) {
  const Result<BufferFile> file = read_buffers("buffer,start,end,size\na,0,2,24\nb,3,3,8\n");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->problem.buffers[0].upper, 3);
  EXPECT_EQ(file->problem.buffers[1].lower, 3);
  EXPECT_EQ(file->problem.buffers[1].upper, 4);
}

std::string text_of(const std::vector<memory::Gap>& gaps) {
  std::string text;
  for (const memory::Gap& gap : gaps) {
    text += cat(gap.lower, " ", gap.upper, " ", gap.kept_from, " ", gap.kept_to, "|");
  }
  return text;
}

/// The cells are those of google/minimalloc's documentation by example (tests/converter_test.cc):
/// `7-8 9-10@1:17`; with a column end, `7-7 9-9` are the same moments.
TEST(AllocBuffers, GapsAreReadInAnyOrder) {
  struct Case {
    std::string cell;
    std::string exclusive;  ///< lower, upper and what is kept, with a column upper
    std::string inclusive;  ///< with a column end
  };
  const std::vector<Case> cases = {
      {"", "", ""},
      {"   ", "", ""},
      {"7-8 9-10@1:17", "7 8 0 0|9 10 1 17|", "7 9 0 0|9 11 1 17|"},
      {"9-10@0:18   7-9 ", "7 9 0 0|9 10 0 18|", ""},
      {"\" 7-8\t9-10 \"", "7 8 0 0|9 10 0 0|", "7 9 0 0|9 11 0 0|"},
      {"-3--1@007:8", "-3 -1 7 8|", "-3 0 7 8|"},
      {"-4-11", "-4 11 0 0|", "-4 12 0 0|"},
  };
  for (const Case& c : cases) {
    for (const bool inclusive : {false, true}) {
      if (inclusive && c.inclusive.empty() && !c.exclusive.empty()) continue;
      const Result<BufferFile> file = read_buffers(
          cat("id,gaps,lower,", inclusive ? "end" : "upper", ",size\nx,", c.cell, ",-4,12,18\n"));
      ASSERT_TRUE(file.ok()) << c.cell << ": " << file.error().message;
      EXPECT_EQ(text_of(file->problem.buffers[0].gaps), inclusive ? c.inclusive : c.exclusive)
          << c.cell;
    }
  }
}

struct Refusal {
  std::string text;
  ErrorCode code;
  std::string at;     ///< what the span covers
  std::string facts;  ///< of the message
  std::string help;   ///< a name in the help, or empty
};

void expect_refused(const Refusal& refusal) {
  const Result<BufferFile> file = read_buffers(refusal.text);
  ASSERT_FALSE(file.ok()) << refusal.text;
  const Error& error = file.error();
  EXPECT_EQ(code_name(error.code), code_name(refusal.code)) << error.message;
  EXPECT_EQ(facts_in(error.message), refusal.facts) << error.message;
  EXPECT_NE(error.help.find(refusal.help), std::string::npos) << error.help;
  EXPECT_FALSE(error.help.empty()) << error.message;
  ASSERT_TRUE(error.span.has_value()) << error.message;
  EXPECT_EQ(refusal.text.substr(static_cast<std::size_t>(error.span->from),
                                static_cast<std::size_t>(error.span->to - error.span->from)),
            refusal.at)
      << error.message;
}

TEST(AllocBuffers, BadHeadersAreRefused) {
  using enum ErrorCode;
  for (const Refusal& refusal : std::vector<Refusal>{
           {"", kSyntax, "", "", "id,lower,upper,size"},
           {" \n\n", kSyntax, "", "", "id,lower,upper,size"},
           {"1,2,3,4\n", kSyntax, "1,2,3,4", "1", "id,lower,upper,size"},
           {"a,0,3,4\n", kSyntax, "a,0,3,4", "1", "id,lower,upper,size"},
           {"\nid,lower,upper\n", kSyntax, "id,lower,upper", "2", "size"},
           {"id,lower,uper,size\n", kUnknownName, "uper", "1 'uper'", "'upper'"},
           {"id,lower,upper,size,colour\n", kUnknownName, "colour", "1 'colour'", "alignment"},
           {"id,lower,upper,size,start\n", kContradiction, "start", "1", ""},
           {"id,lower,upper,size,size\n", kContradiction, "size", "1", ""},
           {"id,start,stop,size\n", kUnknownName, "stop", "1 'stop'", "upper"},
           {"id,lower,upper,size,gaps,Gaps\n", kContradiction, "Gaps", "1", "omit"},
           {"id,start,end,upper,size\n", kContradiction, "upper", "1", "omit"},
           {"id,start,end,size\na,4,3,8\n", kBadBuffer, "3", "2 4 4", "upper"},
           {"id,start,end,size\na,4,9223372036854775807,8\n", kOverflow, "9223372036854775807",
            "2 9223372036854775807", "smaller"},
           {"id;lower;upper;size\n", kSyntax, "id;lower;upper;size", "1", "id,lower"},
           {"id,lower,upper,size,delta\n", kSyntax, "id,lower,upper,size,delta", "1", "delta"},
           {"id,lower,upper,size\ra,0,1,4\r", kSyntax, "\r", "", "CR LF"},
           {"\xFF\xFEi", kSyntax, "\xFF\xFE", "", "UTF-8"}}) {
    expect_refused(refusal);
  }
}

TEST(AllocBuffers, BadRowsAreRefused) {
  using enum ErrorCode;
  const std::string plain = "id,lower,upper,size\nw,0,9,64\n";
  const std::string full = "id,lower,upper,size,alignment,offset,hint,alias,delta\n";
  for (const Refusal& refusal : std::vector<Refusal>{
           {plain + "a,0,3\n", kSyntax, "", "3 4 3", "size"},
           {plain + "a,0,3,4,\n", kSyntax, "", "3 4", ""},
           {plain + "a,0,3,4,5,6\n", kSyntax, "", "3 4", ""},
           {plain + "a,x,3,4", kBadNumber, "x", "3 'x'", ""},
           {plain + "a,0,3,4.5", kBadNumber, "4.5", "3 '4.5'", ""},
           {plain + "a,0,3,1e6", kBadNumber, "1e6", "3 '1e6'", ""},
           {plain + "a,0,3,4 KB", kBadNumber, "4 KB", "3 '4 KB'", ""},
           {plain + "a,0,3,+4", kBadNumber, "+4", "3 '+4'", ""},
           {plain + "a,,3,4", kBadNumber, "", "3", ""},
           {plain + "a,0,3,9223372036854775808", kBadNumber, "9223372036854775808",
            "3 '9223372036854775808'", ""},
           {plain + "a,0,3,99999999999999999999x", kBadNumber, "99999999999999999999x",
            "3 '99999999999999999999x'", ""},
           {plain + "a,0,3,-4", kBadBuffer, "-4", "3 -4", "0"},
           {plain + "a,3,3,4", kBadBuffer, "3", "3 3 3", "lower"},
           {plain + "a,5,3,4", kBadBuffer, "3", "3 5 3", "lower"},
           {plain + ",0,3,4", kSyntax, "", "3", "id"},
           {plain + "w,0,3,4", kContradiction, "w", "3 'w' 2", "id"},
           {plain + "\"a,0,3,4\n", kSyntax, "\"", "3", ""},
           {plain + "\"a\nb\"c,0,3,4\n", kSyntax, "c", "4", ""},
           {plain + "a\"b,0,3,4", kSyntax, "\"", "3", ""},
           {plain + "\xC3,0,3,4", kSyntax, "\xC3", "3", "UTF-8"},
           {full + "a,0,3,4,0,,,,", kBadAlignment, "0", "2 0", "1"},
           {full + "a,0,3,4,8,12,,,", kBadBuffer, "12", "2 12 8", "8"},
           {full + "a,0,3,4,,-8,,,", kBadBuffer, "-8", "2 -8", "0"},
           {full + "a,0,3,4,,,-8,,", kBadBuffer, "-8", "2 -8", "0"},
           {full + "a,0,3,4,,,,,8", kBadBuffer, "8", "2 8", "delta"},
           {full + "abcd,0,3,4,,,,,\nb,0,3,4,,,,abce,", kUnknownName, "abce", "3 'abce'", "'abcd'"},
           {full + "a,0,3,4,,,,b,\nb,0,3,4,,,,a,", kBadBuffer, "b", "2 'a'", "alias"},
           {full + "a,0,3,4,,0,,,\nc,5,9,4,,0,,,\nb,2,5,4,,3,,,", kBadBuffer, "3",
            "4 'b' 'a' 2 3 4 2", ""},
           {plain + "a,0,3,2305843009213693952\n", kOverflow, "2305843009213693952", "3 'a' 2 61",
            ""},
           {full + "a,0,3,4,,,,,\nb,0,3,4,,,,a,9223372036854775807", kOverflow,
            "9223372036854775807", "3 'b' 2 61", ""},
       }) {
    expect_refused(refusal);
  }
}

TEST(AllocBuffers, BadGapsAreRefused) {
  using enum ErrorCode;
  const auto row = [](const std::string& gaps) {
    return cat("id,lower,upper,size,gaps\nw,0,9,64,1-2\na,5,12,16,", gaps, "\n");
  };
  const std::string huge = "99999999999999999999";
  const std::string zeros(200, '0');
  for (const Refusal& refusal : std::vector<Refusal>{
           // What is no gap.
           {row("6"), kSyntax, "6", "3 '6'", "7-9@0:64"},
           {row("6-7-8"), kSyntax, "6-7-8", "3 '6-7-8'", "7-9@0:64"},
           {row("A-B"), kSyntax, "A-B", "3 'A-B'", "7-9@0:64"},
           {row("6-7 x"), kSyntax, "x", "3 'x'", "7-9@0:64"},
           {row("6 - 7"), kSyntax, "6", "3 '6'", "blanks"},
           {row("6-"), kSyntax, "6-", "3 '6-'", ""},
           {row("-"), kSyntax, "-", "3 '-'", ""},
           {row("6..7"), kSyntax, "6..7", "3 '6..7'", ""},
           {row("6-+7"), kSyntax, "6-+7", "3 '6-+7'", ""},
           {row("6-7@"), kSyntax, "6-7@", "3 '6-7@'", ""},
           {row("6-7@4"), kSyntax, "6-7@4", "3 '6-7@4'", ""},
           {row("6-7@4-8"), kSyntax, "6-7@4-8", "3 '6-7@4-8'", ""},
           {row("6-7@4:8:9"), kSyntax, "6-7@4:8:9", "3 '6-7@4:8:9'", ""},
           {row("6-7@@4:8"), kSyntax, "6-7@@4:8", "3 '6-7@@4:8'", ""},
           {row("\"6-7\n8-9\""), kSyntax, "6-7\n8-9", "3 '6-7?8-9'", ""},
           {row("\"6-7 \"\"\""), kSyntax, "\"6-7 \"\"\"", "3 '\"'", ""},
           // Numbers.
           {row("6-" + huge), kBadNumber, huge, "3 '" + huge + "'", "smaller"},
           {row("-" + huge + "-7"), kBadNumber, "-" + huge, "3 '-" + huge + "'", "smaller"},
           {row("6-7@0:" + huge), kBadNumber, huge, "3 '" + huge + "'", "smaller"},
           {"id,lower,end,size,gaps\na,5,12,16,6-9223372036854775807\n", kOverflow,
            "6-9223372036854775807", "2 9223372036854775807", "smaller"},
           // Times: line, gap, lifetime.
           {row("7-7"), kBadBuffer, "7-7", "3 7 7", "first moment after"},
           {row("9-7"), kBadBuffer, "9-7", "3 9 7", "first moment after"},
           {row("4-7"), kBadBuffer, "4-7", "3 4 7 5 12", "5 to 12"},
           {row("11-13"), kBadBuffer, "11-13", "3 11 13 5 12", "5 to 12"},
           {row("20-" + zeros + "30"), kBadBuffer, "20-" + zeros + "30", "3 20 30 5 12", ""},
           {row("-9223372036854775808-9223372036854775807"), kBadBuffer,
            "-9223372036854775808-9223372036854775807",
            "3 -9223372036854775808 9223372036854775807 5 12", ""},
           {"id,lower,end,size,gaps\na,5,12,16,9-8\n", kBadBuffer, "9-8", "2 9 9", "last moment"},
           {"id,lower,end,size,gaps\na,5,12,16,6-13\n", kBadBuffer, "6-13", "2 6 14 5 13", ""},
           // Overlapping gaps: the later one is marked, with both in the message.
           {row("6-8 7-9"), kBadBuffer, "7-9", "3 7 9 6 8", "touch"},
           {row("7-9 6-8"), kBadBuffer, "7-9", "3 7 9 6 8", "touch"},
           {row("6-8 6-8"), kBadBuffer, "6-8", "3 6 8 6 8", "touch"},
           {"id,lower,end,size,gaps\na,5,12,16,6-8 8-9\n", kBadBuffer, "8-9", "2 8 10 6 9", ""},
           // Windows.
           {row("6-7@4:4"), kBadBuffer, "6-7@4:4", "3 4 4", "omit"},
           {row("6-7@8:4"), kBadBuffer, "6-7@8:4", "3 8 4", "omit"},
           {row("6-7@0:17"), kBadBuffer, "6-7@0:17", "3 0 17 16", "16"},
           {row("6-7@-1:4"), kBadBuffer, "6-7@-1:4", "3 -1 4 16", "16"},
           {row("6-7@16:9223372036854775807"), kBadBuffer, "6-7@16:9223372036854775807",
            "3 16 9223372036854775807 16", "16"},
           // Memory that is shared.
           {"id,lower,upper,size,alias,gaps\na,5,12,16,,6-7\nb,5,12,8,a,\n", kNotSupported, "6-7",
            "2 'a'", "alias"},
           {"id,lower,upper,size,alias,gaps\na,5,12,16,,\nb,5,12,8,a,6-7\n", kNotSupported, "6-7",
            "3 'b'", "alias"},
           // Fixed buffers, one in the gap of the other and a moment longer.
           {"id,lower,upper,size,offset,gaps\na,0,9,16,0,3-6\nb,3,7,8,8,\n", kBadBuffer, "8",
            "3 'b' 'a' 2 8 16 6", ""},
       }) {
    expect_refused(refusal);
  }
}

TEST(AllocBuffers, TooManyGapsAreRefused) {
  std::string text = "id,lower,upper,size,gaps\na,0,9,1,3-4\nb,0,9000000,1,";
  for (std::size_t i = 0; i + 1 < kMostGaps; ++i) text += cat(2 * i, "-", 2 * i + 1, " ");
  EXPECT_TRUE(read_buffers(text).ok());
  const Result<BufferFile> file = read_buffers(text + "8999998-8999999");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kTooLarge);
}

TEST(AllocBuffers, ABufferLargerThanTheCapacityNamesItsLine) {
  const std::string text = "id,lower,upper,size,offset\na,0,3,64,\nz,0,1,0,99\nb,3,4,32,33\n";
  const BufferFile file = *read_buffers(text);
  EXPECT_TRUE(check_capacity(file, text, 65).ok());
  const Error fixed = check_capacity(file, text, 64).error();
  EXPECT_EQ(fixed.code, ErrorCode::kDoesNotFit);
  EXPECT_EQ(facts_in(fixed.message), "4 'b' 33 65 64");  // line, id, offset, end, capacity
  EXPECT_EQ(text.substr(static_cast<std::size_t>(fixed.span->from), 2), "33");
  const Error large = check_capacity(file, text, 63).error();
  EXPECT_EQ(facts_in(large.message), "2 'a' 64 63");
  EXPECT_EQ(text.substr(static_cast<std::size_t>(large.span->from), 2), "64");
}

TEST(AllocBuffers, OffsetsAreWrittenWhereTheyBelong) {
  const std::vector<std::int64_t> offsets = {10, 200};
  const std::string plain = "\xEF\xBB\xBFid,lower,upper,size\r\n\"a,\n1\",0,3,4\r\n\r\nb,1,2,3";
  EXPECT_EQ(with_offsets(*read_buffers(plain), plain, offsets),
            "\xEF\xBB\xBFid,lower,upper,size,offset\r\n\"a,\n1\",0,3,4,10\r\n\r\nb,1,2,3,200");
  const std::string fixed = "id,offset,lower,upper,size\na,10,0,3,4\nb, ,1,2,3\n";
  const std::string written = with_offsets(*read_buffers(fixed), fixed, offsets);
  EXPECT_EQ(written, "id,offset,lower,upper,size\na,10,0,3,4\nb, 200,1,2,3\n");
  const BufferFile again = *read_buffers(written);
  EXPECT_EQ(again.problem.buffers[0].fixed, 10);
  EXPECT_EQ(again.problem.buffers[1].fixed, 200);
}

TEST(AllocBuffers, GapsSurviveTheOffsets) {
  const std::string text = "id,lower,upper,size,gaps\na,0,9,8,7-9 3-6@0:2\nb,3,6,6,\n";
  const std::string written =
      with_offsets(*read_buffers(text), text, std::vector<std::int64_t>{0, 2});
  EXPECT_EQ(written, "id,lower,upper,size,gaps,offset\na,0,9,8,7-9 3-6@0:2,0\nb,3,6,6,,2\n");
  const BufferFile again = *read_buffers(written);
  EXPECT_EQ(text_of(again.problem.buffers[0].gaps), "3 6 0 2|7 9 0 0|");
  EXPECT_EQ(again.problem.buffers[1].fixed, 2);
}

TEST(AllocBuffers, LongFilesAreRefusedBeforeTheyAreRead) {
  const Result<BufferFile> file = read_buffers(std::string(kMostBufferBytes + 1, 'x'));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kTextTooLong);
  // A text of only commas, as long as allowed, takes no additional memory.
  const Result<BufferFile> commas = read_buffers(std::string(kMostBufferBytes, ','));
  ASSERT_FALSE(commas.ok());
  EXPECT_EQ(commas.error().code, ErrorCode::kSyntax);
}

TEST(AllocBuffers, OneBufferTooManyIsRefused) {
  std::string text = "id,lower,upper,size\n";
  for (std::size_t i = 0; i <= kMostBuffers; ++i) text += cat(i, ",0,1,1\n");
  const Result<BufferFile> file = read_buffers(text);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace tessera::tools
