// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "tessera/base/array.h"
#include "tessera/memory/solver/obstacles.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// Places blocks one by one, each into the lowest gap that holds it among the blocks already
/// placed, and so also avoids fixed blocks. Time grows with the number of pairs that are live
/// together.
class FirstFit {
 public:
  [[nodiscard]] bool build(const Packing& packing);

  /// Writes to `offset` the lowest offset for `block` that overlaps no block placed in `offsets`.
  [[nodiscard]] bool lowest(std::int32_t block, std::span<const std::int64_t> offsets,
                            std::int64_t& offset);

  /// Writes to `found` every placed block that is live together with `block` and shares bytes with
  /// it at its offset in `offsets`.
  [[nodiscard]] bool in_the_way(std::int32_t block, std::span<const std::int64_t> offsets,
                                Array<std::int32_t>& found);

  /// Moves blocks, also unplaced ones, to their hints if these are free and end at or below `peak`;
  /// as many as time allows.
  [[nodiscard]] bool follow_hints(std::int64_t peak, std::chrono::steady_clock::time_point deadline,
                                  std::span<std::int64_t> offsets);

 private:
  struct Range {
    std::int64_t from = 0;
    std::int64_t to = 0;
  };

  const Packing* packing_ = nullptr;
  Obstacles obstacles_;
  Array<Range> taken_;
};

}  // namespace tessera::memory
