// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_buffers.h"

#include <gtest/gtest.h>

#include "tessera/base/text.h"
#include "tools/alloc/alloc_cells.h"

namespace tessera::tools {
namespace {

using memory::Buffer;

TEST(AllocCells, FollowRfc4180) {
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

TEST(AllocCells, Utf8IsToldFromOtherBytes) {
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

struct Refusal {
  std::string text;
  ErrorCode code;
  std::string at;       ///< what the span covers
  std::string message;  ///< a part of it
  std::string help;     ///< a part of it
};

void expect_refused(const Refusal& refusal) {
  const Result<BufferFile> file = read_buffers(refusal.text);
  ASSERT_FALSE(file.ok()) << refusal.text;
  const Error& error = file.error();
  EXPECT_EQ(code_name(error.code), code_name(refusal.code)) << error.message;
  EXPECT_NE(error.message.find(refusal.message), std::string::npos) << error.message;
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
           {"", kSyntax, "", "no rows", "id,lower,upper,size"},
           {" \n\n", kSyntax, "", "no rows", "id,lower,upper,size"},
           {"1,2,3,4\n", kSyntax, "1,2,3,4", "line 1: this row holds numbers", "put a line above"},
           {"a,0,3,4\n", kSyntax, "a,0,3,4", "line 1: this row holds numbers", "put a line above"},
           {"\nid,lower,upper\n", kSyntax, "id,lower,upper", "line 2: there is no column size",
            "in any order"},
           {"id,lower,uper,size\n", kUnknownName, "uper", "no column 'uper'", "mean 'upper'"},
           {"id,lower,upper,size,colour\n", kUnknownName, "colour", "no column 'colour'",
            "alignment"},
           {"id,lower,upper,size,start\n", kContradiction, "start", "two columns say the lower",
            "leave one"},
           {"id,lower,upper,size,size\n", kContradiction, "size", "two columns say the size",
            "leave one"},
           {"id,start,end,size\n", kUnknownName, "end", "may or may not", "add 1"},
           {"id;lower;upper;size\n", kSyntax, "id;lower;upper;size", "not separated by commas",
            "id,lower"},
           {"id,lower,upper,size,delta\n", kSyntax, "id,lower,upper,size,delta", "no column alias",
            "from the start"},
           {"id,lower,upper,size\ra,0,1,4\r", kSyntax, "\r", "a carriage return alone", "CR LF"},
           {"\xFF\xFEi", kSyntax, "\xFF\xFE", "UTF-16", "UTF-8"}}) {
    expect_refused(refusal);
  }
}

TEST(AllocBuffers, BadRowsAreRefused) {
  using enum ErrorCode;
  const std::string plain = "id,lower,upper,size\nw,0,9,64\n";
  const std::string full = "id,lower,upper,size,alignment,offset,hint,alias,delta\n";
  for (const Refusal& refusal : std::vector<Refusal>{
           {plain + "a,0,3\n", kSyntax, "", "line 3: expected 4 cells, found 3", "column size"},
           {plain + "a,0,3,4,\n", kSyntax, "", "line 3: there are more than 4 cells", "quotes"},
           {plain + "a,0,3,4,5,6\n", kSyntax, "", "more than 4 cells", "quotes"},
           {plain + "a,x,3,4", kBadNumber, "x", "line 3: lower 'x' is not a whole", "digits"},
           {plain + "a,0,3,4.5", kBadNumber, "4.5", "size '4.5' is not a whole", "fraction"},
           {plain + "a,0,3,1e6", kBadNumber, "1e6", "size '1e6' is not a whole", "digits"},
           {plain + "a,0,3,4 KB", kBadNumber, "4 KB", "size '4 KB' is not a whole", "unit"},
           {plain + "a,0,3,+4", kBadNumber, "+4", "size '+4'", "digits"},
           {plain + "a,,3,4", kBadNumber, "", "line 3: lower is empty", "whole number"},
           {plain + "a,0,3,9223372036854775808", kBadNumber, "9223372036854775808",
            "does not fit a signed 64-bit", "smaller"},
           {plain + "a,0,3,99999999999999999999x", kBadNumber, "99999999999999999999x",
            "is not a whole number", "digits"},
           {plain + "a,0,3,-4", kBadBuffer, "-4", "line 3: size -4 is negative", "0 or more"},
           {plain + "a,3,3,4", kBadBuffer, "3", "line 3: the life from 3 to 3 is empty",
            "above lower"},
           {plain + "a,5,3,4", kBadBuffer, "3", "the life from 5 to 3", "above lower"},
           {plain + ",0,3,4", kSyntax, "", "id is empty", "has an id"},
           {plain + "w,0,3,4", kContradiction, "w", "line 3: id 'w' is that of line 2, too",
            "of its own"},
           {plain + "\"a,0,3,4\n", kSyntax, "\"", "line 3: a quote begins here", "twice"},
           {plain + "\"a\nb\"c,0,3,4\n", kSyntax, "c", "line 4: there is text behind", "twice"},
           {plain + "a\"b,0,3,4", kSyntax, "\"", "a quote stands inside", "double"},
           {plain + "\xC3,0,3,4", kSyntax, "\xC3", "not UTF-8", "UTF-8"},
           {full + "a,0,3,4,0,,,,", kBadAlignment, "0", "line 2: alignment 0", "1 or more"},
           {full + "a,0,3,4,8,12,,,", kBadBuffer, "12", "offset 12 is not a multiple", "is 8"},
           {full + "a,0,3,4,,-8,,,", kBadBuffer, "-8", "offset -8 is negative", "or empty"},
           {full + "a,0,3,4,,,-8,,", kBadBuffer, "-8", "hint -8 is negative", "or empty"},
           {full + "a,0,3,4,,,,,8", kBadBuffer, "8", "a delta of 8 but no alias", "from the start"},
           {full + "abcd,0,3,4,,,,,\nb,0,3,4,,,,abce,", kUnknownName, "abce",
            "line 3: no buffer has the id 'abce'", "mean 'abcd'"},
           {full + "a,0,3,4,,,,b,\nb,0,3,4,,,,a,", kBadBuffer, "b", "line 2: ", "no alias"},
           {full + "a,0,3,4,,0,,,\nc,5,9,4,,0,,,\nb,2,5,4,,3,,,", kBadBuffer, "3",
            "line 4: buffer 'b' and buffer 'a' of line 2 are fixed on the same bytes", "apart"},
           {plain + "a,0,3,2305843009213693952\n", kOverflow, "2305843009213693952",
            "line 3: ", "smaller"},
           {full + "a,0,3,4,,,,,\nb,0,3,4,,,,a,9223372036854775807", kOverflow,
            "9223372036854775807", "line 3: ", "smaller"},
       }) {
    expect_refused(refusal);
  }
}

TEST(AllocBuffers, WhatDoesNotFitAloneNamesItsLine) {
  const std::string text = "id,lower,upper,size,offset\na,0,3,64,\nz,0,1,0,99\nb,3,4,32,33\n";
  const BufferFile file = *read_buffers(text);
  EXPECT_TRUE(check_capacity(file, text, 65).ok());
  const Error fixed = check_capacity(file, text, 64).error();
  EXPECT_EQ(fixed.code, ErrorCode::kDoesNotFit);
  EXPECT_EQ(fixed.message, "line 4: 'b' is fixed at 33 and ends at 65, and the capacity is 64");
  EXPECT_EQ(text.substr(static_cast<std::size_t>(fixed.span->from), 2), "33");
  const Error large = check_capacity(file, text, 63).error();
  EXPECT_EQ(large.message, "line 2: 'a' has 64 bytes, and the capacity is 63");
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
