// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/base/array.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// A plan half made, from the bottom up: over each section a floor, below which nothing will be put
/// down any more, and the blocks that still wait. Every change can be taken back.
///
/// Laws: a block is only put down where the floor is flat below it, so what is under a floor never
/// changes but by undo. floor(s) >= top(s), and they differ where the floor was raised over a hole.
class SearchState {
 public:
  /// The blocks of `packing` all waiting, all floors 0. False when memory is refused.
  [[nodiscard]] bool reset(const Packing& packing);

  std::int32_t sections() const { return sections_; }
  std::size_t blocks() const { return blocks_.size(); }
  const Block& block(std::int32_t b) const { return blocks_[static_cast<std::size_t>(b)]; }

  // All of these in constant time. `s` is a section and `b` a block.
  std::int64_t floor(std::int32_t s) const { return floor_[static_cast<std::size_t>(s)]; }
  std::int64_t top(std::int32_t s) const { return top_[static_cast<std::size_t>(s)]; }
  /// The bytes of the blocks that wait over a section.
  std::int64_t waiting_bytes(std::int32_t s) const { return bytes_[static_cast<std::size_t>(s)]; }
  /// How many wait.
  std::int32_t waiting(std::int32_t s) const { return count_[static_cast<std::size_t>(s)]; }
  /// How many of them also wait over the section before.
  std::int32_t crossing(std::int32_t s) const { return crossing_[static_cast<std::size_t>(s)]; }
  bool waits(std::int32_t b) const { return offset_[static_cast<std::size_t>(b)] < 0; }
  std::int64_t offset(std::int32_t b) const { return offset_[static_cast<std::size_t>(b)]; }
  /// The offset of the lowest fixed block that waits over a section; INT64_MAX without one.
  std::int64_t ceiling(std::int32_t s) const { return ceiling_[static_cast<std::size_t>(s)]; }
  /// A number that changes with the set of waiting blocks that begin in a section.
  std::uint64_t waiting_hash(std::int32_t s) const { return hash_[static_cast<std::size_t>(s)]; }

  /// Blocks by section, waiting or not: those that begin in it, those whose last it is, all.
  std::span<const std::int32_t> beginning(std::int32_t s) const { return begin_.of(s); }
  std::span<const std::int32_t> ending(std::int32_t s) const { return end_.of(s); }
  std::span<const std::int32_t> through(std::int32_t s) const { return through_.of(s); }

  // False when memory is refused; the state is then as before or can be undone.
  [[nodiscard]] bool put_down(std::int32_t b, std::int64_t offset);
  [[nodiscard]] bool raise(std::int32_t s, std::int64_t floor);
  std::size_t mark() const { return trail_.size(); }
  void undo(std::size_t mark);

 private:
  /// Lists of blocks, one a section.
  struct Lists {
    Array<std::int32_t> first;
    Array<std::int32_t> items;
    std::span<const std::int32_t> of(std::int32_t s) const {
      const auto from = static_cast<std::size_t>(first[static_cast<std::size_t>(s)]);
      const auto to = static_cast<std::size_t>(first[static_cast<std::size_t>(s) + 1]);
      return {items.data() + from, to - from};
    }
  };
  /// A change to take back: of a block, or of the floor (and, where a block went, top) of a
  /// section.
  struct Change {
    std::int64_t floor = 0;
    std::int64_t top = 0;
    std::int32_t section = -1;
    std::int32_t block = -1;
  };

  template <typename Range>
  [[nodiscard]] bool fill(Lists& lists, const Range& range_of);
  void count_in(std::int32_t b, std::int32_t sign);
  void lower_ceilings(std::int32_t b);

  std::int32_t sections_ = 0;
  std::span<const Block> blocks_;
  Array<std::int64_t> floor_, top_, bytes_, ceiling_, offset_;
  Array<std::int32_t> count_, crossing_;
  Array<std::uint64_t> hash_, block_hash_;
  Lists begin_, end_, through_;
  Array<Change> trail_;
};

/// What the exact search is willing to look at: blocks, and sections of all of them together. A
/// node takes time in proportion to the sections, so beyond this it would only burn time.
inline constexpr std::size_t kMostSearchedBlocks = std::size_t{1} << 14;
inline constexpr std::int64_t kMostSearchedSections = std::int64_t{1} << 20;

}  // namespace tessera::memory
