// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera {

/// 2^64 divided by the golden ratio: its multiples, modulo 2^64, are spread evenly.
inline constexpr std::uint64_t kGoldenStep = 0x9E3779B97F4A7C15U;

/// A pseudo-random number that is the same on every platform: one step of Sebastiano Vigna's
/// splitmix64 (prng.di.unimi.it/splitmix64.c, public domain). The n-th number of that generator
/// with seed s is mixed(s + (n - 1) * kGoldenStep).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += kGoldenStep;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace tessera
