// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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
///     const std::vector<Fact> facts = {{"plan", plan.value(), "8192 block-cyclic"}};
///     TESSERA_CHECK_OK(agreement.same(facts));
class Fingerprint {
 public:
  void add(std::int64_t number);
  void add(std::string_view text);
  std::uint64_t value() const;

 private:
  void absorb(std::uint64_t word);
  std::uint64_t state_ = 0;
};

}  // namespace tessera::exchange
