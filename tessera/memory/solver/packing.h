// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/array.h"
#include "tessera/base/result.h"
#include "tessera/memory/problem.h"

/// solver/: finds offsets for the buffers of one place. In: a Packing, made from a checked Problem,
/// and a budget. Out: offsets of blocks, and a bound that no plan is below. It must not know
/// places, meshes or layouts. solve.h is its interface.
namespace tessera::memory {

/// A buffer as the solvers see it: a rectangle that can only move up and down. With gaps, the
/// rectangle around its strips.
struct Block {
  std::int32_t from = 0;  ///< sections [from, to), never empty
  std::int32_t to = 0;
  std::int64_t size = 0;  ///< above 0
  std::int64_t alignment = 1;
  std::int64_t fixed = -1;  ///< the offset that it must have, or -1
  std::int64_t hint = -1;   ///< an offset to try first, or -1
};

/// What a block occupies between two ends of its gaps: bytes [low, high) of it, in sections
/// [from, to). Neither is empty. The strips of a block move together.
struct Strip {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// A problem reduced to what solvers need: buffers that share memory are one block, buffers without
/// bytes are removed, and time is counted in sections.
///
/// A section is a moment at which a maximal set of blocks is live together: after some birth and
/// before the next death. Two blocks are live together at some time ⇔ they share a section, and the
/// blocks that are live at any time are all live in one of the sections. If any block has gaps, the
/// same holds for strips, each of which is born and dies: two blocks are in each other's way only
/// where strips of both share a section. A plan for the rectangles around the strips is a plan.
///
/// Law: offsets of the blocks are a plan ⇔ `spread` makes a plan of the problem from them. All sums
/// of sizes, alignments and fixed offsets stay below 2^62, so no offset that a solver computes can
/// overflow.
struct Packing {
  Array<Block> blocks;
  std::int32_t sections = 0;
  Array<std::int64_t> moment;    ///< the first moment at which the blocks of a section are live
                                 ///< together
  Array<std::int64_t> live;      ///< bytes of the blocks of a section; see max_live
  std::int64_t lower_bound = 0;  ///< the largest of `live`, of all sizes and of the ends of fixed
                                 ///< blocks
  /// Every offset and end is a multiple of this in a plan whose blocks all rest on something (0,
  /// the end of a fixed block, another block, rounded up to the alignment). With gaps too, every
  /// plan stays a plan when its offsets are rounded down to multiples of this.
  std::int64_t grain = 1;

  /// The strips of all blocks, block after block, by time; strips of block b begin at
  /// first_strip[b]. Both are empty when no block has gaps: then each block is one strip.
  Array<Strip> strips;
  Array<std::int32_t> first_strip;  ///< one more than blocks

  std::int64_t most_meetings = 0;  ///< pairs of strips that share a section, of a single block

  bool has_gaps() const { return !first_strip.empty(); }
  /// True when blocks have so many strips that gaps are not used: plans are as if there were none.
  bool has_too_many_strips() const { return most_meetings > (std::int64_t{1} << 20); }
  /// The strips of a block; there are none if it never keeps a byte. Only with gaps.
  std::span<const Strip> strips_of(std::size_t block) const {
    const auto first = static_cast<std::size_t>(first_strip[block]);
    return {strips.data() + first, static_cast<std::size_t>(first_strip[block + 1]) - first};
  }

  // From buffers to blocks: the block of each buffer (-1 for none), and the position of the buffer
  // in it (without a block: its position in memory).
  Array<std::int32_t> block_of;
  Array<std::int64_t> delta;
};

/// Whether two fixed blocks on the same bytes are an error. They may overlap where sizes are the
/// largest over several places, because no single place need have both.
enum class FixedBlocks : std::uint8_t { kMustLieApart, kMayMeet };

/// The packing of a problem, or the errors of `check`.
Result<Packing> pack(const Problem& problem, const std::vector<std::string>& names = {},
                     FixedBlocks fixed = FixedBlocks::kMustLieApart);

/// The packing in which every block is the rectangle around its strips; false when memory is
/// refused. No fixed block may have gaps, since two such rectangles may overlap.
/// Law: its plans are plans of `packing`, but its bounds need not be bounds of it.
[[nodiscard]] bool close_gaps(const Packing& packing, Packing& closed);

/// Offsets of buffers from offsets of blocks; false when memory is refused.
[[nodiscard]] bool spread(const Packing& packing, const Array<std::int64_t>& block_offsets,
                          Array<std::int64_t>& buffer_offsets);

/// One past the highest byte that any block uses.
std::int64_t peak_of(const Packing& packing, const Array<std::int64_t>& block_offsets);

/// The smallest multiple of `alignment` that is at least `offset`.
inline std::int64_t align_up(std::int64_t offset, std::int64_t alignment) {
  if (alignment == 1) return offset;
  const std::int64_t over = offset % alignment;
  return over == 0 ? offset : offset + (alignment - over);
}

}  // namespace tessera::memory
