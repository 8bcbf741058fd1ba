// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/lines.h"
#include "tessera/notation/mlir/affine_map.h"

/// From any layout to the lines of a metal layout: what both attributes raise from.
///
/// A metal layout is known once the shape of its shard is: with `atoms` storage units a line,
/// row-major, every (place, slot) is a coordinate on each line, shard·place + position inside, and
/// the value of a line is how that coordinate depends on the index. So: try the few shard shapes
/// that the layout's own strides suggest, read the values off the canonical lines, and let the
/// notation check the guess against the layout.
namespace tessera::notation {

/// A shape for the shards.
struct MetalFrame {
  std::vector<std::int64_t> grid;
  std::vector<std::int64_t> atoms;  ///< tiles or elements allocated a place along each line
  std::vector<std::int64_t> shard;  ///< elements a place along each line
  Atom element;
};

/// What a spot, or the difference of two, is along each line: shard·place + position inside. A step
/// that is negative in place or slot is taken as the negative of the opposite step.
Result<std::vector<std::int64_t>> coordinates(Spot spot, const MetalFrame& frame);

/// The largest value of a canonical line.
std::int64_t last_value(const Lines& lines, const Line& line);

/// The same function, cut wherever it carries from one grid axis, or one line of the memref, to the
/// next. Only the frame's grid, atoms and element play a part.
Lines with_carries(Lines lines, const MetalFrame& frame);

/// The value of each line, as the layout's function has it under this frame.
Result<std::vector<AffineResult>> line_values(const Lines& lines, const MetalFrame& frame);

/// How wide the shards of a tiled line may be: a tile rounds them up, so that the memref alone does
/// not tell.
enum class MetalShards : std::uint8_t {
  kWholeTiles,  ///< today's rule: shards are whole tiles
  kAnyWidth,    ///< the seed's rule: the grid cuts first, anywhere
};

/// How far an attempt came, and what stopped it.
struct MetalMiss {
  int stage = 0;
  std::string reason;
};
using MetalAttempt = std::function<std::optional<MetalMiss>(const MetalFrame&, const Lines&)>;

/// Calls `attempt` on one frame after another, most natural first, until one does not miss. If all
/// do, answers the miss that came furthest.
std::optional<MetalMiss> try_frames(const Layout& layout, MetalShards shards,
                                    const MetalAttempt& attempt);

/// Whether a guess is the layout: same function, slots and atom; else how they differ.
std::optional<std::string> differs(const Layout& layout, const Result<Layout>& guess);

/// What of a layout neither attribute has words for, if anything: replicas, odd padding values.
std::optional<std::string> unsaid_by_metal(const Layout& layout);

/// "metal-today cannot say REASON"
Error metal_cannot_say(std::string_view notation, std::string_view reason);

}  // namespace tessera::notation
