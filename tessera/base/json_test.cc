// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

// The text is compared with that of another library, nlohmann/json, for the same value.
namespace tessera {
namespace {

using Peer = nlohmann::ordered_json;

std::string peer_dump(const Peer& json) {
  return json.dump(-1, ' ', false, Peer::error_handler_t::replace);
}

TEST(Json, TheExampleOfTheHeader) {
  Json json;
  json["shape"] = std::vector{53, 63};
  json["tile"] = std::optional<int>();
  json["fill"] = Json::array();
  json["fill"].push_back({{"axis", 0}, {"kind", "fixed"}});
  EXPECT_EQ(dump(json), R"({"shape":[53,63],"tile":null,"fill":[{"axis":0,"kind":"fixed"}]})");
  EXPECT_EQ(dump(Json{1, 2.0, 1e300, "a\n"}), R"([1,2.0,1e+300,"a\n"])");
}

TEST(Json, WhatBracesMake) {
  EXPECT_EQ(dump(Json{{"a", 1}, {"b", 2}}), R"({"a":1,"b":2})");
  EXPECT_EQ(dump(Json{{"a", {{"b", nullptr}}}}), R"({"a":{"b":null}})");
  EXPECT_EQ(dump(Json({1, 2})), "[1,2]");
  EXPECT_EQ(dump(Json({"a", 2})), R"(["a",2])");
  EXPECT_EQ(dump(Json{{"a", 1}, {2, 3}}), R"([["a",1],[2,3]])");
  EXPECT_EQ(dump(Json::array({Json{"a", 1}})), R"([["a",1]])");
  EXPECT_EQ(dump(Json::array({{{"a", 1}}})), R"([{"a":1}])");
  EXPECT_EQ(dump(Json::array()), "[]");
  EXPECT_EQ(dump(Json::object()), "{}");
  EXPECT_EQ(dump(Json{}), "null");
}

TEST(Json, WhatValuesMake) {
  EXPECT_EQ(dump(true), "true");
  EXPECT_EQ(dump(std::string("x")), "\"x\"");
  EXPECT_EQ(dump(std::string_view("x")), "\"x\"");
  EXPECT_EQ(dump(std::vector<std::vector<int>>{{1, 2}, {}}), "[[1,2],[]]");
  EXPECT_EQ(dump(std::vector<std::string>{"a"}), "[\"a\"]");
  EXPECT_EQ(dump(std::vector<bool>{true, false}), "[true,false]");
  EXPECT_EQ(dump(std::optional(std::vector{1})), "[1]");
  EXPECT_EQ(dump(std::size_t{7}), "7");
  EXPECT_EQ(dump(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(dump(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  std::string out = "x = ";
  dump(Json{1, 2}, out);
  EXPECT_EQ(out, "x = [1,2]");
  std::ostringstream stream;
  stream << Json{1, 2};
  EXPECT_EQ(stream.str(), "[1,2]");
}

TEST(Json, ReadingWhatIsNotThereIsNull) {
  const Json json = {{"list", {1, 2}}, {"text", "a"}};
  EXPECT_EQ(json["list"][1], 2);
  EXPECT_TRUE(json["list"][2].is_null());
  EXPECT_TRUE(json["list"]["key"].is_null());
  EXPECT_TRUE(json["no"]["such"][5].is_null());
  EXPECT_TRUE(json["text"][0].is_null());
  EXPECT_FALSE(json.contains("no"));
  EXPECT_EQ(json.find("no"), nullptr);
  EXPECT_EQ(json.find("text"), &json["text"]);
  EXPECT_EQ(json.size(), 2U);
  EXPECT_EQ(json["list"].size(), 2U);
  EXPECT_EQ(json["text"].size(), 0U);
  EXPECT_TRUE(json["text"].members().empty());
  for (const Json& item : json) ADD_FAILURE() << item << " of an object";
}

TEST(Json, Members) {
  Json json;
  json["b"] = 1;
  json["a"] = 2;
  json["b"] = 3;
  std::string all;
  for (const auto& [key, value] : json.members()) all += key + dump(value);
  EXPECT_EQ(all, "b3a2");
  EXPECT_NE(json, (Json{{"a", 2}, {"b", 3}})) << "the order of keys counts";
  EXPECT_EQ(json, (Json{{"b", 3}, {"a", 2}}));
}

TEST(Json, Kinds) {
  EXPECT_TRUE(Json(nullptr).is_null());
  EXPECT_TRUE(Json(false).is_boolean());
  EXPECT_TRUE(Json("").is_string());
  EXPECT_TRUE(Json::array().is_array());
  EXPECT_TRUE(Json::object().is_object());
  EXPECT_TRUE(Json(7U).is_integer());
  EXPECT_FALSE(Json(7.0).is_integer());
  EXPECT_FALSE(Json(std::numeric_limits<std::uint64_t>::max()).is_integer());
  const Json one_of_each = {nullptr, true, 1, 1.5, "a", Json::array(), Json::object()};
  const Peer peer = {nullptr, true, 1, 1.5, "a", Peer::array(), Peer::object()};
  for (std::size_t i = 0; i < peer.size(); ++i) {
    EXPECT_EQ(one_of_each[i].kind_name(), peer[i].type_name());
    for (std::size_t k = 0; k < peer.size(); ++k) {
      EXPECT_EQ(one_of_each[i] == one_of_each[k], i == k);
    }
  }
}

TEST(Json, Get) {
  EXPECT_EQ(Json(true).get<bool>(), true);
  EXPECT_EQ(Json(-5).get<int>(), -5);
  EXPECT_EQ(Json(255).get<std::uint8_t>(), 255);
  EXPECT_EQ(Json(5U).get<std::int64_t>(), 5);
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(Json(kLargest).get<std::uint64_t>(), kLargest);
  EXPECT_EQ(Json(5).get<double>(), 5.0);
  EXPECT_EQ(Json(kLargest).get<double>(), 0x1p64);
  EXPECT_EQ(Json("a").get<std::string>(), "a");
  EXPECT_EQ((Json{1, 2}.get<std::vector<int>>()), (std::vector{1, 2}));
  EXPECT_EQ(Json(5U), Json(5)) << "the type of an integer does not count";
  EXPECT_NE(Json(5), Json(5.0)) << "5 and 5.0 are other texts";
}

/// Digits of a number's text without leading and trailing zeros, sign and exponent.
std::size_t digits(const std::string& text) {
  std::string all;
  for (const char c : text.substr(0, text.find('e'))) {
    if (c >= '0' && c <= '9' && (!all.empty() || c != '0')) all += c;
  }
  while (!all.empty() && all.back() == '0') all.pop_back();
  return all.size();
}

/// Whether the text equals that of the peer. The peer uses Grisu2, which is not always shortest: if
/// the texts differ, ours must read back as the same value and have no more digits.
bool is_text_of_peer(double value) {
  const std::string text = dump(value);
  const std::string peer = peer_dump(value);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)),
            std::bit_cast<std::uint64_t>(value))
      << text;
  if (text == peer) return true;
  EXPECT_LE(digits(text), digits(peer)) << text << " " << peer;
  EXPECT_EQ(text.find('e') == std::string::npos, peer.find('e') == std::string::npos)
      << text << " " << peer;
  return false;
}

TEST(Json, RealNumbersByHand) {
  using Limits = std::numeric_limits<double>;
  std::vector<double> values = {Limits::max(), Limits::min(), Limits::denorm_min(), 2.0 / 3};
  std::istringstream more(
      "0 1 0.1 0.3 1.5 4.35 100 123456 11377.8 1e9 123456789012345 999999999999999 "
      "12345678901234.5 1e14 1e15 1e16 1e17 1e21 1e22 1234567890123456 9007199254740991 "
      "9007199254740993 0.001 0.0001 0.00012 0.00001 2.5e-5 1e-7 1e100 1e-100");
  for (double value = 0; more >> value;) values.push_back(value);
  ASSERT_EQ(values.size(), 34U);
  for (const double value : values) {
    EXPECT_EQ(dump(value), peer_dump(value));
    EXPECT_EQ(dump(-value), peer_dump(-value));
  }
  for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) EXPECT_EQ(dump(value), "null");
  EXPECT_EQ(dump(0.5F), "0.5");
  EXPECT_EQ(dump(1e23), "1e+23");
  EXPECT_EQ(peer_dump(1e23), "9.999999999999999e+22") << "the peer is not always shortest";
}

TEST(Json, RealNumbersAtRandom) {
  std::mt19937_64 random(20240607);
  int tried = 0;
  int differ = 0;
  const auto check = [&](double value) {
    if (!std::isfinite(value)) return;
    ++tried;
    if (!is_text_of_peer(value)) ++differ;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    check(std::bit_cast<double>(bits));                              // of any size
    check(std::bit_cast<double>(bits & 0x800F'FFFF'FFFF'FFFF));      // subnormal
    check(static_cast<double>(bits >> 20) * 0x1p-30);                // with 44 bits
    check(static_cast<double>(bits % 1'000'000) / 1000);             // with few digits
    check(static_cast<double>(static_cast<std::int64_t>(bits)));     // whole
    check(std::ldexp(1.0, static_cast<int>(bits % 2098) - 1074));    // powers of two
    check(std::pow(10.0, static_cast<double>(bits % 600) - 300.0));  // powers of ten, nearly
  }
  EXPECT_GT(tried, 130'000);
  EXPECT_LT(differ, tried / 200);
}

TEST(Json, IntegersAtRandom) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random() >> (random() % 64);
    EXPECT_EQ(dump(bits), peer_dump(bits));
    EXPECT_EQ(dump(static_cast<std::int64_t>(bits)), peer_dump(static_cast<std::int64_t>(bits)));
  }
}

TEST(Json, EveryCodePointAndItsParts) {
  for (char32_t point = 0; point < 0x11'0000; point += point < 0x3000 ? 1 : 0x7F) {
    std::string text;
    if (point < 0x80) {
      text = {static_cast<char>(point)};
    } else if (point < 0x800) {
      text = {static_cast<char>(0xC0 | point >> 6), static_cast<char>(0x80 | (point & 63))};
    } else if (point < 0x1'0000) {  // also the surrogates, which are not UTF-8
      text = {static_cast<char>(0xE0 | point >> 12), static_cast<char>(0x80 | (point >> 6 & 63)),
              static_cast<char>(0x80 | (point & 63))};
    } else {
      text = {static_cast<char>(0xF0 | point >> 18), static_cast<char>(0x80 | (point >> 12 & 63)),
              static_cast<char>(0x80 | (point >> 6 & 63)), static_cast<char>(0x80 | (point & 63))};
    }
    for (std::size_t size = 1; size <= text.size(); ++size) {
      const std::string part = text.substr(0, size);
      ASSERT_EQ(dump(part), peer_dump(part)) << static_cast<unsigned>(point);
      ASSERT_EQ(dump(part + "x"), peer_dump(part + "x")) << static_cast<unsigned>(point);
    }
  }
}

TEST(Json, EveryPairOfBytes) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text = {static_cast<char>(a), static_cast<char>(b), '\x80', 'x'};
      ASSERT_EQ(dump(text), peer_dump(text)) << a << " " << b;
    }
  }
}

