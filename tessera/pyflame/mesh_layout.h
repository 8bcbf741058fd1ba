// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/pyflame/pyflame.h"

/// pyflame/: the interface that PyFlame's programs use, as a thin facade. It does not decide where
/// an element is stored: notation/ has the rule, and layout/ computes the result.
namespace tessera::pyflame {

/// A processing element of the wafer.
struct PECoord {
  std::int32_t row = 0;
  std::int32_t col = 0;
  friend bool operator==(const PECoord&, const PECoord&) = default;
  friend auto operator<=>(const PECoord&, const PECoord&) = default;
};

// NOLINTBEGIN(readability-identifier-naming): PyFlame's own spelling.
enum class LayoutType : std::uint8_t {
  SINGLE_PE,      ///< all data on one PE
  ROW_PARTITION,  ///< dim 0 over the PE rows
  COL_PARTITION,  ///< dim 1 over the PE columns
  GRID,           ///< dim 0 over the rows, dim 1 over the columns
  BLOCK_CYCLIC,   ///< the same, in blocks distributed round-robin
  CUSTOM,         ///< a grid with an explicit PE for each tile
};
// NOLINTEND(readability-identifier-naming)

/// How a tensor is distributed over PEs; PyflameLayout defines the rule. The fields are checked
/// only together with a tensor's shape: for an invalid layout (no PEs, two dims on one PE axis, a
/// rank too small for the grid) every function that takes a shape returns an Error, and the layout
/// is compatible with no other.
///
/// Laws, for every element x of every shape that the layout accepts:
///     0 <= local_indices(x)[d] < tile_shape(pe_for_element(x))[d]
///     no two elements have the same PE and the same local indices
///     the tiles of all PEs make up the tensor (once for each replica)
///
/// Every call checks the layout. That is cheap, except for CUSTOM, where it is linear in the length
/// of the list. For many elements, call `lower` once and use the Layout.
struct MeshLayout {
  LayoutType type = LayoutType::SINGLE_PE;
  std::int32_t pe_rows = 1;
  std::int32_t pe_cols = 1;
  std::int32_t block_row_size = 0;  ///< BLOCK_CYCLIC: block size of the dim on the PE rows
  std::int32_t block_col_size = 0;
  /// In `dim_to_pe`: over all PEs, row by row; dim_to_pe=[[0, 1]] in texts.
  static constexpr int kBothAxes = static_cast<int>(notation::PyflameLayout::kBothAxes);
  /// The PE axis of each dim: 0 rows, 1 columns, -1 local, or kBothAxes. Empty means dim 0 on the
  /// rows and dim 1 on the columns, except on axes that are replicated or partial.
  std::vector<int> dim_to_pe = {};
  PECoord origin = {};                                  ///< where tile (0, 0) is
  std::vector<PECoord> pes = {};                        ///< CUSTOM: the PE of each tile, row-major
  std::vector<int> replicate = {};                      ///< PE axes that hold copies
  std::vector<std::pair<int, Reduction>> partial = {};  ///< PE axes that hold shares of a reduction

  /// The simplest one that expresses a layout; an error of notation::raise_pyflame if none does.
  static Result<MeshLayout> of(const Layout& layout);

  static MeshLayout SinglePE();
  static MeshLayout RowPartition(std::int32_t num_pes);
  static MeshLayout ColPartition(std::int32_t num_pes);
  static MeshLayout Grid(std::int32_t rows, std::int32_t cols);
  static MeshLayout BlockCyclic(std::int32_t rows, std::int32_t cols, std::int32_t block_rows,
                                std::int32_t block_cols);
  static MeshLayout Custom(std::int32_t rows, std::int32_t cols, std::vector<PECoord> pes);

  /// The PE of the wafer that owns an element: the first one, if several hold it.
  /// Example: Grid(4, 4) with origin (10, 20), tensor [8, 8]: element {7, 0} is on PE (13, 20).
  Result<PECoord> pe_for_element(const std::vector<std::int64_t>& indices,
                                 const std::vector<std::int64_t>& tensor_shape) const;
  /// All PEs that hold a copy or a share of it, in row-major order of the tiles. kTooLarge for more
  /// than 2^24.
  Result<std::vector<PECoord>> pes_for_element(const std::vector<std::int64_t>& indices,
                                               const std::vector<std::int64_t>& tensor_shape) const;

  /// The index of an element inside its tile.
  Result<std::vector<std::int64_t>> local_indices(
      const std::vector<std::int64_t>& global_indices,
      const std::vector<std::int64_t>& tensor_shape) const;

  /// The extents of the tile of a PE of the wafer. Some extents are 0 if it holds nothing; all are
  /// 0 if no dim ever reaches it. Example: RowPartition(4) of [5, 6]: PE (3, 0) has {0, 6}, PE (0,
  /// 1) has {0, 0}. A tile of rank 0 is never empty, so a PE without one gives kOutOfRange.
  Result<std::vector<std::int64_t>> tile_shape(PECoord pe,
                                               const std::vector<std::int64_t>& tensor_shape) const;

  std::int64_t total_pes() const { return std::int64_t{pe_rows} * pe_cols; }

  /// Whether both layouts put every element of every tensor that both accept on the same PEs of the
  /// wafer, in the same slot of the same tile, and with the same kind of share, so that an
  /// elementwise op needs no communication. Example: Grid(r, 1) with RowPartition(r), SinglePE with
  /// Grid(1, 1).
  bool compatible_with(const MeshLayout& other) const;

  /// Bytes that every PE allocates: the bytes of the largest tile.
  Result<std::int64_t> memory_per_pe(const std::vector<std::int64_t>& tensor_shape,
                                     std::size_t element_size) const;

  /// The same layout as a type of notation/, and as a Layout.
  notation::PyflameLayout terms() const;
  Result<Layout> lower(const std::vector<std::int64_t>& tensor_shape, DType dtype) const;

  friend bool operator==(const MeshLayout&, const MeshLayout&) = default;  ///< as descriptions
};

}  // namespace tessera::pyflame
