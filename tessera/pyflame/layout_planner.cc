// SPDX-License-Identifier: Apache-2.0
#include "tessera/pyflame/layout_planner.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/pyflame/deal.h"
#include "tessera/plan/model/model_plan.h"

namespace tessera::pyflame {
namespace {

/// A dim, or none.
constexpr int kNoDim = -1;

/// A layout that a tensor may have: which dims the PE axes distribute; the same dim twice is one
/// over both axes.
struct Candidate {
  int row_dim = kNoDim;
  int col_dim = kNoDim;
  std::int64_t rows = 1;
  std::int64_t cols = 1;

  std::int64_t pes() const { return rows * cols; }
  MeshLayout layout(std::size_t rank) const;
};

MeshLayout Candidate::layout(std::size_t rank) const {
  if (pes() == 1) return MeshLayout::SinglePE();
  const auto r = static_cast<std::int32_t>(rows);
  const auto c = static_cast<std::int32_t>(cols);
  if (cols == 1 && row_dim == 0) return MeshLayout::RowPartition(r);
  if (rows == 1 && col_dim == 1) return MeshLayout::ColPartition(c);
  MeshLayout made = MeshLayout::Grid(r, c);
  if (row_dim == 0 && col_dim == 1) return made;
  made.dim_to_pe.assign(rank, -1);
  if (col_dim != kNoDim) made.dim_to_pe[static_cast<std::size_t>(col_dim)] = 1;
  if (row_dim != kNoDim) {
    made.dim_to_pe[static_cast<std::size_t>(row_dim)] =
        row_dim == col_dim ? MeshLayout::kBothAxes : 0;
  }
  return made;
}

/// A way to cut a dim into equal pieces: the fewest PEs that give pieces of this length.
struct Pieces {
  std::int64_t pes = 1;
  std::int64_t length = 1;
};

std::vector<Pieces> pieces_of(std::int64_t extent, std::int64_t most_pes) {
  std::vector<Pieces> all;
  for (std::int64_t pes = 1; pes <= most_pes;) {
    const std::int64_t length = std::max<std::int64_t>(ceil_div(extent, pes), 1);
    all.push_back({pes, length});
    if (length == 1) break;
    pes = ceil_div(extent, length - 1);
  }
  return all;
}

/// The tensor to lay out, and what a tile may take.
struct Problem {
  std::vector<std::int64_t> extents;
  std::int64_t elements = 1;
  std::int64_t most_elements = 0;   ///< of a tile
  std::int64_t least_elements = 1;  ///< of a tile, if there are several
  std::int64_t max_rows = 1;
  std::int64_t max_cols = 1;
};

/// Visits every candidate that is valid, with the elements of its tile.
template <typename Visit>
void each_candidate(const Problem& problem, const Visit& visit) {
  const auto rank = static_cast<int>(problem.extents.size());
  const auto fits = [&](std::int64_t elements) {
    return elements <= problem.most_elements && elements >= problem.least_elements;
  };
  if (problem.elements <= problem.most_elements) visit(Candidate{}, problem.elements);
  if (problem.elements == 0) return;
  std::vector<std::vector<Pieces>> over_rows;
  std::vector<std::vector<Pieces>> over_cols;
  for (const std::int64_t extent : problem.extents) {
    over_rows.push_back(pieces_of(extent, problem.max_rows));
    over_cols.push_back(pieces_of(extent, problem.max_cols));
  }
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const std::int64_t extent = problem.extents[at];
    if (extent <= 1) continue;
    const std::int64_t rest = problem.elements / extent;
    for (const Pieces& rows : over_rows[at]) {
      if (rows.pes > 1 && fits(rows.length * rest)) {
        visit(Candidate{d, kNoDim, rows.pes, 1}, rows.length * rest);
      }
    }
    for (const Pieces& cols : over_cols[at]) {
      if (cols.pes > 1 && fits(cols.length * rest)) {
        visit(Candidate{kNoDim, d, 1, cols.pes}, cols.length * rest);
      }
    }
    for (std::int64_t rows = 2; rows <= std::min(problem.max_rows, extent); ++rows) {
      for (const Pieces& cols : pieces_of(ceil_div(extent, rows), problem.max_cols)) {
        if (cols.pes > 1 && fits(cols.length * rest)) {
          visit(Candidate{d, d, rows, cols.pes}, cols.length * rest);
        }
      }
    }
    for (int e = 0; e < rank; ++e) {
      const auto other = static_cast<std::size_t>(e);
      if (e == d || problem.extents[other] <= 1) continue;
      const std::int64_t others = rest / problem.extents[other];
      for (const Pieces& rows : over_rows[at]) {
        for (const Pieces& cols : over_cols[other]) {
          if (rows.pes == 1 || cols.pes == 1) continue;
          const std::int64_t elements = rows.length * cols.length * others;
          if (fits(elements)) visit(Candidate{d, e, rows.pes, cols.pes}, elements);
        }
      }
    }
  }
}

/// The penalty for tiles that are not square: of the dims on the PE rows and columns, and for an
/// axis without a dim the longest other one of the tile.
double aspect_penalty(const std::vector<std::int64_t>& tile, int row_dim, int col_dim) {
  if (tile.size() < 2) return 0;
  if (col_dim == row_dim) col_dim = kNoDim;
  const auto longest_beside = [&](int taken) {
    int longest = kNoDim;
    for (int d = 0; d < static_cast<int>(tile.size()); ++d) {
      const auto at = static_cast<std::size_t>(d);
      const bool is_longer =
          longest == kNoDim || tile[at] > tile[static_cast<std::size_t>(longest)];
      if (d != taken && is_longer) longest = d;
    }
    return longest;
  };
  if (row_dim == kNoDim) row_dim = longest_beside(col_dim);
  if (col_dim == kNoDim) col_dim = longest_beside(row_dim);
  const auto length = [&](int d) {
    return static_cast<double>(std::max<std::int64_t>(tile[static_cast<std::size_t>(d)], 1));
  };
  return std::fabs(std::log(length(row_dim)) - std::log(length(col_dim)));
}

double memory_penalty(std::int64_t elements, std::int64_t most_elements) {
  return 1 - static_cast<double>(elements) / static_cast<double>(most_elements);
}

/// The elements that fit so many bytes.
Result<std::int64_t> elements_in(std::int64_t bytes, DType dtype) {
  const std::optional<std::int64_t> bits = dtype_bits(dtype);
  if (!bits) {
    return Error{ErrorCode::kBadDType,
                 cat("elements of type ", dtype_name(dtype), " have no size")};
  }
  return (Checked(bytes) * 8).saturated() / *bits;
}

Machine find_wse2() {
  const Result<const Machine*> wse2 = find_machine("wse2");
  assert(wse2.ok());
  return **wse2;
}

}  // namespace

