// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/problem.h"

namespace tessera::memory {

/// Whether some place has both of two buffers, by their numbers.
using Meets = std::function<bool(std::size_t, std::size_t)>;

struct LockPairs {
  std::vector<std::int64_t> offsets;  ///< one per buffer
  std::int64_t peak = 0;              ///< one past the highest byte used on any place
};

/// One offset per buffer for all places that have it, by first fit: a buffer goes to the lowest
/// offset that is free of the buffers before it that it meets. Several orders are tried, until a
/// plan is within the capacity; without one, the lowest plan is returned. For buffers that each
/// have the same size wherever they are, so that no classes of places have to be listed.
/// Law: two buffers that meet, and are live at the same moment, share no byte.
/// Errors: those of check(); kNotSupported for aliases, gaps and fixed buffers.
Result<LockPairs> lock_pairs(std::span<const Buffer> buffers, const Meets& meets,
                             std::optional<std::int64_t> capacity);

}  // namespace tessera::memory
