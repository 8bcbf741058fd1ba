// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/notation/dtensor/chunks.h"

/// One dim of a DTensor, shard by shard: for strided chunks of unequal sizes.
namespace tessera::notation {

/// The elements of the dim that a shard holds, as ranges in the shard's order.
struct ChunkRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  friend bool operator==(const ChunkRange&, const ChunkRange&) = default;
};
using ShardLine = std::vector<ChunkRange>;
std::int64_t length_of(const ShardLine& line);

/// Appends positions [from, to) of a line to `out`.
void append_part(const ShardLine& line, std::int64_t from, std::int64_t to, ShardLine& out);

/// The part of a line that `coordinate` of a level keeps.
/// Example: [0, 8) by 2 places with a split factor of 2 leaves [0, 2) [4, 6) on coordinate 0.
ShardLine part_of(const ShardLine& line, const ChunkLevel& level, std::int64_t coordinate);

/// All elements of the dim as runs, like the result of `chunk_runs`.
Result<std::vector<ChunkRun>> listed_runs(std::int64_t extent,
                                          const std::vector<ChunkLevel>& levels, bool one_extent);

}  // namespace tessera::notation
