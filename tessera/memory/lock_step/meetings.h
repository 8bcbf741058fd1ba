// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/memory/lock_step/lock_step.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// A block that lives together with another one, on places that have both.
struct Meeting {
  std::uint32_t other;
  std::int64_t clear_other;  ///< what we must clear when above it
  std::int64_t clear_us;     ///< what it must clear when above us
};

/// Blocks under the exact rule: who meets whom, and what must be cleared.
struct Relation {
  const Packing& packing;  ///< of the largest sizes
  std::vector<std::vector<Meeting>> meetings;
  std::vector<std::vector<std::uint32_t>> components;  ///< blocks that meet, also through others
  std::size_t classes = 0;
  std::vector<std::int64_t> sizes;  ///< of each block on each class: [block · classes + class]

  std::int64_t size(std::uint32_t block, std::size_t c) const { return sizes[block * classes + c]; }
};

/// Nothing for more than 2^22 pairs that live together, or 2^31 comparisons of their sizes.
std::optional<Relation> relate(const Packing& packing, const ClassSizes& sizes);

}  // namespace tessera::memory
