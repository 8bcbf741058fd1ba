// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/packets/checksum.h"

#include <array>
#include <bit>
#include <cstring>

#include "tessera/exchange/mixing.h"

namespace tessera::exchange {
namespace {

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
