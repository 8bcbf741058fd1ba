// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/machines/ttnn_kinds.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/ops/machines/rules.h"

namespace tessera::ops::machines {
namespace {

constexpr std::int64_t kTile = 32;

bool divides_rows(const Layout& layout) {
  for (std::size_t d = 0; d + 1 < layout.shape().rank(); ++d) {
    if (is_divided(layout, d)) return true;
  }
  return false;
}

/// Rows and columns as lines over padded dims.
struct Line {
  std::vector<Term> terms;
  std::int64_t needed = 1;    ///< elements up to the last
  std::int64_t physical = 1;  ///< in whole tiles
};

Result<std::array<Line, 2>> lines_of(const Shape& shape, std::int64_t tile) {
  std::array<Line, 2> lines;
  const std::size_t rank = shape.rank();
  Checked rows(1);
  Checked last(0);
  for (std::size_t d = rank; d-- > 0;) {
    const bool is_column = d + 1 == rank;
    Line& line = lines[is_column ? 1 : 0];
    const std::int64_t step = is_column ? 1 : rows.saturated();
    line.terms.insert(line.terms.begin(), Term{static_cast<int>(d), step});
    if (is_column) {
      line.needed = shape[d];
      continue;
    }
    last += Checked(step) * (shape[d] - 1);
    const bool padded = d + 2 == rank;
    rows *= padded ? (Checked(ceil_div(shape[d], tile)) * tile).saturated() : shape[d];
  }
  TESSERA_TRY(lines[0].needed, (last + 1).value("rows"));
  if (rank > 1) {
    TESSERA_TRY(lines[0].physical, rows.value("rows"));
  }
  for (Line& line : lines) {
    line.physical = std::max(line.physical, line.needed);
    TESSERA_TRY(line.physical, (Checked(ceil_div(line.physical, tile)) * tile).value("a line"));
  }
  return lines;
}

/// Over how many cores a kind divides rows and columns.
std::array<std::int64_t, 2> pieces_of(Kind kind, const Shape& grid) {
  switch (kind) {
    case Kind::kHeight:
      return {grid.elements(), 1};
    case Kind::kWidth:
      return {1, grid.elements()};
    case Kind::kBlock:
      return {grid[0], grid[1]};
    case Kind::kInterleaved:
      break;
  }
  return {1, 1};
}

}  // namespace

std::string_view kind_text(Kind kind) {
  switch (kind) {
    case Kind::kInterleaved:
      return "interleaved";
    case Kind::kHeight:
      return "height-sharded";
    case Kind::kWidth:
      return "width-sharded";
    case Kind::kBlock:
      return "block-sharded";
  }
  return "";
}

bool divides_columns(const Layout& layout) {
  const std::size_t rank = layout.shape().rank();
  return rank > 0 && is_divided(layout, rank - 1);
}

Kind kind_of(const Layout& layout) {
  const bool rows = divides_rows(layout);
  const bool columns = divides_columns(layout);
  if (rows) return columns ? Kind::kBlock : Kind::kHeight;
  return columns ? Kind::kWidth : Kind::kInterleaved;
}

bool is_interleaved(const Layout* layout) {
  return layout == nullptr || kind_of(*layout) == Kind::kInterleaved;
}

bool is_tiled(const Layout& layout) { return layout.atom().is_tile(); }

Result<Layout> ttnn_layout(const graph::TensorType& type, Kind kind, const Cores& cores,
                           std::string_view space, bool tiled) {
  const bool is_block = kind == Kind::kBlock;
  if (is_block && cores.grid.rank() != 2) {
    return Error{ErrorCode::kBadFold, "block sharding needs a grid of rows and columns"};
  }
  const std::int64_t tile = tiled ? kTile : 1;
  TESSERA_TRY(const auto lines, lines_of(type.shape, tile));
  LayoutSpec spec;
  spec.form.shape = type.shape;
  spec.form.mesh = cores.grid;
  if (kind == Kind::kInterleaved) {
    TESSERA_TRY(spec.form.mesh, Shape::make({1, 1}));
  } else {
    spec.device_map = cores.map;
  }
  spec.dtype = type.dtype;
  spec.atom = tiled ? Atom::tile(kTile, kTile, type.dtype) : Atom::scalar(type.dtype);
  spec.space = std::string(space);
  const std::array<std::int64_t, 2> pieces = pieces_of(kind, spec.form.mesh);
  std::array<Fold, 2> folds;
  Checked stride(tile * tile);
  for (std::size_t l = 2; l-- > 0;) {
    const Line& line = lines[l];
    const std::int64_t tiles = ceil_div(ceil_div(line.physical, pieces[l]), tile);
    TESSERA_TRY(const std::int64_t piece,
                (Checked(std::max<std::int64_t>(tiles, 1)) * tile).value("a shard"));
    Fold& fold = folds[l];
    fold.terms = line.terms;
    if (pieces[l] > 1) {
      const bool tile_pads = line.needed < line.physical;
      const bool grid_pads = line.physical < (Checked(piece) * pieces[l]).saturated();
      if (tile_pads && grid_pads) {
        fold.cuts.push_back({line.physical, 1, Target::nothing(), 1, Cause::kTile});
      }
      const Cause cause = tile_pads && !grid_pads ? Cause::kTile : Cause::kGrid;
      std::int64_t left = pieces[l];
      for (std::size_t a = 0; a < cores.grid.rank(); ++a) {
        if ((is_block && a != l) || cores.grid[a] <= 1) continue;
        left = is_block ? 1 : left / cores.grid[a];
        fold.cuts.push_back({piece * left, cores.grid[a], Target::mesh(static_cast<int>(a)), 1,
                             fold.cuts.empty() ? cause : Cause::kGrid});
      }
    }
    const Cause end = tiled ? Cause::kTile : Cause::kGrid;
    TESSERA_TRY(const std::int64_t between, stride.value("the slots of a place"));
    if (tiled) fold.cuts.push_back({tile, tiles, Target::memory(), between, end});
    fold.cuts.push_back(
        {1, tiled ? tile : tiles, Target::memory(), tiled ? (l == 0 ? tile : 1) : between, end});
    stride *= std::max<std::int64_t>(tiles, 1);
  }
  spec.form.folds = {std::move(folds[0]), std::move(folds[1])};
  return Layout::make(std::move(spec));
}

bool fills_cores(const Shape& shape, Kind kind, const Shape& grid) {
  const auto lines = lines_of(shape, kTile);
  if (!lines || (kind == Kind::kBlock && grid.rank() != 2)) return false;
  const std::array<std::int64_t, 2> pieces = pieces_of(kind, grid);
  return (*lines)[0].physical >= kTile * pieces[0] && (*lines)[1].physical >= kTile * pieces[1];
}

}  // namespace tessera::ops::machines
