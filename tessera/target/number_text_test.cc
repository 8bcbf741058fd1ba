// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/number_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>

#include "tessera/target/json_tree.h"

namespace tessera::target {
namespace {

TEST(NumberText, Examples) {
  EXPECT_EQ(number_text(25), "25");
  EXPECT_EQ(number_text(28.6), "28.6");
  EXPECT_EQ(number_text(-1.5), "-1.5");
  EXPECT_EQ(number_text(0.8e-6), "8e-7");
  EXPECT_EQ(number_text(14e9), "1.4e10");
  EXPECT_EQ(number_text(1e-20), "1e-20");
  EXPECT_EQ(number_text(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(number_text(0.0), "0");
  EXPECT_EQ(number_text(-0.0), "0");
}

/// The number that a JSON reader takes the text for.
double as_json(const std::string& text) {
  const Result<JsonNode> node = parse_json_tree(text);
  EXPECT_TRUE(node.ok()) << text;
  return node->kind == JsonNode::Kind::kInteger ? static_cast<double>(node->integer) : node->number;
}

// Law: reading number_text(x) gives x. The readers are the C library's and that of descriptions.
TEST(NumberText, ReadsBack) {
  std::mt19937_64 random(7);
  int finite = 0;
  for (int i = 0; i < 20000; ++i) {
    // Any bits, and numbers of a usual size.
    const double number = i % 2 == 0 ? std::bit_cast<double>(random())
                                     : std::ldexp(static_cast<double>(random() >> 11U),
                                                  static_cast<int>(random() % 160) - 120);
    if (!std::isfinite(number)) continue;
    ++finite;
    const std::string text = number_text(number);
    ASSERT_EQ(std::strtod(text.c_str(), nullptr), number) << text;
    ASSERT_EQ(as_json(text), number) << text;
  }
  EXPECT_GT(finite, 19000);
  for (const double number :
       {std::numeric_limits<double>::max(), std::numeric_limits<double>::min(),
        std::numeric_limits<double>::denorm_min()}) {
    EXPECT_EQ(as_json(number_text(number)), number);
  }
}

}  // namespace
}  // namespace tessera::target
