// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tessera::exchange {

/// 64 bits that stand for a sequence of numbers and texts, so that ranks can tell in a few bytes
/// whether they were given the same plan. The same on every machine and in every build.
///
/// Law: sequences that differ in exactly one number have different values, always. Other sequences
/// that differ share a value about once in 2^64; where a sequence is divided into texts is part of
/// it. It is no protection against someone who looks for two with the same value.
///
/// Example:
///     Fingerprint plan;
///     plan.add(8192);
///     plan.add("block-cyclic");
///     agree_on(plan.value());
class Fingerprint {
 public:
  void add(std::int64_t number);
  void add(std::string_view text);
  std::uint64_t value() const;

 private:
  void absorb(std::uint64_t word);
  std::uint64_t state_ = 0;
};

/// The checksum of a packet, the same on every machine, made to keep up with memory.
///
/// Law: a change inside one of the words [8i, 8i + 8) changes it, always, so a flipped bit does.
/// Any other change, a lost end or a swapped block among them, passes about once in 2^64.
std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace tessera::exchange