LayoutPlanner::LayoutPlanner(LayoutConstraints constraints)
    : LayoutPlanner(constraints, find_wse2()) {}

LayoutPlanner::LayoutPlanner(const LayoutConstraints& constraints, Machine machine)
    : constraints_(constraints), machine_(std::move(machine)) {}

std::int64_t LayoutPlanner::max_rows() const {
  const std::vector<std::int64_t>& extents = machine_.mesh.back().extents;
  const std::int64_t all = extents.size() < 2 ? 1 : extents[0];
  return constraints_.max_pe_rows ? std::min<std::int64_t>(*constraints_.max_pe_rows, all) : all;
}

std::int64_t LayoutPlanner::max_cols() const {
  const std::vector<std::int64_t>& extents = machine_.mesh.back().extents;
  const std::int64_t all = extents.empty() ? 1 : extents.back();
  return constraints_.max_pe_cols ? std::min<std::int64_t>(*constraints_.max_pe_cols, all) : all;
}

Result<std::int64_t> LayoutPlanner::budget() const {
  constexpr auto kMost = static_cast<std::size_t>(INT64_MAX);
  if (constraints_.max_memory_per_pe) {
    return static_cast<std::int64_t>(std::min(*constraints_.max_memory_per_pe, kMost));
  }
  if (const auto bytes = machine_.default_space().data_bytes()) return *bytes;
  return Error{ErrorCode::kDoesNotFit,
               cat("the memory of a PE of ", machine_.name, " is not published"), std::nullopt,
               "give max_memory_per_pe"};
}

