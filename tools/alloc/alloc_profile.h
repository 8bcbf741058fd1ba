// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/problem.h"

namespace tessera::tools {

/// A rectangle of address and time that a plan takes: a buffer, or all that share memory with it.
struct Taken {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t offset = 0;
  std::int64_t size = 0;   ///< above 0
  std::size_t buffer = 0;  ///< the first of those that share it
  std::int64_t others = 0;
  std::int64_t end() const { return offset + size; }
};
/// Errors: those of memory::check.
Result<std::vector<Taken>> taken_by(const memory::Problem& problem,
                                    std::span<const std::int64_t> offsets);

/// A stretch of time in which nothing is born and nothing dies.
struct Stretch {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t live = 0;   ///< bytes
  std::int64_t count = 0;  ///< of rectangles
  std::int64_t top = 0;    ///< one past the highest byte in use
};
/// All stretches from the first birth to the last death, in order; those without anything alive are
/// among them.
/// Law: each rectangle counts in exactly the stretches of its life, so that the sum of live times
/// length over the stretches is that of size times life over the rectangles.
std::vector<Stretch> stretches_of(std::span<const Taken> taken);

}  // namespace tessera::tools
