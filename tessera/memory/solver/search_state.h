// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/base/array.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// A partial plan, built from the bottom up: over each section a floor, below which nothing will be
/// placed any more, and the blocks that still wait. Every change can be undone.
///
/// Laws: a block is only placed where the floor is flat below it, so what is under a floor only
/// changes by undo. floor(s) >= top(s), and they differ where the floor was raised over a hole.
class SearchState {
 public:
  /// All blocks of `packing` wait, and all floors are 0. False when memory is refused.
  [[nodiscard]] bool reset(const Packing& packing);

  std::int32_t sections() const { return sections_; }
  std::size_t blocks() const { return blocks_.size(); }
  const Block& block(std::int32_t b) const { return blocks_[static_cast<std::size_t>(b)]; }

  // All of these take constant time. `s` is a section and `b` a block.
  std::int64_t floor(std::int32_t s) const { return floor_[static_cast<std::size_t>(s)]; }
  std::int64_t top(std::int32_t s) const { return top_[static_cast<std::size_t>(s)]; }
  /// The bytes of the blocks that wait over a section.
  std::int64_t waiting_bytes(std::int32_t s) const { return bytes_[static_cast<std::size_t>(s)]; }
  /// The number of blocks that wait.
  std::int32_t waiting(std::int32_t s) const { return count_[static_cast<std::size_t>(s)]; }
  /// The number of them that also wait over the section before.
  std::int32_t crossing(std::int32_t s) const { return crossing_[static_cast<std::size_t>(s)]; }
  bool waits(std::int32_t b) const { return offset_[static_cast<std::size_t>(b)] < 0; }
  std::int64_t offset(std::int32_t b) const { return offset_[static_cast<std::size_t>(b)]; }
  /// The offset of the lowest fixed block that waits over a section; INT64_MAX if there is none.
  std::int64_t ceiling(std::int32_t s) const { return ceiling_[static_cast<std::size_t>(s)]; }
  /// A hash of the set of waiting blocks that begin in a section.
  std::uint64_t waiting_hash(std::int32_t s) const { return hash_[static_cast<std::size_t>(s)]; }

  /// Blocks by section, waiting or not: those that begin in it, those that end in it, all.
  std::span<const std::int32_t> beginning(std::int32_t s) const { return begin_.of(s); }
  std::span<const std::int32_t> ending(std::int32_t s) const { return end_.of(s); }
  std::span<const std::int32_t> through(std::int32_t s) const { return through_.of(s); }

  // False when memory is refused; the state is then unchanged or can be undone.
  [[nodiscard]] bool put_down(std::int32_t b, std::int64_t offset);
  [[nodiscard]] bool raise(std::int32_t s, std::int64_t floor);
  std::size_t mark() const { return trail_.size(); }
  void undo(std::size_t mark);

 private:
  /// Lists of blocks, one per section.
  struct Lists {
    Array<std::int32_t> first;
    Array<std::int32_t> items;
    std::span<const std::int32_t> of(std::int32_t s) const {
      const auto from = static_cast<std::size_t>(first[static_cast<std::size_t>(s)]);
      const auto to = static_cast<std::size_t>(first[static_cast<std::size_t>(s) + 1]);
      return {items.data() + from, to - from};
    }
  };
  /// A change to undo: of a block, or of the floor (and, where a block was placed, the top) of a
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

/// The limits of the exact search: blocks, and sections over all blocks. The time of a node is
/// proportional to the sections, so larger problems would only waste time.
inline constexpr std::size_t kMostSearchedBlocks = std::size_t{1} << 14;
inline constexpr std::int64_t kMostSearchedSections = std::int64_t{1} << 20;

}  // namespace tessera::memory
