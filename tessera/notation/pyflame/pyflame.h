// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera::notation {

/// How PyFlame distributes a tensor over the PEs of a wafer. Text comes in; a layout on the grid of
/// tiles goes out.
///
///     pyflame.Grid(4, 4)      pyflame.BlockCyclic(2, 2, 8, 8, dim_to_pe=[-1, 0, 1], origin=(3, 5))
///
/// The rule. Each dim that is mapped to a PE axis is cut into pieces of ceil(n / p) elements, one
/// per PE (a block-cyclic one into blocks that go to the PEs in turn). Dim 0 goes to the rows and
/// dim 1 to the columns unless `dim_to_pe` specifies otherwise or the axis is replicated or
/// partial; all other dims stay local. An entry [0, 1] of `dim_to_pe` distributes a dim over all
/// PEs, row by row: with t = ceil(n / (rows·cols)), element x is on PE ((x div t) div cols,
/// (x div t) mod cols). Blocks do not go with it. Slots are row-major over the allocated tile,
/// which is the same on every PE: ceil(n / p) elements of a dim, or ceil(blocks / p) whole blocks
/// (a block is never longer than its dim). A PE axis of more than one PE that no dim uses holds
/// data only at 0, unless it is replicated or partial. Tiles past the end of the tensor are empty,
/// and padding always has the cause `grid`.
///
/// The mesh is the grid of tiles, rows x cols. `origin` and the PEs of Custom specify where these
/// tiles are on the wafer: they are the layout's device map.
struct PyflameLayout {
  enum class Kind : std::uint8_t {
    kSinglePE,
    kRowPartition,
    kColPartition,
    kGrid,
    kBlockCyclic,
    kCustom,
  };
  using Pe = std::array<std::int64_t, 2>;  ///< row, col
  /// In `dim_to_pe`: rows and, inside each, columns. Texts write it [0, 1].
  static constexpr std::int64_t kBothAxes = 2;

  Kind kind = Kind::kSinglePE;
  std::int64_t rows = 1;
  std::int64_t cols = 1;
  std::int64_t block_rows = 0;  ///< BlockCyclic
  std::int64_t block_cols = 0;
  std::vector<Pe> pes;  ///< Custom: the PE of each tile, row-major
  /// Per dim: 0 rows, 1 columns, -1 local, or kBothAxes.
  std::optional<std::vector<std::int64_t>> dim_to_pe;
  std::optional<Pe> origin;
  std::vector<int> replicate;                      ///< PE axes
  std::vector<std::pair<int, Reduction>> partial;  ///< PE axes
  friend bool operator==(const PyflameLayout&, const PyflameLayout&) = default;
};

/// The layout of a tensor. kContradiction when the rank is too small for the grid, or two dims
/// share a PE axis. Example: RowPartition(4) of 5 rows has tiles of 2, 2, 1 and 0 rows.
Result<Layout> lower(const PyflameLayout& words, const Shape& shape, DType dtype);

/// The simplest factory that expresses this layout, or why none does.
/// Law: lower(*raise_pyflame(l), l.shape(), l.dtype()) is the same function as l.
Result<PyflameLayout> raise_pyflame(const Layout& layout);

/// "SinglePE", "RowPartition", ..
std::string_view pyflame_factory(PyflameLayout::Kind kind);

/// "pyflame.Grid(4, 4)".
std::string write(const PyflameLayout& words);

}  // namespace tessera::notation
