// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/checked.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tessera {
namespace {

constexpr std::int64_t kMax = INT64_MAX;
constexpr std::int64_t kMin = INT64_MIN;

// The reference: the same operation in 128 bits.
bool fits(__int128 number) { return number >= kMin && number <= kMax; }

const std::vector<std::int64_t>& edge_numbers() {
  static const std::vector<std::int64_t> numbers = {
      kMin, kMin + 1, -3037000500, -4294967296, -7,         -2,         -1,       0,
      1,    2,        7,           4294967295,  3037000499, 3037000500, kMax - 1, kMax};
  return numbers;
}

TEST(Checked, EveryStepAgreesWith128Bits) {
  for (const std::int64_t a : edge_numbers()) {
    for (const std::int64_t b : edge_numbers()) {
      const __int128 wide_a = a;
      const __int128 wide_b = b;
      EXPECT_EQ((Checked(a) + b).overflowed(), !fits(wide_a + wide_b)) << a << " + " << b;
      EXPECT_EQ((Checked(a) - b).overflowed(), !fits(wide_a - wide_b)) << a << " - " << b;
      EXPECT_EQ((Checked(a) * b).overflowed(), !fits(wide_a * wide_b)) << a << " * " << b;
      if (fits(wide_a + wide_b)) {
        EXPECT_EQ((Checked(a) + b).raw(), a + b);
      }
      if (fits(wide_a - wide_b)) {
        EXPECT_EQ((Checked(a) - b).raw(), a - b);
      }
      if (fits(wide_a * wide_b)) {
        EXPECT_EQ((Checked(a) * b).raw(), a * b);
      }
    }
  }
}

TEST(Checked, AnOverflowIsNeverForgotten) {
  Checked number = Checked(kMax) + 1;
  number -= 1;
  number *= 0;
  number += 5;
  EXPECT_TRUE(number.overflowed());
  EXPECT_EQ(number.saturated(), kMax);
  const auto value = number.value("slots");
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.error().code, ErrorCode::kOverflow);
  EXPECT_NE(value.error().message.find("slots"), std::string::npos);
  EXPECT_FALSE(value.error().help.empty());
}

TEST(Checked, AFormulaThatFitsHasAValue) {
  const auto value = (Checked(53) * 63 + 7).value("slots");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 3346);
  EXPECT_EQ((Checked(53) * 63 + 7).saturated(), 3346);
}

TEST(Division, CeilFloorAndMod) {
  EXPECT_EQ(ceil_div(0, 3), 0);
  EXPECT_EQ(ceil_div(53, 3), 18);
  EXPECT_EQ(ceil_div(54, 3), 18);
  EXPECT_EQ(ceil_div(kMax, 1), kMax);
  EXPECT_EQ(ceil_div(kMax, 2), kMax / 2 + 1);
  EXPECT_EQ(ceil_div(kMax, kMax), 1);
  for (std::int64_t a = -20; a <= 20; ++a) {
    for (std::int64_t b = 1; b <= 7; ++b) {
      EXPECT_EQ(floor_div(a, b) * b + floor_mod(a, b), a);
      EXPECT_GE(floor_mod(a, b), 0);
      EXPECT_LT(floor_mod(a, b), b);
      if (a >= 0) {
        EXPECT_EQ(ceil_div(a, b), -floor_div(-a, b));
      }
    }
  }
  EXPECT_EQ(floor_div(kMin, 2), kMin / 2);
  EXPECT_EQ(floor_mod(kMin, kMax), kMax - 1);
}

TEST(Lcm, SaturatesInsteadOfOverflowing) {
  EXPECT_EQ(saturating_lcm(18, 32), 288);
  EXPECT_EQ(saturating_lcm(1, 1), 1);
  EXPECT_EQ(saturating_lcm(kMax, kMax), kMax);
  EXPECT_EQ(saturating_lcm(kMax, 2), kMax);
  EXPECT_EQ(saturating_lcm(std::int64_t{1} << 62, 3), kMax);
}

}  // namespace
}  // namespace tessera