/// Bytes of which most begin or continue a code point of several bytes.
std::string random_bytes(std::mt19937_64& random) {
  constexpr std::string_view kLikely =
      "\x80\x8F\x90\x9F\xA0\xBF\xC1\xC2\xE0\xE1\xED\xEF\xF0\xF4\xF5"
      "a\"";
  std::string text;
  for (std::size_t size = random() % 12; size > 0; --size) {
    text += random() % 3 == 0 ? static_cast<char>(random()) : kLikely[random() % kLikely.size()];
  }
  return text;
}

TEST(Json, TextsAtRandom) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 50000; ++i) {
    const std::string text = random_bytes(random);
    ASSERT_EQ(dump(text), peer_dump(text));
  }
}

struct Both {
  Json ours;
  Peer peer;
};

Both random_value(std::mt19937_64& random, int depth) {
  switch (random() % (depth > 0 ? 7 : 5)) {
    case 0:
      return {nullptr, nullptr};
    case 1: {
      const bool value = random() % 2 == 0;
      return {value, value};
    }
    case 2: {
      const auto value = static_cast<std::int64_t>(random());
      return {value, value};
    }
    case 3: {
      const double value = static_cast<double>(random() % 100'000) / 16;  // few digits
      return {value, value};
    }
    case 4: {
      const std::string value = random_bytes(random);
      return {value, value};
    }
    case 5: {
      Both both{Json::array(), Peer::array()};
      for (std::size_t size = random() % 5; size > 0; --size) {
        const Both item = random_value(random, depth - 1);
        both.ours.push_back(item.ours);
        both.peer.push_back(item.peer);
      }
      return both;
    }
    default: {
      Both both{Json::object(), Peer::object()};
      for (std::size_t size = random() % 5; size > 0; --size) {
        const std::string key(1, static_cast<char>('a' + random() % 8));  // some of them twice
        const Both item = random_value(random, depth - 1);
        both.ours[key] = item.ours;
        both.peer[key] = item.peer;
      }
      return both;
    }
  }
}

TEST(Json, ValuesAtRandom) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 20000; ++i) {
    const Both both = random_value(random, 5);
    ASSERT_EQ(dump(both.ours), peer_dump(both.peer));
    const Json copy = both.ours;
    ASSERT_EQ(copy, both.ours);
  }
}

}  // namespace
}  // namespace tessera
