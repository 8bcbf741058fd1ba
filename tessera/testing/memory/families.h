// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/memory/problem.h"

namespace tessera::test {

/// Buffers that share memory, as offsets from the one that contains all others.
struct Family {
  std::vector<std::size_t> members;
  std::vector<std::int64_t> deltas;  ///< of each member
  std::int64_t lower = INT64_MAX;
  std::int64_t upper = INT64_MIN;
  std::int64_t size = 0;  ///< from its start to the last byte of any member
  std::int64_t alignment = 1;
  std::optional<std::int64_t> fixed;
  std::vector<memory::Gap> gaps;  ///< of its only member
  bool possible = true;

  /// The bytes that it has at a moment; none outside its lifetime.
  struct Kept {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t bytes() const { return to - from; }
  };
  Kept kept_at(std::int64_t moment) const;
};

/// The families of a problem, by the buffer that contains the others.
std::vector<Family> families_of(const memory::Problem& problem);

/// Starts of the families with the lowest peak, found by trying every offset of every family, byte
/// by byte and moment by moment; nothing when there is no plan within kMostNaiveBytes. For a
/// handful of families of a few bytes at a few moments, with or without gaps.
inline constexpr std::int64_t kMostNaiveBytes = 192;
std::optional<std::vector<std::int64_t>> lowest_of_every_offset(
    const std::vector<Family>& families);

}  // namespace tessera::test
