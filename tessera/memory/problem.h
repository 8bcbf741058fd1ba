// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"

/// memory/: where each buffer goes in the memory of a place. In: lifetimes. Out: offsets, with a
/// bound that shows how good they are; for one place (solve.h) and for all places of a mesh
/// (mesh_plan.h). It uses no files, no threads and no notations, and validate.h shares no code with
/// the solvers. While a problem of any size is solved, memory that the machine refuses is an error
/// (Array), never an exception; data that are only as large as a program or a mesh are kept in
/// std::vector.
namespace tessera::memory {

/// A buffer that is part of another one: a view, or an output that is computed in place.
struct Alias {
  std::size_t of = 0;      ///< the buffer, by its index; chains are followed, cycles are errors
  std::int64_t delta = 0;  ///< bytes from its start to the start of this one; at least 0
};

/// A part of a lifetime in which a buffer needs only some of its bytes, or none: others may use the
/// rest. When the gap ends, the buffer has all of its bytes again, at the same offset.
struct Gap {
  std::int64_t lower = 0;      ///< first moment of the gap
  std::int64_t upper = 0;      ///< first moment after it; above `lower`
  std::int64_t kept_from = 0;  ///< it keeps bytes [kept_from, kept_to) of the buffer
  std::int64_t kept_to = 0;    ///< equal to `kept_from` when it keeps nothing
};

/// Memory that is needed for some time.
///
/// Times are any integers, such as positions in a list of ops: a buffer that op 3 writes and op 7
/// reads last lives in [3, 8).
struct Buffer {
  std::int64_t lower = 0;                  ///< first moment of its lifetime
  std::int64_t upper = 0;                  ///< first moment after it; above `lower`
  std::int64_t size = 0;                   ///< bytes; 0 takes no room and overlaps nothing
  std::int64_t alignment = 1;              ///< its offset is a multiple of this; above 0
  std::optional<std::int64_t> fixed = {};  ///< the offset that it must have
  std::optional<std::int64_t> hint = {};   ///< an offset to try first; never makes a plan worse
  std::optional<Alias> alias = {};         ///< whose memory it shares
  std::vector<Gap> gaps = {};              ///< inside the lifetime, by time, apart or touching
};

/// Buffers of one place.
///
/// Law of a plan: for any two buffers that are live at the same moment, have bytes, and do not
/// share memory by aliases, the ranges [offset, offset + size) are disjoint. Buffers that share
/// memory are one range: from the start of the buffer that contains the others to the highest byte
/// of any, and from the earliest birth to the latest death (including buffers without bytes). Its
/// alignment satisfies all of them, so the delta of a part must be a multiple of the part's
/// alignment.
///
/// In a gap the range of a buffer is only the bytes that it keeps:
/// [offset + kept_from, offset + kept_to). So a buffer is a row of rectangles that move
/// together, and two buffers may interlock: what counts is that they share no byte at any moment.
/// The whole range [offset, offset + size) must still lie inside the memory, also if it is never
/// kept as a whole. Example: a of 8 bytes in [0, 9) with a gap [3, 6) that keeps [0, 2), and b of 6
/// bytes in [3, 6): a at 0 and b at 2 need 8 bytes.
struct Problem {
  std::vector<Buffer> buffers;
};

/// Checks every buffer. kBadBuffer for a lifetime that ends before it begins, a negative size or
/// offset, an offset that is not a multiple of its alignment, aliases in a cycle or with two
/// different fixed offsets, two fixed buffers that overlap, and a gap that is empty, leaves the
/// lifetime, begins before the previous one ends or keeps bytes that the buffer does not have;
/// kBadAlignment; kNotSupported for gaps of a buffer that shares memory by aliases; kOverflow when
/// sizes and alignments together exceed 2^61. `names` are the names of buffers in messages, such as
/// "input 'x'" (default: "buffer 0" and so on). The span of an error is [i, i + 1) of the buffer
/// that it is about.
Status check(const Problem& problem, const std::vector<std::string>& names = {});

/// The most bytes that are live at one moment: no plan needs less. Aliases count once, and gaps
/// with the bytes that they keep. Alignment is counted only where it certainly costs bytes.
struct MaxLive {
  std::int64_t bytes = 0;
  std::int64_t moment = 0;  ///< the first moment with that many live bytes
};
Result<MaxLive> max_live(const Problem& problem);

}  // namespace tessera::memory
