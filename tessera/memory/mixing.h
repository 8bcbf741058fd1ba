// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera::memory {

/// A number that looks random and is the same everywhere (the finisher of SplitMix64).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace tessera::memory
