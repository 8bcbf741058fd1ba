// SPDX-License-Identifier: Apache-2.0
#include "tools/json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace tessera::tools {
namespace {

TEST(ParseJson, Values) {
  EXPECT_EQ(parse_json("null"), std::optional<Json>(Json()));
  EXPECT_EQ(parse_json(" [1, -2, 18446744073709551615, 1.0, true, \"\\u00e9\\n\"] ").value(),
            (Json{1, -2, 18446744073709551615U, 1.0, true, "\xC3\xA9\n"}));
  EXPECT_EQ(parse_json(R"({"b": {}, "a": {"c": [[], {}]}})").value(),
            (Json{{"b", Json::object()}, {"a", {{"c", {Json::array(), Json::object()}}}}}));
  EXPECT_EQ(dump(parse_json(R"({"a": 1, "b": 2, "a": 3})").value()), R"({"a":3,"b":2})");
}

TEST(ErrorJson, HasReasonsOnlyWhereThereAreAny) {
  Error error{ErrorCode::kNotSupported, "a", std::nullopt, "b"};
  EXPECT_EQ(dump(error_json(error)),
            R"({"error":{"code":"not_supported","message":"a","span":null,"help":"b"}})");
  error.reasons = {{"element_elsewhere", {{"index", std::vector<std::int64_t>{0, 1}}, {"slot", 3}}},
                   {"stored_as", {{"dtype", "f32"}}},
                   {"shared_slots"}};
  EXPECT_EQ(
      dump(error_json(error)["error"]["reasons"]),
      R"([{"reason":"element_elsewhere","facts":{"index":[0,1],"slot":3}},)"
      R"({"reason":"stored_as","facts":{"dtype":"f32"}},{"reason":"shared_slots","facts":{}}])");
}

TEST(ParseJson, NoValues) {
  for (const char* text : {"", "{", "[1,]", "{\"a\"}", "1 2", "nul", "1e999", "\"\xff\"", "'a'"}) {
    EXPECT_FALSE(parse_json(text)) << text;
  }
}

Json random_value(std::mt19937_64& random, int depth) {
  switch (random() % (depth > 0 ? 7 : 5)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return random() % 2 == 0 ? Json(random()) : Json(static_cast<std::int64_t>(random()));
    case 3: {
      const std::uint64_t bits = random();
      double value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return std::isfinite(value) ? value : -0.0;
    }
    case 4:
      return std::string(random() % 4, static_cast<char>(random() % 128));
    case 5: {
      Json list = Json::array();
      for (std::size_t size = random() % 5; size > 0; --size) {
        list.push_back(random_value(random, depth - 1));
      }
      return list;
    }
    default: {
      Json object = Json::object();
      for (std::size_t size = random() % 5; size > 0; --size) {
        object[std::string(size, 'k')] = random_value(random, depth - 1);
      }
      return object;
    }
  }
}

/// Law: parse_json(dump(x)) == x.
TEST(ParseJson, ReadsWhatIsPrinted) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    const Json json = random_value(random, 5);
    const std::string text = dump(json);
    const std::optional<Json> again = parse_json(text);
    ASSERT_TRUE(again) << text;
    ASSERT_EQ(*again, json);
    ASSERT_EQ(dump(*again), text);
  }
}

TEST(ParseObject, Refuses) {
  const std::string deep(kMaxJsonDepth + 1, '[');
  const std::string many = "{\"a\":[" + std::string(kMaxJsonValues + 1, ',');
  for (const std::string& text :
       {std::string("[1]"), std::string("1"), std::string("{"), std::string("{} {}"),
        std::string(R"({"a": 1, "a": 1})"), std::string("{\"\xff\": 1}"), deep, many}) {
    const Result<Json> json = parse_object(text);
    ASSERT_FALSE(json) << text;
    EXPECT_EQ(json.error().code, ErrorCode::kBadJson);
  }
  EXPECT_EQ(parse_object(std::string(kMaxJsonBytes + 1, ' ')).error().code,
            ErrorCode::kTextTooLong);
  EXPECT_TRUE(parse_object(R"({"a": {"b": 1, "b": 2}})")) << "only the request's own keys count";
}

}  // namespace
}  // namespace tessera::tools
