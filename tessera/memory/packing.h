// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

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
/// block, buffers without bytes are gone, and time is counted in sections, between two of which
/// some block begins or ends.
///
/// Law: offsets of the blocks are a plan ⇔ `spread` makes a plan of the problem from them.
/// All sums of sizes and alignments fit 2^61, so that no offset a solver computes can overflow.
struct Packing {
  Array<Block> blocks;
  std::int32_t sections = 0;
  Array<std::int64_t> section_start;  ///< the moment at which each section begins
  Array<std::int64_t> live;           ///< bytes that live in each section
  std::int64_t lower_bound = 0;

  // From buffers to blocks: the block of each buffer (-1 for none) and where in it the buffer is.
  Array<std::int32_t> block_of;
  Array<std::int64_t> delta;
};

/// The packing of a problem that `check` accepts (which this calls).
Result<Packing> pack(const Problem& problem);

/// Offsets of buffers from offsets of blocks; false when memory is refused.
[[nodiscard]] bool spread(const Problem& problem, const Packing& packing,
                          const Array<std::int64_t>& block_offsets,
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
