// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// chunk() refuses to cut a reshard into more rounds than this.
inline constexpr std::int64_t kMaxRounds = std::int64_t{1} << 14;

/// One dim of the tensor, cut into `parts` parts. Each round takes one part.
///   dealt       part i has the indices i, i + parts, i + 2·parts, ..: if a place holds
///               neighbouring indices, it takes part in every round
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

/// A reshard cut into rounds that run one after the other, so that the data that arrive in one
/// round fit in a buffer.
///
/// The staging of a place is what it receives from other places in one round: a message must arrive
/// completely before it is written to B's memory. Outgoing data are read from A's memory while they
/// are sent. Local copies need no buffer.
///
/// Laws: each element is in exactly one round. The messages of all rounds together have the same
/// elements as the messages of the whole reshard, so the bytes add up to the same sum (types
/// smaller than a byte round up once per message). In no round does a place receive more than
/// `staging_bytes`.
struct Chunks {
  std::vector<ChunkCut> cuts;  ///< empty for a single round; rounds are numbered row-major over the
                               ///< cuts
  std::int64_t rounds = 1;
  std::int64_t staging_bytes = 0;  ///< the most that one place receives in one round
  std::int64_t whole_bytes = 0;    ///< the same if everything is one round
};

/// Cuts one dim into the fewest rounds such that no place receives more than `staging_bytes` in a
/// round. On a tie, outer dims win over inner dims, and blocks win over dealing. If no single dim
/// is enough, the dim that helps most is cut into single indices, and then the other dims are tried
/// again.
/// Example: [64, 64] f32 from Grid(8, 8) to one of its places: 63/64 of 16,384 bytes arrive; with
/// 4096 bytes of staging that takes 4 rounds of 16 rows.
/// Errors: kDoesNotFit when a single element does not fit; kTooLarge for more than kMaxRounds
/// rounds or 2^15 trials (fewer on axes of thousands of places); and the errors of most_received.
Result<Chunks> chunk(const Reshard& reshard, std::int64_t staging_bytes);

/// The indices that round number `round` moves.
ChunkSlice slice_of(const Chunks& chunks, const Shape& shape, std::int64_t round);

/// One round as a separate reshard: A and B restricted to a slice, with the same memory as in the
/// whole reshard. Its indices count along the slice.
Result<Reshard> restricted(const Reshard& reshard, const ChunkSlice& slice);

/// The most bytes that one place receives from other places, and one such place on the physical
/// mesh (-1 when nothing crosses). Computed from the product form (flow_tables.h). Where there is
/// no product form, pairs of places are listed; kTooLarge for more than 2^22 pairs.
struct MostReceived {
  std::int64_t bytes = 0;
  std::int64_t place = -1;
};
Result<MostReceived> most_received(const Reshard& reshard);

}  // namespace tessera::reshard
