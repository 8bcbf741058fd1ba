// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {
namespace {

TEST(Text, CatJoinsItsArguments) {
  EXPECT_EQ(cat(), "");
  EXPECT_EQ(cat("rank ", 3, " of ", std::string("name")), "rank 3 of name");
  EXPECT_EQ(cat('[', std::int64_t{-7}, ']'), "[-7]");
  EXPECT_EQ(cat(INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(cat(std::size_t{18}), "18");
}

TEST(Text, JoinAndBracketed) {
  const std::vector<std::int64_t> none;
  const std::vector<std::int64_t> one = {18};
  const std::vector<std::int64_t> two = {18, 32};
  EXPECT_EQ(join(none, "x"), "");
  EXPECT_EQ(join(one, "x"), "18");
  EXPECT_EQ(join(two, "x"), "18x32");
  EXPECT_EQ(bracketed(none), "[]");
  EXPECT_EQ(bracketed(two), "[18, 32]");
}

}  // namespace
}  // namespace tessera
