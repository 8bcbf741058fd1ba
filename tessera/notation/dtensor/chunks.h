// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"

/// One dim of a DTensor, cut by one mesh axis after another.
namespace tessera::notation {

/// Each of `split_factor` chunks is cut into `places` chunks along a mesh axis.
struct ChunkLevel {
  int axis = 0;
  std::int64_t places = 1;
  std::int64_t split_factor = 1;
};

/// One digit of a run. It changes either the coordinate on the axis of a level, or the position in
/// the shard.
struct ChunkDigit {
  static constexpr int kPosition = -1;
  std::int64_t width = 1;
  std::int64_t count = 1;
  int level = kPosition;
  std::int64_t stride = 1;
  friend bool operator==(const ChunkDigit&, const ChunkDigit&) = default;
};

/// Elements [from, to) of the dim, all placed by one chain of digits: v = x - from; each digit is
/// v div width, and v becomes v mod width. The final v counts positions.
struct ChunkRun {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::vector<ChunkDigit> digits;         ///< by decreasing width
  std::vector<std::int64_t> coordinates;  ///< of element `from`, one per level
  std::int64_t position = 0;              ///< of element `from` in its shard
  std::int64_t extent = 0;                ///< of the shards that the run is part of
};

/// The number of elements of the dim in the largest shard, which is the first one.
std::int64_t largest_chunk(std::int64_t extent, const std::vector<ChunkLevel>& levels);

/// All elements of the dim, as few runs. With `one_extent`, all shards of a run have the same
/// extent (strides of other dims depend on it); otherwise `extent` is that of the largest shard.
/// kTooLarge when there would be more runs than a tensor may have pieces.
Result<std::vector<ChunkRun>> chunk_runs(std::int64_t extent, const std::vector<ChunkLevel>& levels,
                                         bool one_extent);

/// The runs in the order of their elements. Runs that one chain of digits can express are joined.
std::vector<ChunkRun> joined_runs(std::vector<ChunkRun> runs, bool one_extent);

/// kTooLarge: the shards are so uneven that they need more boxes than a tensor may have pieces.
Error too_many_runs();

}  // namespace tessera::notation
