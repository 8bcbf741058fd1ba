// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/repeats.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace tessera {
namespace {

std::optional<Repeat> naive(const std::vector<std::int64_t>& numbers) {
  for (std::size_t j = 0; j < numbers.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      if (numbers[i] == numbers[j]) return Repeat{i, j};
    }
  }
  return std::nullopt;
}

TEST(Repeats, TheOneThatComesFirst) {
  EXPECT_EQ(first_repeat(std::vector<std::int64_t>{}), std::nullopt);
  EXPECT_EQ(first_repeat(std::vector<std::int64_t>{0}), std::nullopt);
  EXPECT_EQ(first_repeat(std::vector<std::int64_t>{INT64_MAX, 0}), std::nullopt);
  EXPECT_EQ(first_repeat(std::vector<std::int64_t>{INT64_MAX, INT64_MAX}), (Repeat{0, 1}));
  EXPECT_EQ(first_repeat(std::vector<std::int64_t>{4, 7, 9, 7, 4}), (Repeat{1, 3}));
}

TEST(Repeats, DenseAndSparseListsAgreeWithAllPairs) {
  std::mt19937_64 random(1);
  int repeated = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::int64_t> numbers(random() % 12);
    const std::uint64_t range = i % 2 == 0 ? 40 : std::uint64_t{1} << 62;
    const std::uint64_t spread = range / 20;  // so that sparse ones repeat as well
    for (std::int64_t& number : numbers) {
      number = static_cast<std::int64_t>(random() % 20 * spread);
    }
    const std::optional<Repeat> expected = naive(numbers);
    EXPECT_EQ(first_repeat(numbers), expected);
    repeated += expected ? 1 : 0;
  }
  EXPECT_GT(repeated, 1000);
  EXPECT_LT(repeated, 3500);
}

}  // namespace
}  // namespace tessera
