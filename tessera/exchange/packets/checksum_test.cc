// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/packets/checksum.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace tessera::exchange {
namespace {

std::vector<std::byte> random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 255);
  return bytes;
}

TEST(Checksum, IsTheSameOnEveryMachine) {
  // Computed separately, in Python, from the definition: words, little-endian.
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
