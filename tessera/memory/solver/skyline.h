// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "tessera/base/array.h"
#include "tessera/memory/solver/packing.h"
#include "tessera/memory/solver/waiting_blocks.h"

namespace tessera::memory {

/// Packs from the bottom up. The skyline is the height reached in each section. Its lowest flat
/// stretch gets the first block of an order that lives within it; if there is none, it is raised to
/// the lower of its neighbours. O(n log n) on traces; pairs of blocks are never compared.
///
/// Law: every member is placed where nothing under it is higher, so plans never overlap.
/// Example: lifetimes [0, 4) and [1, 3) in that order: the first at 0, the second on top of it.
class Skyline {
 public:
  /// `members` will be placed; all other blocks are already placed, at their `offsets`, and form
  /// the initial skyline. False when memory is refused.
  [[nodiscard]] bool build(const Packing& packing, std::span<const std::int32_t> members,
                           std::span<const std::int64_t> offsets);

  /// Writes the offsets of the members; `order` is a permutation of them.
  [[nodiscard]] bool run(std::span<const std::int32_t> order, std::span<std::int64_t> offsets);

 private:
  struct Stretch {
    std::int32_t from = 0;
    std::int32_t to = 0;
    std::int32_t before = -1;  // neighbours in time
    std::int32_t after = -1;
    std::int64_t height = 0;
    bool gone = false;
  };
  struct Low {
    std::int64_t height = 0;
    std::int32_t stretch = 0;
  };

  Stretch& at(std::int32_t stretch) { return stretches_[static_cast<std::size_t>(stretch)]; }
  [[nodiscard]] bool start();
  [[nodiscard]] bool add_low(std::int32_t stretch);
  std::int32_t take_lowest();
  [[nodiscard]] bool fill_up(std::int32_t stretch);
  [[nodiscard]] bool put(std::int32_t stretch, const Block& block, std::int64_t top);
  [[nodiscard]] bool cut_off(std::int32_t stretch, std::int32_t from, std::int32_t to);
  void swallow(std::int32_t stretch, std::int32_t neighbour);

  const Packing* packing_ = nullptr;
  WaitingBlocks waiting_;
  Array<std::int64_t> floor_;  // height of each section before any member is placed
  Array<Stretch> stretches_;
  Array<Low> lows_;  // a heap; entries whose stretch has changed are stale
};

/// Writes to `heights` the height that a plan reaches in each section.
[[nodiscard]] bool reached(const Packing& packing, std::span<const std::int64_t> offsets,
                           Array<std::int64_t>& heights);

}  // namespace tessera::memory
