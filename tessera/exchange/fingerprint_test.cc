// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/fingerprint.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tessera::exchange {
namespace {

std::uint64_t of_numbers(const std::vector<std::int64_t>& numbers) {
  Fingerprint print;
  for (const std::int64_t number : numbers) print.add(number);
  return print.value();
}

std::uint64_t of_texts(const std::vector<std::string>& texts) {
  Fingerprint print;
  for (const std::string& text : texts) print.add(text);
  return print.value();
}

/// How far `flips[bit]` of `trials` is from a half, in standard deviations.
double deviation(int flips, int trials) {
  return std::abs(flips - trials / 2.0) / std::sqrt(trials / 4.0);
}

TEST(Fingerprint, TellsApartWhatIsNearlyTheSame) {
  std::set<std::uint64_t> values;
  for (std::int64_t a = -20; a <= 20; ++a) {
    values.insert(of_numbers({a}));
    for (std::int64_t b = -20; b <= 20; ++b) {
      values.insert(of_numbers({a, b}));
      values.insert(of_numbers({a, b, 0}));
      values.insert(of_numbers({0, a, b}));
    }
  }
  // {0, n, 0} occurs twice for each of 41 numbers.
  EXPECT_EQ(values.size(), 41u + 3u * 41u * 41u - 41u);
}

TEST(Fingerprint, KnowsWhereTextsEnd) {
  const std::set<std::uint64_t> values = {
      of_texts({}),
      of_texts({""}),
      of_texts({"", ""}),
      of_texts({"ab"}),
      of_texts({"a", "b"}),
      of_texts({"ab", ""}),
      of_texts({"", "ab"}),
      of_texts({"ba"}),
      of_texts({"a"}),
      of_texts({"a", "a"}),
      of_numbers({}),
      of_numbers({0}),
      of_numbers({'a'}),
      of_numbers({1, 'a'}),
      of_texts({"b", "a"}),
      of_texts({"\x01"}),
      of_texts({std::string(1, '\0')}),
      of_texts({std::string(2, '\0')}),
  };
  // 18 sequences, of which the first and of_numbers({}) are both empty.
  EXPECT_EQ(values.size(), 17u);
}

TEST(Fingerprint, EveryBitOfANumberReachesEveryBitOfTheValue) {
  constexpr int kTrials = 4000;
  std::mt19937_64 random(7);
  for (int from = 0; from < 64; from += 3) {
    std::array<int, 64> flips = {};
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto word = static_cast<std::int64_t>(random() >> (trial % 60));
      const auto other =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(word) ^ (std::uint64_t{1} << from));
      const std::uint64_t changed = of_numbers({5, word}) ^ of_numbers({5, other});
      ASSERT_NE(changed, 0u);
      for (int to = 0; to < 64; ++to) flips[to] += static_cast<int>(changed >> to & 1);
    }
    for (int to = 0; to < 64; ++to) {
      EXPECT_LT(deviation(flips[to], kTrials), 6) << "bit " << from << " to bit " << to;
    }
  }
}

TEST(Fingerprint, IsTheSameOnEveryMachine) {
  // Computed separately, in Python, from the definition: words, little-endian.
  Fingerprint print;
  print.add(8192);
  print.add(-1);
  print.add("block-cyclic");
  EXPECT_EQ(print.value(), 0xa7cd5f2a9f50db6bu);
}

}  // namespace
}  // namespace tessera::exchange
