// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "tessera/base/array.h"
#include "tessera/memory/overlaps.h"
#include "tessera/memory/packing.h"

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

  /// Whether `block` at `offset` would meet nothing that is down, into `free`.
  [[nodiscard]] bool is_free(std::int32_t block, std::int64_t offset,
                             std::span<const std::int64_t> offsets, bool& free);

  /// Moves blocks to their hints where these are free and end at or below `peak`.
  [[nodiscard]] bool follow_hints(std::int64_t peak, std::span<std::int64_t> offsets);

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

/// Whether any block has a hint.
bool has_hints(const Packing& packing);

}  // namespace tessera::memory
