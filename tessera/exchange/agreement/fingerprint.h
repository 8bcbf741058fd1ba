// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tessera::exchange {

/// A 64-bit hash of a sequence of numbers and texts, so that ranks can compare their plans with a
/// few bytes. The same on every machine and in every build.
///
/// Law: sequences that differ in exactly one number always have different values. Other sequences
/// that differ collide about once in 2^64. The boundaries between texts are part of the sequence.
/// It is not a protection against someone who searches for a collision.
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

/// The checksum of a packet, the same on every machine, designed to run at memory speed.
///
/// Law: a change inside one of the words [8i, 8i + 8) always changes the checksum, so a flipped bit
/// does. Any other change, such as a missing end or a swapped block, goes undetected about once in
/// 2^64.
std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace tessera::exchange