Status LayoutPlanner::check_layout(const MeshLayout& layout, const std::vector<std::int64_t>& shape,
                                   DType dtype) const {
  TESSERA_TRY(const Layout lowered, layout.lower(shape, dtype));
  std::int64_t last_row = std::int64_t{layout.origin.row} + layout.pe_rows;
  std::int64_t last_col = std::int64_t{layout.origin.col} + layout.pe_cols;
  if (layout.type == LayoutType::CUSTOM) {
    last_row = last_col = 0;
    for (const PECoord& pe : layout.pes) {
      last_row = std::max(last_row, std::int64_t{layout.origin.row} + pe.row + 1);
      last_col = std::max(last_col, std::int64_t{layout.origin.col} + pe.col + 1);
    }
  }
  if (last_row > max_rows() || last_col > max_cols()) {
    return Error{ErrorCode::kOutOfRange,
                 cat("the layout reaches PE (", last_row - 1, ", ", last_col - 1, ") of ",
                     max_rows(), "x", max_cols()),
                 std::nullopt, "use fewer PE rows and columns, or a smaller origin"};
  }
  TESSERA_TRY(const std::int64_t most, budget());
  const std::int64_t bytes = lowered.shard_bytes();
  if (bytes > most) {
    return Error{ErrorCode::kDoesNotFit,
                 cat("a tile of ", bytes, " bytes, of ", most, " that a PE has for data"),
                 std::nullopt, "distribute the tensor over more PEs"};
  }
  const auto least = static_cast<std::int64_t>(
      std::min(constraints_.min_tile_elements, static_cast<std::size_t>(INT64_MAX)));
  if (layout.total_pes() > 1 && lowered.slots() < least) {
    return Error{ErrorCode::kDoesNotFit,
                 cat("a tile of ", lowered.slots(), " elements, of at least ", least), std::nullopt,
                 "distribute the tensor over fewer PEs"};
  }
  return ok_status();
}

namespace {

Result<Problem> problem_of(const std::vector<std::int64_t>& shape, DType dtype, std::int64_t bytes,
                           std::size_t least) {
  TESSERA_TRY(const Shape checked, Shape::make(shape));
  Problem problem;
  problem.extents = shape;
  problem.elements = checked.elements();
  TESSERA_TRY(problem.most_elements, elements_in(bytes, dtype));
  problem.least_elements =
      static_cast<std::int64_t>(std::min(least, static_cast<std::size_t>(INT64_MAX)));
  return problem;
}

Error nothing_fits(const Problem& problem) {
  return {ErrorCode::kDoesNotFit,
          cat("no layout of ", bracketed(problem.extents), " on ", problem.max_rows, "x",
              problem.max_cols, " PEs has tiles of ", problem.least_elements, " to ",
              problem.most_elements, " elements"),
          std::nullopt, "allow more memory, more PEs or smaller tiles"};
}

}  // namespace

Result<std::int64_t> LayoutPlanner::min_pes_required(const std::vector<std::int64_t>& shape,
                                                     DType dtype) const {
  TESSERA_TRY(const std::int64_t bytes, budget());
  TESSERA_TRY(Problem problem, problem_of(shape, dtype, bytes, constraints_.min_tile_elements));
  problem.max_rows = max_rows();
  problem.max_cols = max_cols();
  std::int64_t fewest = 0;
  each_candidate(problem, [&](const Candidate& candidate, std::int64_t) {
    if (fewest == 0 || candidate.pes() < fewest) fewest = candidate.pes();
  });
  if (fewest == 0) return nothing_fits(problem);
  return fewest;
}

