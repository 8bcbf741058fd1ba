// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/array.h"
#include "tessera/base/result.h"
#include "tessera/memory/problem.h"

namespace tessera::memory {

/// A buffer as the solvers see it: a rectangle that can only move up and down.
struct Block {
  std::int32_t from = 0;  ///< sections [from, to), never empty
  std::int32_t to = 0;
  std::int64_t size = 0;  ///< above 0
  std::int64_t alignment = 1;
  std::int64_t fixed = -1;  ///< the offset that it must have, or -1
  std::int64_t hint = -1;   ///< an offset to try first, or -1
};

/// A problem without everything that solvers need not know: buffers that share memory are one
/// block, buffers without bytes are gone, and time is counted in sections.
///
/// A section is a moment at which a largest set of blocks lives together: after some birth and
/// before the next death. Two blocks live together at some time ⇔ they share a section, and what
/// lives at any time lives in one of the sections.
///
/// Law: offsets of the blocks are a plan ⇔ `spread` makes a plan of the problem from them.
/// All sums of sizes, alignments and fixed offsets stay below 2^62, so that no offset a solver
/// computes can overflow.
struct Packing {
  Array<Block> blocks;
  std::int32_t sections = 0;
  Array<std::int64_t> moment;    ///< the first at which the blocks of a section live together
  Array<std::int64_t> live;      ///< bytes of the blocks of a section; see max_live
  std::int64_t lower_bound = 0;  ///< the largest of `live` and of the ends of fixed blocks
  /// Every offset and end of a plan whose blocks all rest on something (0, a fixed block's end,
  /// another block, up to alignment) is a multiple of this.
  std::int64_t grain = 1;

  // From buffers to blocks: the block of each buffer (-1 for none), and where in it (without one:
  // where in memory) the buffer is.
  Array<std::int32_t> block_of;
  Array<std::int64_t> delta;
};

/// Whether two fixed blocks on the same bytes are an error. They may meet where sizes are the
/// largest of several places, none of which need have both.
enum class FixedBlocks : std::uint8_t { kMustLieApart, kMayMeet };

/// The packing of a problem, or what is wrong with it: the errors of `check`.
Result<Packing> pack(const Problem& problem, const std::vector<std::string>& names = {},
                     FixedBlocks fixed = FixedBlocks::kMustLieApart);

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
