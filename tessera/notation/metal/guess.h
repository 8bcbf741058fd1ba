// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/mlir/affine_map.h"
#include "tessera/notation/raising/refusal.h"

/// Computes the lines of a metal layout from any layout. Both attributes use this to raise.
///
/// The shape of the shard determines a metal layout. With `atoms` storage units per line,
/// row-major, every (place, slot) has a coordinate on each line: shard·place + position inside. The
/// value of a line is that coordinate as a function of the index. So this code tries the few shard
/// shapes that the layout's own strides suggest, computes the values from the canonical lines, and
/// lets the notation check the guess against the layout.
namespace tessera::notation {

/// A candidate shape of the shards.
struct MetalFrame {
  std::vector<std::int64_t> grid;
  std::vector<std::int64_t> atoms;  ///< tiles or elements allocated per place along each line
  std::vector<std::int64_t> shard;  ///< elements per place along each line
  Atom element;
};

/// The coordinate of a position, or of the difference of two positions, along each line:
/// shard·place + position inside. A step that is negative in place or slot is the negative of the
/// opposite step.
Result<std::vector<std::int64_t>> coordinates(Position position, const MetalFrame& frame);

/// The largest value of a canonical line.
std::int64_t last_value(const Lines& lines, const Line& line);

/// The same function, cut wherever it carries from one grid axis, or one line of the memref, to the
/// next. Only the frame's grid, atoms and element are used.
Lines with_carries(Lines lines, const MetalFrame& frame);

/// The value of each line of the layout's function, for this frame.
Result<std::vector<AffineResult>> line_values(const Lines& lines, const MetalFrame& frame);

/// Which widths the shards of a tiled line may have. A tile rounds the width up, so the memref
/// alone does not determine it.
enum class MetalShards : std::uint8_t {
  kWholeTiles,  ///< metal_today: shards are whole tiles
  kAnyWidth,    ///< metal: the grid cuts first, at any element
};

/// The stage at which an attempt failed, and the reason.
struct MetalMiss {
  int stage = 0;
  Obstacle what;
};
using MetalAttempt = std::function<std::optional<MetalMiss>(const MetalFrame&, const Lines&)>;

/// Calls `attempt` on one frame after another, most natural first, until one succeeds. If all fail,
/// returns the failure with the highest stage.
std::optional<MetalMiss> try_frames(const Layout& layout, MetalShards shards,
                                    const MetalAttempt& attempt);

/// Nullopt if the guess is the layout (same function, slots and atom); otherwise how they differ.
std::optional<Obstacle> differs(const Layout& layout, const Result<Layout>& guess);

/// What neither attribute can express about a layout, if anything: replicas, unusual padding
/// values.
std::optional<Obstacle> unsaid_by_metal(const Layout& layout);

}  // namespace tessera::notation
