// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "tessera/base/array.h"
#include "tessera/memory/solver/overlaps.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// The offset of a block that has not been put down yet.
inline constexpr std::int64_t kNowhere = -1;

/// Puts blocks down one by one, each into the lowest gap that holds it among those that are down
/// already, and so goes around fixed blocks. Time grows with the pairs that live together.
class FirstFit {
 public:
  [[nodiscard]] bool build(const Packing& packing);

  /// The lowest offset for `block` that meets nothing which is down in `offsets`, into `offset`.
  [[nodiscard]] bool lowest(std::int32_t block, std::span<const std::int64_t> offsets,
                            std::int64_t& offset);

  /// Everything that is down, lives together with `block` and shares bytes with it where `offsets`
  /// has it, into `found`.
  [[nodiscard]] bool in_the_way(std::int32_t block, std::span<const std::int64_t> offsets,
                                Array<std::int32_t>& found);

  /// Moves blocks, also from nowhere, to their hints where these are free and end at or below
  /// `peak`; as many as there is time for.
  [[nodiscard]] bool follow_hints(std::int64_t peak, std::chrono::steady_clock::time_point deadline,
                                  std::span<std::int64_t> offsets);

 private:
  struct Range {
    std::int64_t from = 0;
    std::int64_t to = 0;
  };

  const Packing* packing_ = nullptr;
  Overlaps overlaps_;
  Array<std::int32_t> met_;
  Array<Range> taken_;
};

}  // namespace tessera::memory
