// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/json_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tessera/base/json.h"

namespace tessera {
namespace {

/// The whole text as a value: what a caller who keeps everything would do.
Result<Json> read_value(JsonReader& reader) {
  switch (reader.peek()) {
    case JsonReader::Next::kNull:
      TESSERA_CHECK_OK(reader.null());
      return Json();
    case JsonReader::Next::kBoolean: {
      TESSERA_TRY(const bool value, reader.boolean());
      return Json(value);
    }
    case JsonReader::Next::kNumber: {
      if (reader.is_integer_next()) {
        TESSERA_TRY(const std::int64_t value, reader.integer());
        return Json(value);
      }
      TESSERA_TRY(const double value, reader.real());
      return Json(value);
    }
    case JsonReader::Next::kText: {
      TESSERA_TRY(const std::string value, reader.text());
      return Json(value);
    }
    case JsonReader::Next::kArray: {
      Json list = Json::array();
      TESSERA_CHECK_OK(reader.enter_array());
      while (true) {
        TESSERA_TRY(const bool more, reader.next_item());
        if (!more) return list;
        TESSERA_TRY(Json item, read_value(reader));
        list.push_back(std::move(item));
      }
    }
    case JsonReader::Next::kObject: {
      Json object = Json::object();
      TESSERA_CHECK_OK(reader.enter_object());
      while (true) {
        TESSERA_TRY(const std::optional<std::string> key, reader.next_key());
        if (!key) return object;
        TESSERA_TRY(Json item, read_value(reader));
        object[*key] = std::move(item);
      }
    }
    case JsonReader::Next::kNothing:
      break;
  }
  TESSERA_CHECK_OK(reader.skip());
  return Json();
}

Result<Json> read_all(const std::string& text) {
  JsonReader reader(text);
  TESSERA_TRY(Json json, read_value(reader));
  TESSERA_CHECK_OK(reader.finish());
  return json;
}

bool skips(const std::string& text) {
  JsonReader reader(text);
  return reader.skip() && reader.finish();
}

TEST(JsonReader, ReadsEveryKindOfValue) {
  const std::string text =
      R"( {"a" : [1, -2, 3.5e2, true, false, null], "b\n\u00e4\ud83d\ude00": {"c": "x/y\\"}, "d": []} )";
  const Result<Json> json = read_all(text);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(dump(*json),
            "{\"a\":[1,-2,350.0,true,false,null],\"b\\nä😀\":{\"c\":\"x/y\\\\\"},\"d\":[]}");
  EXPECT_TRUE(skips(text));
}

TEST(JsonReader, ErrorsHaveSpans) {
  struct Case {
    std::string text;
    ErrorCode code;
    Span span;
  };
  const std::vector<Case> cases = {
      {"[1 2]", ErrorCode::kSyntax, {3, 4}},
      {"[1,]", ErrorCode::kSyntax, {3, 4}},
      {"{\"a\" 1}", ErrorCode::kSyntax, {5, 6}},
      {"{a: 1}", ErrorCode::kSyntax, {1, 2}},
      {"[1", ErrorCode::kSyntax, {2, 2}},
      {"\"abc", ErrorCode::kSyntax, {0, 4}},
      {"[01]", ErrorCode::kSyntax, {1, 3}},
      {"9223372036854775808", ErrorCode::kBadNumber, {0, 19}},
      {"1e999", ErrorCode::kBadNumber, {0, 5}},
      {"1 1", ErrorCode::kSyntax, {2, 3}},
      {"\"\xff\"", ErrorCode::kSyntax, {1, 2}},
      {"\"\n\"", ErrorCode::kSyntax, {1, 2}},
  };
  for (const Case& c : cases) {
    const Result<Json> json = read_all(c.text);
    ASSERT_FALSE(json) << c.text;
    EXPECT_EQ(json.error().code, c.code) << c.text;
    EXPECT_EQ(json.error().span, c.span) << c.text << " at " << json.error().span->from;
  }
}

TEST(JsonReader, DepthIsBounded) {
  const std::string deep(100, '[');
  JsonReader reader(deep, 64);
  const Status status = reader.skip();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kTooLarge);
}

/// Accepts what an independent parser accepts, with the same value, on texts with random damage.
TEST(JsonReader, AgreesWithAnotherParser) {
  const std::string base =
      R"({"name":"x\u0041","list":[0,-1,2.5,1e3,true,null,{"k":"\"\\"}],"deep":[[[]],{}]})";
  std::mt19937 dice(7);
  const std::string alphabet = "{}[],:\"\\0123456789-+.eEutrfalsn \x01\x80\xc3\xa4";
  int valid = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = base;
    for (std::size_t edits = dice() % 3; edits > 0; --edits) {
      const std::size_t at = dice() % text.size();
      switch (dice() % 3) {
        case 0:
          text[at] = alphabet[dice() % alphabet.size()];
          break;
        case 1:
          text.erase(at, 1);
          break;
        default:
          text.insert(at, 1, alphabet[dice() % alphabet.size()]);
      }
    }
    const auto reference = nlohmann::json::parse(text, nullptr, false);
    const Result<Json> json = read_all(text);
    ASSERT_EQ(json.ok(), !reference.is_discarded()) << text;
    EXPECT_EQ(skips(text), json.ok()) << text;
    if (!json) continue;
    ++valid;
    EXPECT_EQ(nlohmann::json::parse(dump(*json)), reference) << text;
  }
  EXPECT_GT(valid, 5000);
}

}  // namespace
}  // namespace tessera
