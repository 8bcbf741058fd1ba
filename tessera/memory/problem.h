// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"

/// memory/: where in the memory of a place each buffer goes. Lifetimes come in, offsets go out,
/// with a bound that says how good they are; for one place (solve.h) and for all places of a mesh
/// (mesh_plan.h). validate.h knows nothing of how offsets are found. No files, no threads, no
/// notations. Where a solve is at work, on problems of any size, memory that the machine refuses is
/// an error (Array), never an exception; what is only as large as a program or a mesh is kept in
/// std::vector.
namespace tessera::memory {

/// A buffer that is a part of another one: a view, or an output that is computed in place.
struct Alias {
  std::size_t of = 0;      ///< the buffer, by its position; chains are followed, circles refused
  std::int64_t delta = 0;  ///< bytes from its start to ours; at least 0
};

/// Memory that is needed for a while.
///
/// Times are any integers, such as positions in a list of ops: a buffer that op 3 writes and op 7
/// reads last lives in [3, 8).
struct Buffer {
  std::int64_t lower = 0;                  ///< first moment of its life
  std::int64_t upper = 0;                  ///< first moment after it; above `lower`
  std::int64_t size = 0;                   ///< bytes; 0 takes no room and meets nothing
  std::int64_t alignment = 1;              ///< its offset is a multiple of this; above 0
  std::optional<std::int64_t> fixed = {};  ///< the offset that it must have
  std::optional<std::int64_t> hint = {};   ///< an offset to try first; never makes a plan worse
  std::optional<Alias> alias = {};         ///< whose memory it shares
};

/// Buffers of one place.
///
/// Law of a plan: for any two buffers that live at one moment, have bytes, and do not share memory
/// by aliases, the ranges [offset, offset + size) are disjoint. Buffers that share memory are one
/// range, from the start of the one that the others are parts of to the highest byte of any, and
/// from the first of their births to the last of their deaths (those without bytes included); its
/// alignment is that of all of them, so the delta of a part must be a multiple of the part's
/// alignment.
struct Problem {
  std::vector<Buffer> buffers;
};

/// Whether every buffer can be: kBadBuffer for a life that ends before it begins, a negative size
/// or offset, an offset that is not a multiple of its alignment, aliases in a circle or fixed in
/// two ways, and two fixed buffers that meet; kBadAlignment; kOverflow when sizes and alignments
/// together pass 2^61. `names` are what messages call the buffers, such as "input 'x'" ("buffer 0"
/// and so on when empty). The span of an error is [i, i + 1) of the buffer that it speaks about.
Status check(const Problem& problem, const std::vector<std::string>& names = {});

/// The most bytes that live at one moment: no plan needs less. Aliases count once; an alignment is
/// counted where it is certain to cost something.
struct MaxLive {
  std::int64_t bytes = 0;
  std::int64_t moment = 0;  ///< the first moment at which that many live
};
Result<MaxLive> max_live(const Problem& problem);

}  // namespace tessera::memory
