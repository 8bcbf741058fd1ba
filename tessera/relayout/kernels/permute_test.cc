// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/kernels/permute.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <span>

#include "tessera/relayout/kernels/kernels.h"

namespace tessera::relayout {
namespace {

using Bytes = std::vector<std::byte>;

/// Calls `check` with each instruction set that this machine has, and with none chosen.
void on_every_target(const std::function<void(const char* name)>& check) {
  const std::int64_t supported = hwy::SupportedTargets();
  for (std::int64_t rest = supported; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    hwy::SetSupportedTargetsForTest(target);
    check(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
}

Bytes random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// An array at a chosen distance from a line, with canaries before and after it.
class Guarded {
 public:
  Guarded(std::int64_t bytes, std::int64_t past)
      : memory_(static_cast<std::size_t>(bytes + 4 * kLine), kCanary), bytes_(bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
    const auto whole = static_cast<std::uintptr_t>(kLine);
    begin_ = static_cast<std::int64_t>((whole - at % whole) % whole) + kLine + past;
  }
  std::byte* data() { return memory_.data() + begin_; }
  std::span<const std::byte> span() const {
    return {memory_.data() + begin_, static_cast<std::size_t>(bytes_)};
  }
  bool canaries_live() const {
    const auto is_canary = [](std::byte byte) { return byte == kCanary; };
    return std::all_of(memory_.begin(), memory_.begin() + begin_, is_canary) &&
           std::all_of(memory_.begin() + begin_ + bytes_, memory_.end(), is_canary);
  }

 private:
  static constexpr std::byte kCanary{0xc3};
  Bytes memory_;
  std::int64_t bytes_;
  std::int64_t begin_ = 0;
};

std::vector<std::uint16_t> odd_even(std::size_t n) {
  std::vector<std::uint16_t> source_of;
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t i = half; i < n; i += 2) source_of.push_back(static_cast<std::uint16_t>(i));
  }
  return source_of;
}

/// Law: element i of each block is element source_of[i] of the source block.
void check_blocks(const std::vector<std::uint16_t>& source_of, int element_bytes,
                  std::int64_t blocks, std::int64_t past, bool streaming, const char* target) {
  const auto permutation = BlockPermutation::make(source_of, element_bytes);
  ASSERT_TRUE(permutation.has_value());
  const auto block = static_cast<std::int64_t>(source_of.size()) * element_bytes;
  ASSERT_EQ(permutation->block_bytes(), block);
  // The source has its exact size: a sanitizer detects reads past its end.
  const Bytes from = random_bytes(static_cast<std::size_t>(blocks * block), 7);
  Bytes expected(from.size());
  for (std::int64_t b = 0; b < blocks; ++b) {
    for (std::size_t i = 0; i < source_of.size(); ++i) {
      std::memcpy(expected.data() + b * block + static_cast<std::int64_t>(i) * element_bytes,
                  from.data() + b * block + std::int64_t{source_of[i]} * element_bytes,
                  static_cast<std::size_t>(element_bytes));
    }
  }
  Guarded to(blocks * block, past);
  permutation->run(from.data(), to.data(), blocks, streaming);
  finish_streaming();
  EXPECT_TRUE(std::ranges::equal(to.span(), expected))
      << target << ": " << source_of.size() << " elements of " << element_bytes << " bytes, "
      << blocks << " blocks, " << past << " past a line, streaming " << streaming;
  EXPECT_TRUE(to.canaries_live()) << target << ": " << source_of.size() << "x" << element_bytes;
}

TEST(BlockPermutation, OddEvenOnEveryTarget) {
  on_every_target([](const char* target) {
    for (const int bytes : {1, 2, 4, 8}) {
      for (const std::int64_t blocks : {0, 1, 3, 17, 300}) {
        for (const std::int64_t past : {0, 1, 24}) {
          for (const bool streaming : {false, true}) {
            check_blocks(odd_even(16), bytes, blocks, past, streaming, target);
          }
        }
      }
    }
  });
}

/// Blocks of every size, so that groups end inside lines and at their ends.
TEST(BlockPermutation, RandomOrdersOfEverySize) {
  on_every_target([](const char* target) {
    std::mt19937_64 random(11);
    for (const int bytes : {1, 2, 4, 8}) {
      for (std::int64_t n = 1; n * bytes <= BlockPermutation::kMaxBytes; ++n) {
        std::vector<std::uint16_t> source_of(static_cast<std::size_t>(n));
        std::iota(source_of.begin(), source_of.end(), std::uint16_t{0});
        std::shuffle(source_of.begin(), source_of.end(), random);
        check_blocks(source_of, bytes, 1 + static_cast<std::int64_t>(random() % 40),
                     static_cast<std::int64_t>(random() % 3 * 8), n % 2 == 0, target);
      }
    }
  });
}

TEST(BlockPermutation, RefusesWhatIsNone) {
  EXPECT_FALSE(BlockPermutation::make({}, 4).has_value());
  EXPECT_FALSE(BlockPermutation::make({0, 0}, 4).has_value());
  EXPECT_FALSE(BlockPermutation::make({0, 2}, 4).has_value());
  EXPECT_FALSE(BlockPermutation::make({1, 0}, 3).has_value());
  EXPECT_FALSE(BlockPermutation::make(odd_even(66), 4).has_value());
  EXPECT_TRUE(BlockPermutation::make(odd_even(64), 4).has_value());
}

struct Streams {
  int k;
  int element_bytes;
  std::int64_t n;
  std::int64_t past;       ///< how far the first array is past a line
  std::int64_t past_each;  ///< and each further stream from the one before
  bool streaming;
};

std::string described(const Streams& s, const char* target) {
  return std::string(target) + ": " + std::to_string(s.k) + " streams of " + std::to_string(s.n) +
         " x " + std::to_string(s.element_bytes) + " bytes, " + std::to_string(s.past) + "+" +
         std::to_string(s.past_each) + " past a line, streaming " + std::to_string(s.streaming);
}

/// Law: out[i·k + j] = streams[j][i], both ways.
void check_streams(const Streams& s, const char* target) {
  const std::int64_t stream_bytes = s.n * s.element_bytes;
  std::vector<Bytes> streams;
  std::vector<const std::byte*> from;
  for (int j = 0; j < s.k; ++j) {
    streams.push_back(
        random_bytes(static_cast<std::size_t>(stream_bytes), 100 + static_cast<std::uint64_t>(j)));
  }
  for (const Bytes& stream : streams) from.push_back(stream.data());
  Bytes together(static_cast<std::size_t>(stream_bytes * s.k));
  for (std::int64_t i = 0; i < s.n; ++i) {
    for (int j = 0; j < s.k; ++j) {
      std::memcpy(together.data() + (i * s.k + j) * s.element_bytes,
                  streams[static_cast<std::size_t>(j)].data() + i * s.element_bytes,
                  static_cast<std::size_t>(s.element_bytes));
    }
  }
  Guarded out(stream_bytes * s.k, s.past);
  interleave(from.data(), s.k, out.data(), s.n, s.element_bytes, s.streaming);
  finish_streaming();
  EXPECT_TRUE(std::ranges::equal(out.span(), together)) << described(s, target);
  EXPECT_TRUE(out.canaries_live()) << described(s, target);

  std::vector<Guarded> apart;
  std::vector<std::byte*> to;
  for (int j = 0; j < s.k; ++j) apart.emplace_back(stream_bytes, s.past + j * s.past_each);
  for (Guarded& stream : apart) to.push_back(stream.data());
  deinterleave(together.data(), s.k, to.data(), s.n, s.element_bytes, s.streaming);
  finish_streaming();
  for (std::size_t j = 0; j < apart.size(); ++j) {
    EXPECT_TRUE(std::ranges::equal(apart[j].span(), streams[j])) << described(s, target);
    EXPECT_TRUE(apart[j].canaries_live()) << described(s, target);
  }
}

TEST(Interleave, EveryKindOnEveryTarget) {
  on_every_target([](const char* target) {
    for (const int k : {2, 3, 4}) {
      for (const int bytes : {1, 2, 4, 8}) {
        for (const std::int64_t n : {0, 1, 7, 64, 200, 2001}) {
          for (const std::int64_t past : {0, 5, 16}) {
            for (const bool streaming : {false, true}) {
              check_streams({k, bytes, n, past, 0, streaming}, target);
            }
          }
        }
      }
    }
  });
}

/// Streams that no head can align to a line at the same time.
TEST(Interleave, StreamsOfDifferentAlignment) {
  on_every_target([](const char* target) {
    for (const int k : {2, 3, 4}) {
      for (const int bytes : {1, 2, 4, 8}) {
        for (const std::int64_t past_each : {1, 8}) {
          check_streams({k, bytes, 3000, 3, past_each, true}, target);
        }
      }
    }
  });
}

}  // namespace
}  // namespace tessera::relayout
