// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_buffers.h"

#include <gtest/gtest.h>

#include "tessera/base/text.h"
#include "tools/alloc/alloc_csv.h"
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
           {"id,start,end,size,gaps\n", kNotSupported, "gaps", "1", "remove"},
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
