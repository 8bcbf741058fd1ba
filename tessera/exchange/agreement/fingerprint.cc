// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/agreement/fingerprint.h"

#include <array>
#include <bit>
#include <cstring>

namespace tessera::exchange {
namespace {

// Odd numbers without a pattern: the first 64 bits of the fractions of the square roots of 2, 3, 5,
// 7 and so on, with the last bit set.
constexpr std::uint64_t kTwo = 0x6a09e667f3bcc909;
constexpr std::uint64_t kThree = 0xbb67ae8584caa73b;
constexpr std::uint64_t kFive = 0x3c6ef372fe94f82b;
constexpr std::uint64_t kSeven = 0xa54ff53a5f1d36f1;
constexpr std::uint64_t kEleven = 0x510e527fade682d1;
constexpr std::uint64_t kThirteen = 0x9b05688c2b3e6c1f;
constexpr std::uint64_t kSeventeen = 0x1f83d9abfb41bd6b;
constexpr std::uint64_t kNineteen = 0x5be0cd19137e2179;

/// Bijective, and every bit of `x` affects every bit of the result: multiplying carries bits
/// upwards, shifting moves them down.
std::uint64_t avalanche(std::uint64_t x) {
  x ^= x >> 32;
  x *= kThree;
  x ^= x >> 29;
  x *= kSeven;
  return x ^ (x >> 32);
}

/// The first 8 of `bytes` as a little-endian number, on any machine.
std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

/// Bijective in `lane` for every `word`, and in `word` for every `lane`: values that differ once
/// stay different. The shift moves the high bits down before the product carries all of them up. So
/// a flip of few bits becomes a flip of many, and no later flip of few bits can undo it.
std::uint64_t step(std::uint64_t lane, std::uint64_t word) {
  const std::uint64_t both = lane ^ word;
  return (both ^ (both >> 32)) * kThree;
}

// A step waits for the previous one in its lane. Eight lanes keep the multiplier busy meanwhile.
constexpr std::size_t kLanes = 8;
constexpr std::size_t kBlock = kLanes * sizeof(std::uint64_t);
using Lanes = std::array<std::uint64_t, kLanes>;

Lanes taken(Lanes lanes, const std::byte* bytes, std::size_t blocks) {
  for (const std::byte* const end = bytes + blocks * kBlock; bytes != end; bytes += kBlock) {
#pragma GCC unroll 8  // so that the lanes stay in registers also at -O2
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = step(lanes[i], word_at(bytes + 8 * i));
  }
  return lanes;
}

}  // namespace

void Fingerprint::absorb(std::uint64_t word) {
  state_ = avalanche(std::rotl(state_, 23) ^ avalanche(word)) + kFive;
}

void Fingerprint::add(std::int64_t number) { absorb(static_cast<std::uint64_t>(number)); }

void Fingerprint::add(std::string_view text) {
  // A text adds two words, so that no single number can equal it.
  absorb(kEleven ^ static_cast<std::uint64_t>(text.size()));
  absorb(checksum(std::as_bytes(std::span(text))));
}

std::uint64_t Fingerprint::value() const { return avalanche(state_ ^ kTwo); }

std::uint64_t checksum(std::span<const std::byte> bytes) {
  Lanes lanes = {kTwo, kThree, kFive, kSeven, kEleven, kThirteen, kSeventeen, kNineteen};
  const std::size_t blocks = bytes.size() / kBlock;
  lanes = taken(lanes, bytes.data(), blocks);
  if (const auto rest = bytes.subspan(blocks * kBlock); !rest.empty()) {
    std::array<std::byte, kBlock> last = {};
    std::memcpy(last.data(), rest.data(), rest.size());
    lanes = taken(lanes, last.data(), 1);
  }
  std::uint64_t sum = static_cast<std::uint64_t>(bytes.size());
  for (const std::uint64_t lane : lanes) sum = avalanche(sum + kNineteen) ^ lane;
  return avalanche(sum);
}

}  // namespace tessera::exchange
