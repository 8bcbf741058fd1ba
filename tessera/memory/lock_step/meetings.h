// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/memory/lock_step/lock_step.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// A block that is live together with another one, on places that have both.
struct Meeting {
  std::uint32_t other;
  std::int64_t clear_other;  ///< the bytes that this block must clear when above it
  std::int64_t clear_us;     ///< the bytes that it must clear when above this block
};

/// Blocks under the exact rule: which blocks conflict, and what must be cleared.
struct Relation {
  const Packing& packing;  ///< of the largest sizes
  std::vector<std::vector<Meeting>> meetings;
  std::vector<std::vector<std::uint32_t>> components;  ///< blocks that conflict, also through
                                                       ///< others
  std::size_t classes = 0;
  std::vector<std::int64_t> sizes;  ///< of each block on each class: [block · classes + class]

  std::int64_t size(std::uint32_t block, std::size_t c) const { return sizes[block * classes + c]; }
};

/// Empty for more than 2^22 pairs that are live together, or 2^31 comparisons of their sizes.
std::optional<Relation> relate(const Packing& packing, const ClassSizes& sizes);

}  // namespace tessera::memory
