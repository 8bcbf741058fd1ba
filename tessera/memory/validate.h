// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/problem.h"

namespace tessera::memory {

/// The ways in which a plan can be wrong.
enum class Flaw : std::uint8_t {
  kWrongCount,      ///< not one offset per buffer
  kNegative,        ///< an offset below 0
  kBeyondCapacity,  ///< an end above the capacity, or past 2^63
  kMisaligned,      ///< an offset that is not a multiple of the buffer's alignment
  kMoved,           ///< a fixed buffer is at another offset
  kTornAlias,       ///< an alias is not at its position inside the other buffer
  kOverlap,         ///< two buffers share bytes at the same moment; in a gap, bytes that are kept
};
std::string_view flaw_name(Flaw flaw);  ///< "wrong_count", "negative", ..

struct Finding {
  Flaw flaw = Flaw::kOverlap;
  std::size_t buffer = 0;
  std::optional<std::size_t> other = {};  ///< the other buffer of an overlap, or the buffer that an
                                          ///< alias is part of
  std::string message;                    ///< with the numbers, and the moment of an overlap
};

/// Everything that is wrong with a plan, by buffer; at most `most` findings. Naive on purpose: it
/// follows the definition in problem.h, one pair of buffers after the other, and shares no code
/// with the solvers. Gaps count for buffers that share no memory by aliases; where gaps overlap,
/// the one that began first counts. Only pairs that are live together are compared, and none when
/// a sweep through time finds all extents one above the other, so large plans can be checked too.
std::vector<Finding> validate(const Problem& problem, std::span<const std::int64_t> offsets,
                              std::optional<std::int64_t> capacity = {}, std::size_t most = 64);

}  // namespace tessera::memory
