// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/work.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Work, CountsWithoutABudget) {
  const Work all(INT64_MAX);
  EXPECT_TRUE(Work::spend(1000));
  EXPECT_EQ(all.used(), 1000);
  EXPECT_FALSE(Work::is_spent());
}

TEST(Work, EndsExactlyAtTheLimit) {
  const Work work(10);
  EXPECT_TRUE(Work::spend(10));
  EXPECT_EQ(Work::left(), 0);
  EXPECT_FALSE(Work::is_spent());
  EXPECT_FALSE(Work::spend());
  EXPECT_TRUE(Work::is_spent());
  EXPECT_EQ(work.used(), 11);
  EXPECT_EQ(Work::too_large("this").code, ErrorCode::kTooLarge);
}

TEST(Work, APartHasItsOwnLimitButNeverMoreThanTheWhole) {
  const Work whole(100);
  {
    const Work part(10);
    EXPECT_FALSE(Work::spend(20));
  }
  EXPECT_FALSE(Work::is_spent());
  EXPECT_EQ(Work::left(), 89);
  {
    const Work part(1000);
    EXPECT_EQ(Work::left(), 89);
    EXPECT_FALSE(Work::spend(90));
  }
  EXPECT_TRUE(Work::is_spent());
}

TEST(Work, HugeStepsDoNotWrap) {
  const Work whole(100);
  {
    const Work part(5);
    EXPECT_FALSE(Work::spend(INT64_MAX));
    EXPECT_FALSE(Work::spend(INT64_MAX));
    EXPECT_EQ(Work::left(), 0);
  }
  EXPECT_EQ(whole.used(), 6);
}

TEST(Work, WhatCannotBeReservedIsNotSpent) {
  const Work work(100);
  EXPECT_FALSE(Work::reserve(101));
  EXPECT_EQ(work.used(), 0);
  EXPECT_TRUE(Work::reserve(100));
  EXPECT_FALSE(Work::reserve(1));
  EXPECT_EQ(work.used(), 100);
  EXPECT_FALSE(Work::is_spent());
}

}  // namespace
}  // namespace tessera
