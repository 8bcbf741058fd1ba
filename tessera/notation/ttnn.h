// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/affine_map.h"
#include "tessera/notation/memref.h"

namespace tessera {

/// A rectangle of cores as tt texts say it: (x, y) corners, both included. Our places are [row,
/// col] = [y, x].
struct CoreRange {
  std::array<std::int64_t, 2> start{};  ///< x, y
  std::array<std::int64_t, 2> end{};    ///< x, y
  friend bool operator==(const CoreRange&, const CoreRange&) = default;
};

/// TTNN's layout attribute:
///
///     #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>,
///                       memref<2x4x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>,
///                       <interleaved>>
///
/// The rule. The last two dims are padded to the tile, dims [0, -1) collapse with those sizes,
/// shard = ceil(physical / grid), memref = ceil(shard / tile), and data are cut at memref·tile.
/// Interleaved tensors are one place whose slots run over the whole physical tensor; their memref
/// is the whole of it (DRAM and system memory) or a core's share, 1 x ceil(tiles / cores) (L1).
struct TtnnLayout {
  AffineMap linear;
  std::vector<std::int64_t> grid;
  MemRef memref;
  enum class Memory : std::uint8_t {
    kUnsaid,
    kInterleaved,
    kHeightSharded,
    kWidthSharded,
    kBlockSharded
  };
  Memory memory = Memory::kUnsaid;
  std::vector<CoreRange> core_ranges;
  bool exact_grid = false;
  std::string dialect = "ttcore";  ///< of the tile type
  friend bool operator==(const TtnnLayout&, const TtnnLayout&) = default;
};

/// The seed's terms: `ttnn<stride=[..], shard_shape=[..], tile_shape=[..]>`. The physical tensor is
/// (stride[0] / stride[-2]) x stride[-2] and is cut at shard_shape; each shard is then padded to
/// the tile. `stride` has rank + 1 entries, the first being the volume.
struct TtnnTerms {
  std::vector<std::int64_t> stride;
  std::array<std::int64_t, 2> shard_shape{};
  std::array<std::int64_t, 2> tile_shape{};
  friend bool operator==(const TtnnTerms&, const TtnnTerms&) = default;
};

Result<Layout> lower(const TtnnLayout& words, const Shape& shape, DType dtype);
Result<Layout> lower(const TtnnTerms& words, const Shape& shape, DType dtype);
/// The attribute that says a layout, or why TTNN cannot: a batch dim kept apart on the grid, say.
Result<TtnnLayout> raise_ttnn(const Layout& layout);
std::string write(const TtnnLayout& words);
std::string write(const TtnnTerms& words);

/// What `show` tells under "ttnn".
struct TtnnFacts {
  std::vector<std::int64_t> grid_shape;
  std::vector<std::int64_t> stride;  ///< rank + 1 entries, the first being the volume
  std::vector<std::int64_t> physical_shape;
  std::vector<std::int64_t> shard_shape;
  std::vector<std::int64_t> physical_shard_shape;
};
Result<TtnnFacts> facts_of(const TtnnLayout& words, const Shape& shape);
Result<TtnnFacts> facts_of(const TtnnTerms& words, const Shape& shape);

}  // namespace tessera
