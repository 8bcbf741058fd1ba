// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// More rounds than this are refused.
inline constexpr std::int64_t kMaxRounds = std::int64_t{1} << 14;

/// One dim of the tensor in `parts` parts, of which each round takes one.
///   dealt       part i has the indices i, i + parts, i + 2·parts, ..: every place takes part in
///               every round wherever a place holds neighbouring indices
///   in blocks   part i has the indices [i·b, (i+1)·b), b = ceil(extent / parts)
struct ChunkCut {
  int dim = 0;
  std::int64_t parts = 1;
  bool dealt = false;
  friend bool operator==(const ChunkCut&, const ChunkCut&) = default;
};

/// The indices start + step·y, y < count, of each dim: a box when every step is 1.
struct ChunkSlice {
  std::vector<std::int64_t> start;
  std::vector<std::int64_t> step;
  std::vector<std::int64_t> count;
  std::int64_t elements() const;
  friend bool operator==(const ChunkSlice&, const ChunkSlice&) = default;
};

/// A reshard in rounds, one after the other, so that what arrives in a round fits a buffer.
///
/// Staging is what a place receives from other places in one round: messages are taken in whole
/// before they are put into B's memory. What is sent is read from A's memory as it goes out, and
/// local copies need no buffer.
///
/// Laws: each element is in exactly one round; the rounds' messages have the elements of the whole
/// reshard's, so bytes add up to the same (types below a byte round up once a message); in no round
/// does a place receive more than `staging_bytes`.
struct Chunks {
  std::vector<ChunkCut> cuts;  ///< none for a single round; rounds count row-major over them
  std::int64_t rounds = 1;
  std::int64_t staging_bytes = 0;  ///< the most that one place receives in one round
  std::int64_t whole_bytes = 0;    ///< the same when all is one round
};

/// The fewest rounds, of those that cut one dim, with which no place receives more than
/// `staging_bytes` in a round; outer dims win over inner ones, and blocks over dealing, when they
/// need equally many. Where no single dim is enough, the dim that helps most is cut into single
/// indices and the others are looked at again.
/// Example: [64, 64] f32 from Grid(8, 8) to one of its places: 63/64 of 16,384 bytes arrive; with
/// 4096 bytes of staging that takes 4 rounds of 16 rows.
/// Errors: kDoesNotFit when a single element does not fit; kTooLarge for more than kMaxRounds
/// rounds or 2^15 trials (fewer on axes of thousands of places), and as for most_received.
Result<Chunks> chunk(const Reshard& reshard, std::int64_t staging_bytes);

/// What round number `round` takes.
ChunkSlice slice_of(const Chunks& chunks, const Shape& shape, std::int64_t round);

/// One round as a reshard of its own: A and B restricted to a slice, in the memory that they have
/// in the whole. Its indices count along the slice.
Result<Reshard> restricted(const Reshard& reshard, const ChunkSlice& slice);

/// The most bytes that one place receives from others, and such a place on the physical mesh; -1
/// where nothing crosses. From the product form (flow_tables.h); where there is none, pairs of
/// places are listed, and kTooLarge beyond 2^22 of them.
struct MostReceived {
  std::int64_t bytes = 0;
  std::int64_t place = -1;
};
Result<MostReceived> most_received(const Reshard& reshard);

}  // namespace tessera::reshard
