// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/agreement/fingerprint.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
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

std::vector<std::byte> random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 255);
  return bytes;
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
  std::vector<std::byte> bytes(100);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(checksum(bytes), 0xe2f8711becfa381bu);
  EXPECT_EQ(checksum({}), 0x1f9afb80322bdbe4u);
}

TEST(Checksum, SeesOneAndTwoFlippedBits) {
  // If all packets with one flipped bit have different checksums, two flips are detected too.
  for (const std::size_t count : {1u, 7u, 8u, 9u, 63u, 64u, 65u, 200u, 4096u}) {
    for (std::vector<std::byte> bytes : {random_bytes(count, 1), std::vector<std::byte>(count)}) {
      std::set<std::uint64_t> seen = {checksum(bytes)};
      for (std::size_t bit = 0; bit < 8 * count; ++bit) {
        bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        EXPECT_TRUE(seen.insert(checksum(bytes)).second) << "bit " << bit << " of " << count;
        bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      }
    }
  }
}

TEST(Checksum, SeesFourFlippedBits) {
  // Random pairs of flips, all with different checksums.
  std::vector<std::byte> bytes = random_bytes(1024, 2);
  std::mt19937 random(9);
  std::set<std::pair<std::size_t, std::size_t>> tried;
  std::set<std::uint64_t> seen = {checksum(bytes)};
  const auto flip = [&](std::size_t bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  };
  for (int trial = 0; trial < 20'000; ++trial) {
    const std::size_t a = random() % 8192;
    const std::size_t b = random() % 8192;
    if (a <= b || !tried.insert({a, b}).second) continue;
    flip(a);
    flip(b);
    EXPECT_TRUE(seen.insert(checksum(bytes)).second) << a << " and " << b;
    flip(a);
    flip(b);
  }
}

TEST(Checksum, SeesALostEndAlsoOfZeros) {
  const std::vector<std::byte> zeros(4096);
  const std::vector<std::byte> noise = random_bytes(4096, 3);
  std::set<std::uint64_t> seen;
  for (std::size_t count = 0; count <= 4096; ++count) {
    EXPECT_TRUE(seen.insert(checksum(std::span(zeros).first(count))).second) << count;
    if (count == 0) continue;
    EXPECT_TRUE(seen.insert(checksum(std::span(noise).first(count))).second) << count;
  }
}

TEST(Checksum, SeesSwappedWordsAndBlocks) {
  std::vector<std::byte> bytes = random_bytes(1024, 4);
  const std::uint64_t whole = checksum(bytes);
  for (const std::size_t width : {8u, 64u, 256u}) {
    for (std::size_t i = 0; i + width <= bytes.size(); i += width) {
      for (std::size_t j = i + width; j + width <= bytes.size(); j += width) {
        std::vector<std::byte> swapped = bytes;
        std::memcpy(swapped.data() + i, bytes.data() + j, width);
        std::memcpy(swapped.data() + j, bytes.data() + i, width);
        EXPECT_NE(checksum(swapped), whole) << width << ": " << i << " and " << j;
      }
    }
  }
}

TEST(Checksum, DoesNotDependOnWhereThePacketLies) {
  const std::vector<std::byte> bytes = random_bytes(777, 5);
  std::vector<std::byte> room(bytes.size() + 64);
  for (std::size_t shift = 0; shift < 64; ++shift) {
    std::memcpy(room.data() + shift, bytes.data(), bytes.size());
    EXPECT_EQ(checksum(std::span(room).subspan(shift, bytes.size())), checksum(bytes)) << shift;
  }
}

}  // namespace
}  // namespace tessera::exchange