Result<MeshLayout> LayoutPlanner::plan_layout(const std::vector<std::int64_t>& shape,
                                              DType dtype) const {
  TESSERA_TRY(const std::int64_t bytes, budget());
  TESSERA_TRY(Problem problem, problem_of(shape, dtype, bytes, constraints_.min_tile_elements));
  problem.max_rows = max_rows();
  problem.max_cols = max_cols();
  if (problem.elements <= problem.most_elements) return MeshLayout::SinglePE();
  using Rank = std::pair<double, std::int64_t>;
  std::optional<Rank> best;
  Candidate chosen;
  std::vector<std::int64_t> tile;
  each_candidate(problem, [&](const Candidate& candidate, std::int64_t elements) {
    double score = memory_penalty(elements, problem.most_elements);
    if (best && score > best->first) return;  // whatever the aspect is
    if (constraints_.prefer_square_tiles) {
      tile = problem.extents;
      const auto cut = [&](int dim, std::int64_t pes) {
        if (dim == kNoDim) return;
        std::int64_t& length = tile[static_cast<std::size_t>(dim)];
        length = ceil_div(length, pes);
      };
      if (candidate.row_dim == candidate.col_dim) {
        cut(candidate.row_dim, candidate.pes());
      } else {
        cut(candidate.row_dim, candidate.rows);
        cut(candidate.col_dim, candidate.cols);
      }
      score += aspect_penalty(tile, candidate.row_dim, candidate.col_dim);
    }
    const Rank rank{score, candidate.pes()};
    if (best && *best <= rank) return;
    best = rank;
    chosen = candidate;
  });
  if (!best) return nothing_fits(problem);
  return chosen.layout(shape.size());
}

Result<double> LayoutPlanner::score_layout(const MeshLayout& layout,
                                           const std::vector<std::int64_t>& shape,
                                           DType dtype) const {
  TESSERA_CHECK_OK(layout.lower(shape, dtype));
  TESSERA_TRY(const Shape checked, Shape::make(shape));
  TESSERA_TRY(const std::vector<notation::PyflameDeal> deals,
              notation::deals(layout.terms(), checked));
  TESSERA_TRY(const std::int64_t bytes, budget());
  TESSERA_TRY(const std::int64_t most, elements_in(bytes, dtype));
  std::vector<std::int64_t> tile;
  std::array<int, 2> dims = {kNoDim, kNoDim};
  std::int64_t elements = 1;
  for (const notation::PyflameDeal& deal : deals) {
    for (const int axis : {0, 1}) {
      if (deal.uses(axis) && deal.pes > 1) {
        dims[static_cast<std::size_t>(axis)] = static_cast<int>(tile.size());
      }
    }
    tile.push_back(deal.tile);
    elements *= deal.tile;
  }
  const double memory = memory_penalty(elements, std::max<std::int64_t>(most, 1));
  return constraints_.prefer_square_tiles ? memory + aspect_penalty(tile, dims[0], dims[1])
                                          : memory;
}

Result<std::map<ir::NodeId, MeshLayout>> LayoutPlanner::plan_graph_layouts(
    const ir::Graph& graph) const {
  TESSERA_TRY(const graph::Graph lowered, graph.lower());
  const std::vector<ir::Node*> order = graph.topological_order();
  Machine machine = machine_;
  TESSERA_TRY(const std::int64_t bytes, budget());
  // What the constraints leave of the machine.
  machine.mesh = {machine.mesh.back()};
  if (machine.mesh[0].extents.size() == 2) {
    machine.mesh[0].extents = {max_rows(), max_cols()};
    machine.rules.fabric.reset();
  }
  std::erase_if(machine.memory,
                [&](const target::MemorySpace& space) { return space.name != machine.data_space; });
  machine.memory[0].usable_bytes = bytes;
  machine.notes.clear();  // they may be about what is gone
  plan::PlanOptions options;
  options.pins.resize(order.size());
  while (true) {
    TESSERA_TRY(const plan::ModelPlan plan, plan::plan_model(lowered, machine, options));
    std::map<ir::NodeId, MeshLayout> layouts;
    bool all_valid = true;
    for (std::size_t v = 0; v < order.size(); ++v) {
      const ir::TensorSpec& spec = order[v]->output_spec();
      Result<MeshLayout> made = MeshLayout::of(plan.layouts[v]);
      const bool is_valid = made && plan.layouts[v].spec().space == machine.data_space &&
                            validate_layout(*made, spec.shape, spec.dtype);
      if (!is_valid && !options.pins[v]) {
        TESSERA_TRY(const MeshLayout alone, plan_layout(spec.shape, spec.dtype));
        TESSERA_TRY(options.pins[v], alone.lower(spec.shape, spec.dtype));
        all_valid = false;
      } else if (!is_valid) {
        TESSERA_TRY(made, plan_layout(spec.shape, spec.dtype));
      }
      if (made) layouts.emplace(order[v]->id(), *std::move(made));
    }
    if (all_valid) return layouts;
  }
}

}  // namespace tessera::pyflame
