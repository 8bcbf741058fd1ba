// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/memory/streams/streaming_plan.h"

namespace tessera::memory {

/// How a tensor is stored in the large memory: whole tiles in row-major order of the tiles.
/// Example: {{32, 32}, 2048} are bf16 tiles of the last two dims, {{}, 4} plain f32 elements.
struct SliceRules {
  std::vector<std::int64_t> tile;  ///< extents along the last dims; 1 along the others
  std::int64_t tile_bytes = 1;
  /// The time that each contiguous run of bytes adds to a load, in addition to the latency of the
  /// load.
  double run_latency = 0;
};

/// How a tensor goes through a small memory in slices.
///
/// Either along one dim, with all other dims whole: a slice is a box. Or, if no single dim can be
/// cut finely enough, along dims 0 .. `dim` joined: a slice is a number of tiles of those dims,
/// consecutive in row-major order, with everything of the inner dims.
struct Slicing {
  std::size_t dim = 0;
  bool joined = false;
  std::int64_t steps = 0;          ///< tiles along `dim`, or along all joined dims
  std::int64_t slice_steps = 0;    ///< steps per slice; the last slice may have fewer
  std::int64_t step_elements = 1;  ///< extent of a tile along `dim`
  std::int64_t extent = 0;         ///< of the tensor along `dim`
  std::int64_t runs = 1;           ///< contiguous pieces of the large memory from which a slice is
                                   ///< loaded
  StreamPlan plan;                 ///< one chunk per slice; its costs include the runs

  /// The steps [from, to) of a slice in [0, plan.chunks).
  std::pair<std::int64_t, std::int64_t> steps_of(std::int64_t slice) const;
  /// The elements [from, to) along `dim`, unless joined. They cover [0, extent) without a gap.
  std::pair<std::int64_t, std::int64_t> elements_of(std::int64_t slice) const;
};

/// The slices with which the whole tensor finishes first. On a tie, the outermost dim, whose slices
/// are contiguous. Tiles at a ragged end count as whole tiles.
/// Example: 228x64 bf16 in tiles of 32x32 through two buffers in 20 KB: along dim 0, where a step
/// is a row of 2 tiles, 4096 bytes. With slices of 2 steps they are the rows [0, 64), [64, 128),
/// [128, 192) and [192, 228).
/// Errors: as plan_stream; kOutOfRange for invalid tiles, or tiles of more dims than the tensor.
Result<Slicing> slice_stream(const Shape& shape, const SliceRules& rules,
                             const StreamOptions& options, const StreamCosts& costs);

}  // namespace tessera::memory
