// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What fingerprints and checksums are made of.
namespace tessera::exchange {

// Odd numbers without a pattern: the first 64 bits of the fractions of the square roots of 2, 3, 5,
// 7 and so on, with the last bit set.
inline constexpr std::uint64_t kTwo = 0x6a09e667f3bcc909;
inline constexpr std::uint64_t kThree = 0xbb67ae8584caa73b;
inline constexpr std::uint64_t kFive = 0x3c6ef372fe94f82b;
inline constexpr std::uint64_t kSeven = 0xa54ff53a5f1d36f1;
inline constexpr std::uint64_t kEleven = 0x510e527fade682d1;
inline constexpr std::uint64_t kThirteen = 0x9b05688c2b3e6c1f;
inline constexpr std::uint64_t kSeventeen = 0x1f83d9abfb41bd6b;
inline constexpr std::uint64_t kNineteen = 0x5be0cd19137e2179;

/// Bijective, and every bit of `x` affects every bit of the result: multiplying carries bits
/// upwards, shifting moves them down.
inline std::uint64_t avalanche(std::uint64_t x) {
  x ^= x >> 32;
  x *= kThree;
  x ^= x >> 29;
  x *= kSeven;
  return x ^ (x >> 32);
}

}  // namespace tessera::exchange
