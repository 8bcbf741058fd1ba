// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/mlir/affine_map.h"
#include "tessera/notation/mlir/core_ranges.h"
#include "tessera/notation/mlir/memref.h"

namespace tessera::notation {

/// TTNN's layout attribute. Text comes in; a layout on the grid, or on one place, goes out.
///
///     #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>,
///                       memref<2x4x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>,
///                       <interleaved>>
///
/// The rule. In a tiled layout the last two dims are padded to the tile; the map, which collapses
/// dims [0, -1) with those sizes, then gives the physical lines, each map(padded - 1) + 1 long and
/// of whole tiles. Strides may be larger than those sizes, never smaller. The memref's shape
/// follows from the memory layout; another shape is kContradiction:
///
///   system, DRAM interleaved   the whole physical tensor, in atoms; the grid is 1x1
///   L1 interleaved             a core's share: 1 x ceil(atoms / cores)
///   block sharded              ceil(ceil(physical / grid) / tile), line by line
///   height, width sharded      the same, but all places of the grid divide the rows (the columns)
///                              and none the other line; places are numbered row by row
///
/// Interleaved tensors and tensors in system memory have one place, [0, 0], whose slots run over
/// the whole physical tensor, so their grid has no effect. Sharded tensors are on the grid as
/// written: each line is cut at memref·tile, and places are filled in order. 53x63 on 3x2 in 32x32
/// tiles has rows 0-31 on place 0, 32-52 on place 1 and none on place 2. Core ranges are the device
/// map.
///
/// The cause of an empty slot, line by line. Let E be the length of a line that the data need and P
/// its physical length:
///
///   p >= P             grid    place 2 of the example
///   E <= p < P         tile    rows 53-63 of the example
///   p < E, no index    gap     between batches: 2x15x10 in 32x32 tiles is (d0 * 32 + d1, d2);
///                              its rows 15-31 are a hole inside the line; rows 47-63, after
///                              the last element, are tile
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
  /// The name in `mesh = <"name">`: the mesh of devices that each hold such a tensor. It does not
  /// affect the place of an element.
  std::string mesh;
  /// `ignorePhysicalLayout = true`. For a sharded tensor it means that the shards are not decided
  /// yet, so there is no layout (kNotSupported).
  bool ignore_physical_layout = false;
  std::string dialect = "ttcore";  ///< of the tile type
  friend bool operator==(const TtnnLayout&, const TtnnLayout&) = default;

  bool is_sharded() const { return memory >= Memory::kHeightSharded; }
};

/// The terms of the TTNN layout document:
/// `ttnn<stride=[4096, 64, 1], shard_shape=[32, 32], tile_shape=[32, 32]>`.
///
/// `stride` has rank + 1 entries, the first being the volume, and may be larger than packed. The
/// physical tensor is (stride[0] / stride[-2]) x stride[-2]; it is cut at shard_shape, and each
/// shard is then padded to the tile:
///
///     grid_shape           [ceil(stride[0] / stride[-2] / shard_shape[0]),
///                           ceil(stride[-2] / shard_shape[1])]
///     physical_shard_shape  shard_shape rounded up to tile_shape
///
/// Both may be given and must then agree. Without tile_shape a shard holds plain elements, row by
/// row. Empty slots of a shard's last partial tile have the cause tile; slots past the physical
/// tensor have the cause grid; a physical position without an element, which a bumped stride can
/// leave, has the cause gap.
struct TtnnTerms {
  std::vector<std::int64_t> stride;
  std::array<std::int64_t, 2> shard_shape{};
  std::array<std::int64_t, 2> tile_shape{};                              ///< {0, 0} if absent
  std::optional<std::array<std::int64_t, 2>> grid_shape = std::nullopt;  ///< if given
  std::optional<std::array<std::int64_t, 2>> physical_shard_shape = std::nullopt;
  friend bool operator==(const TtnnTerms&, const TtnnTerms&) = default;
};

Result<Layout> lower(const TtnnLayout& words, const Shape& shape, DType dtype);
Result<Layout> lower(const TtnnTerms& words, const Shape& shape, DType dtype);

/// The attribute that expresses a layout, or why TTNN cannot: a batch dim that is separate on the
/// grid (see ttnn/mesh.h), shards that are not whole tiles, replicas, a padding value. If the
/// layout does not specify a memory, it is system memory for one place, otherwise L1.
/// Law: lower(*raise_ttnn(l), l.shape(), l.dtype()) is the same function as l, with the same
/// allocation, atom and device map.
Result<TtnnLayout> raise_ttnn(const Layout& layout);
/// The same in the terms of the TTNN layout document, which specify no memory and no cores.
Result<TtnnTerms> raise_ttnn_terms(const Layout& layout);

std::string write(const TtnnLayout& words);
std::string write(const TtnnTerms& words);

/// The map that TTNN derives for a tensor: dims [0, -1) collapse over the padded sizes.
/// Example: 2x15x10 in 32x32 tiles is (d0, d1, d2) -> (d0 * 32 + d1, d2).
Result<AffineMap> ttnn_collapse(const Shape& shape, const Atom& element);

/// The attribute of a tensor as TTNN derives it: map, memref and, for sharded ones without core
/// ranges, cores row by row on a device as wide as the grid (block) or `device_width`.
/// Law: lower(*make_ttnn(..), shape, dtype) is ok.
Result<TtnnLayout> make_ttnn(const Shape& shape, const Atom& element, std::string_view space,
                             TtnnLayout::Memory memory, const std::vector<std::int64_t>& grid,
                             std::int64_t device_width = 8);

/// What `show` prints under "ttnn". For interleaved tensors: one place, the whole physical tensor.
struct TtnnFacts {
  std::vector<std::int64_t> grid_shape;
  std::vector<std::int64_t> stride;  ///< rank + 1 entries, the first being the volume
  std::vector<std::int64_t> physical_shape;
  std::vector<std::int64_t> shard_shape;
  std::vector<std::int64_t> physical_shard_shape;
};
Result<TtnnFacts> facts_of(const TtnnLayout& words, const Shape& shape);
Result<TtnnFacts> facts_of(const TtnnTerms& words, const Shape& shape);

/// Bytes of the memref: a shard, or for an interleaved tensor a core's share (L1) or all of it.
/// Only for attributes that lower to a layout.
std::int64_t share_bytes(const TtnnLayout& words);

}  // namespace tessera::notation
