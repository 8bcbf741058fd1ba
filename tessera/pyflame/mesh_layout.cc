// SPDX-License-Identifier: Apache-2.0
#include "tessera/pyflame/mesh_layout.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/pyflame/deal.h"

namespace tessera::pyflame {
namespace {

/// A tensor on a layout, once both are known to fit.
struct Spread {
  notation::PyflameLayout terms;
  Shape shape;
  std::vector<notation::PyflameDeal> deals;  ///< one per dim
};

Result<Spread> spread(const MeshLayout& layout, const std::vector<std::int64_t>& tensor_shape) {
  Spread out;
  out.terms = layout.terms();
  TESSERA_TRY(out.shape, Shape::make(tensor_shape));
  TESSERA_TRY(out.deals, notation::deals(out.terms, out.shape));
  return out;
}

Status check_index(const Shape& shape, const std::vector<std::int64_t>& index) {
  if (shape.contains(index)) return ok_status();
  return Error{
      ErrorCode::kOutOfRange,
      cat("element ", bracketed(index), " is outside the tensor ", bracketed(shape.extents())),
      std::nullopt, "one number per dim, counted from 0"};
}

/// The PE of a tile.
Result<PECoord> pe_of_tile(const MeshLayout& layout, std::int64_t row, std::int64_t col) {
  if (layout.type == LayoutType::CUSTOM) {
    const PECoord pe = layout.pes[static_cast<std::size_t>(row * layout.pe_cols + col)];
    row = pe.row;
    col = pe.col;
  }
  row += layout.origin.row;
  col += layout.origin.col;
  constexpr std::int64_t kLast = std::numeric_limits<std::int32_t>::max();
  if (row > kLast || col > kLast) {
    return Error{ErrorCode::kOverflow, cat("PE (", row, ", ", col, ") does not fit 32-bit numbers"),
                 std::nullopt, "use a smaller origin"};
  }
  return PECoord{static_cast<std::int32_t>(row), static_cast<std::int32_t>(col)};
}

/// The tile on a PE, if any.
std::optional<PECoord> tile_on_pe(const MeshLayout& layout, PECoord pe) {
  const std::int64_t row = std::int64_t{pe.row} - layout.origin.row;
  const std::int64_t col = std::int64_t{pe.col} - layout.origin.col;
  std::int64_t tile = row * layout.pe_cols + col;
  if (layout.type == LayoutType::CUSTOM) {
    const auto found =
        std::find_if(layout.pes.begin(), layout.pes.end(),
                     [&](const PECoord& listed) { return listed.row == row && listed.col == col; });
    if (found == layout.pes.end()) return std::nullopt;
    tile = found - layout.pes.begin();
  } else if (row < 0 || row >= layout.pe_rows || col < 0 || col >= layout.pe_cols) {
    return std::nullopt;
  }
  return PECoord{static_cast<std::int32_t>(tile / layout.pe_cols),
                 static_cast<std::int32_t>(tile % layout.pe_cols)};
}

/// Whether elements are stored along this PE axis: a dim is distributed over it, or the whole axis
/// holds copies or shares.
bool is_used(const Spread& spread, int axis) {
  const auto& [terms, shape, deals] = spread;
  return std::count(terms.replicate.begin(), terms.replicate.end(), axis) > 0 ||
         std::any_of(terms.partial.begin(), terms.partial.end(),
                     [axis](const auto& item) { return item.first == axis; }) ||
         std::any_of(deals.begin(), deals.end(),
                     [axis](const notation::PyflameDeal& deal) { return deal.uses(axis); });
}

MeshLayout make(LayoutType type, std::int32_t rows, std::int32_t cols) {
  MeshLayout layout;
  layout.type = type;
  layout.pe_rows = rows;
  layout.pe_cols = cols;
  return layout;
}

}  // namespace

Result<MeshLayout> MeshLayout::of(const Layout& layout) {
  TESSERA_TRY(const notation::PyflameLayout terms, notation::raise_pyflame(layout));
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::int64_t largest = std::max({terms.rows, terms.cols, terms.block_rows, terms.block_cols});
  const notation::PyflameLayout::Pe origin = terms.origin.value_or(notation::PyflameLayout::Pe{});
  largest = std::max({largest, origin[0], origin[1]});
  for (const notation::PyflameLayout::Pe& pe : terms.pes) {
    largest = std::max({largest, pe[0], pe[1]});
  }
  if (largest > kMost) {
    return Error{ErrorCode::kOverflow, cat(largest, " does not fit 32-bit numbers"), std::nullopt,
                 "use smaller grids and blocks"};
  }
  const auto small = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
  MeshLayout made = make(static_cast<LayoutType>(terms.kind), small(terms.rows), small(terms.cols));
  made.block_row_size = small(terms.block_rows);
  made.block_col_size = small(terms.block_cols);
  if (terms.dim_to_pe) {
    for (const std::int64_t axis : *terms.dim_to_pe) {
      made.dim_to_pe.push_back(static_cast<int>(axis));
    }
  }
  made.origin = {small(origin[0]), small(origin[1])};
  for (const notation::PyflameLayout::Pe& pe : terms.pes) {
    made.pes.push_back({small(pe[0]), small(pe[1])});
  }
  made.replicate = terms.replicate;
  made.partial = terms.partial;
  return made;
}

MeshLayout MeshLayout::SinglePE() { return make(LayoutType::SINGLE_PE, 1, 1); }

MeshLayout MeshLayout::RowPartition(std::int32_t num_pes) {
  return make(LayoutType::ROW_PARTITION, num_pes, 1);
}

MeshLayout MeshLayout::ColPartition(std::int32_t num_pes) {
  return make(LayoutType::COL_PARTITION, 1, num_pes);
}

MeshLayout MeshLayout::Grid(std::int32_t rows, std::int32_t cols) {
  return make(LayoutType::GRID, rows, cols);
}

MeshLayout MeshLayout::BlockCyclic(std::int32_t rows, std::int32_t cols, std::int32_t block_rows,
                                   std::int32_t block_cols) {
  MeshLayout layout = make(LayoutType::BLOCK_CYCLIC, rows, cols);
  layout.block_row_size = block_rows;
  layout.block_col_size = block_cols;
  return layout;
}

MeshLayout MeshLayout::Custom(std::int32_t rows, std::int32_t cols, std::vector<PECoord> pes) {
  MeshLayout layout = make(LayoutType::CUSTOM, rows, cols);
  layout.pes = std::move(pes);
  return layout;
}

notation::PyflameLayout MeshLayout::terms() const {
  notation::PyflameLayout terms;
  terms.kind = static_cast<notation::PyflameLayout::Kind>(type);
  terms.rows = pe_rows;
  terms.cols = pe_cols;
  terms.block_rows = block_row_size;
  terms.block_cols = block_col_size;
  for (const PECoord& pe : pes) terms.pes.push_back({pe.row, pe.col});
  if (!dim_to_pe.empty()) terms.dim_to_pe.emplace(dim_to_pe.begin(), dim_to_pe.end());
  if (origin != PECoord{}) terms.origin = {origin.row, origin.col};
  terms.replicate = replicate;
  terms.partial = partial;
  return terms;
}

Result<Layout> MeshLayout::lower(const std::vector<std::int64_t>& tensor_shape, DType dtype) const {
  TESSERA_TRY(const Shape shape, Shape::make(tensor_shape));
  return tessera::notation::lower(terms(), shape, dtype);
}

Result<PECoord> MeshLayout::pe_for_element(const std::vector<std::int64_t>& indices,
                                           const std::vector<std::int64_t>& tensor_shape) const {
  TESSERA_TRY(const Spread tensor, spread(*this, tensor_shape));
  TESSERA_CHECK_OK(check_index(tensor.shape, indices));
  Place tile = {0, 0};
  for (std::size_t dim = 0; dim < indices.size(); ++dim) {
    const notation::PyflameDeal& deal = tensor.deals[dim];
    if (deal.axis < 0) continue;
    const std::int64_t number = deal.pe_of(indices[dim]);
    if (deal.axis == kBothAxes) {
      tile = {number / deal.cols, number % deal.cols};
    } else {
      tile[static_cast<std::size_t>(deal.axis)] = number;
    }
  }
  return pe_of_tile(*this, tile[0], tile[1]);
}

Result<std::vector<PECoord>> MeshLayout::pes_for_element(
    const std::vector<std::int64_t>& indices, const std::vector<std::int64_t>& tensor_shape) const {
  TESSERA_TRY(const Layout layout, lower(tensor_shape, DType::kI8));
  TESSERA_TRY(const Location location, layout.locate(indices));
  std::vector<PECoord> holders;
  for (const Place& tile : location.places) {
    TESSERA_TRY(const PECoord pe, pe_of_tile(*this, tile[0], tile[1]));
    holders.push_back(pe);
  }
  return holders;
}

Result<std::vector<std::int64_t>> MeshLayout::local_indices(
    const std::vector<std::int64_t>& global_indices,
    const std::vector<std::int64_t>& tensor_shape) const {
  TESSERA_TRY(const Spread tensor, spread(*this, tensor_shape));
  TESSERA_CHECK_OK(check_index(tensor.shape, global_indices));
  std::vector<std::int64_t> local;
  for (std::size_t dim = 0; dim < global_indices.size(); ++dim) {
    local.push_back(tensor.deals[dim].local_of(global_indices[dim]));
  }
  return local;
}

Result<std::vector<std::int64_t>> MeshLayout::tile_shape(
    PECoord pe, const std::vector<std::int64_t>& tensor_shape) const {
  TESSERA_TRY(const Spread tensor, spread(*this, tensor_shape));
  const std::optional<PECoord> tile = tile_on_pe(*this, pe);
  const bool reached =
      tile && (tile->row == 0 || is_used(tensor, 0)) && (tile->col == 0 || is_used(tensor, 1));
  std::vector<std::int64_t> extents(tensor.shape.rank(), 0);
  if (!reached) {
    if (!extents.empty()) return extents;
    return Error{ErrorCode::kOutOfRange,
                 cat("PE (", pe.row, ", ", pe.col, ") holds no tile of this tensor of rank 0"),
                 std::nullopt, "call pes_for_element for the PEs that do"};
  }
  for (std::size_t dim = 0; dim < extents.size(); ++dim) {
    const notation::PyflameDeal& deal = tensor.deals[dim];
    const std::int64_t number = deal.axis == kBothAxes ? tile->row * deal.cols + tile->col
                                : deal.axis == 0       ? tile->row
                                : deal.axis == 1       ? tile->col
                                                       : 0;
    extents[dim] = deal.held_by(number);
  }
  return extents;
}

Result<std::int64_t> MeshLayout::memory_per_pe(const std::vector<std::int64_t>& tensor_shape,
                                               std::size_t element_size) const {
  TESSERA_TRY(const Spread tensor, spread(*this, tensor_shape));
  if (element_size > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max())) {
    return Error{ErrorCode::kOverflow, cat("elements of ", element_size, " bytes"), std::nullopt,
                 "give the bytes of one element"};
  }
  Checked bytes = static_cast<std::int64_t>(element_size);
  for (const notation::PyflameDeal& deal : tensor.deals) bytes *= deal.tile;
  return bytes.value("the bytes of a tile");
}

}  // namespace tessera::pyflame
