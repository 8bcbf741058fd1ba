// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"

/// One dim of a DTensor, cut by one mesh axis after the other.
namespace tessera::notation {

/// `places` chunks along a mesh axis, of each of `split_factor` chunks.
struct ChunkLevel {
  int axis = 0;
  std::int64_t places = 1;
  std::int64_t split_factor = 1;
};

/// What a digit of a run moves: the coordinate on the axis of a level, or the position in the
/// shard.
struct ChunkDigit {
  static constexpr int kPosition = -1;
  std::int64_t width = 1;
  std::int64_t count = 1;
  int level = kPosition;
  std::int64_t stride = 1;
  friend bool operator==(const ChunkDigit&, const ChunkDigit&) = default;
};

/// Elements [from, to) of the dim, all placed by one chain of digits: v = x - from; each digit is
/// v div width, and v becomes v mod width; what is left of v counts positions.
struct ChunkRun {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::vector<ChunkDigit> digits;         ///< by falling width
  std::vector<std::int64_t> coordinates;  ///< of element `from`, one a level
  std::int64_t position = 0;              ///< of element `from` in its shard
  std::int64_t extent = 0;                ///< of the shards that the run is part of
};

/// How many elements of the dim the largest shard has: the first one.
std::int64_t largest_chunk(std::int64_t extent, const std::vector<ChunkLevel>& levels);

/// All elements of the dim as few runs. With `one_extent`, the shards of a run have the same extent
/// (which strides of other dims depend on); without, `extent` is that of the largest.
/// kTooLarge where that would be more runs than a tensor may have pieces.
Result<std::vector<ChunkRun>> chunk_runs(std::int64_t extent, const std::vector<ChunkLevel>& levels,
                                         bool one_extent);

/// Runs in order of their elements, those that one chain can say joined.
std::vector<ChunkRun> joined_runs(std::vector<ChunkRun> runs, bool one_extent);

/// kTooLarge: shards so uneven that they are more boxes than a tensor may have pieces.
Error too_many_runs();

}  // namespace tessera::notation
