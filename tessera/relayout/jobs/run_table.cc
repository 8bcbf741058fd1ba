// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/jobs/run_table.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::relayout {
namespace {

/// The pieces of one factor, in bytes.
using Part = std::vector<FlatNest>;

Part part_of(const Factor& factor, const Memory& from, const Memory& to, std::int64_t width) {
  Part part;
  part.reserve(factor.pieces.size());
  for (const Piece& piece : factor.pieces) {
    FlatNest flat;
    flat.src = from.flat(piece.at.a) * width;
    flat.dst = to.flat(piece.at.b) * width;
    flat.axes.reserve(piece.loops.size());
    for (const Loop& loop : piece.loops) {
      flat.axes.push_back(
          {loop.extent, from.flat(loop.move.a) * width, to.flat(loop.move.b) * width});
    }
    part.push_back(simplified(std::move(flat)));
  }
  return part;
}

/// The axis along which both sides step by `unit` bytes; as many as there are axes when none does.
std::size_t run_axis(const FlatNest& piece, std::int64_t unit) {
  std::size_t a = 0;
  while (a < piece.axes.size() && (piece.axes[a].src != unit || piece.axes[a].dst != unit)) ++a;
  return a;
}

bool has_runs(const Part& part, std::int64_t unit) {
  return std::any_of(part.begin(), part.end(), [&](const FlatNest& piece) {
    return run_axis(piece, unit) < piece.axes.size();
  });
}

/// Calls `visit(src, dst)` at every step of `axes` from axis `a` on.
template <typename Visit>
void for_each_step(const std::vector<Axis>& axes, std::size_t a, Offsets at, const Visit& visit) {
  if (a == axes.size()) return visit(at);
  for (std::int64_t i = 0; i < axes[a].extent; ++i) {
    for_each_step(axes, a + 1, at, visit);
    at.src += axes[a].src;
    at.dst += axes[a].dst;
  }
}

/// The stretches of a part of which `unit` bytes move together; with a unit of 0 only the positions
/// of its steps. Nullopt when there are too many.
std::optional<std::vector<Stretch>> stretches_of(const Part& part, std::int64_t unit) {
  std::vector<Stretch> stretches;
  for (FlatNest piece : part) {
    std::int64_t bytes = unit;
    if (const std::size_t run = run_axis(piece, unit); unit > 0 && run < piece.axes.size()) {
      bytes *= piece.axes[run].extent;
      piece.axes.erase(piece.axes.begin() + static_cast<std::ptrdiff_t>(run));
    }
    const std::int64_t parts = std::max<std::int64_t>(1, ceil_div(bytes, RunTable::kLongest));
    const auto left = RunTable::kMostEntries - static_cast<std::int64_t>(stretches.size());
    if (parts > left || piece.steps() > left / parts) return std::nullopt;
    for_each_step(piece.axes, 0, {piece.src, piece.dst},
                  [&](const Offsets& at) { stretches.push_back({at.dst, at.src, bytes}); });
  }
  return stretches;
}

/// Stretches in the order of one side, joined if contiguous on both sides, and cut if too long.
std::vector<Stretch> in_order(std::vector<Stretch> stretches, std::int64_t Stretch::* by) {
  sort_by(stretches, by);
  std::vector<Stretch> joined;
  joined.reserve(stretches.size());
  for (const Stretch& next : stretches) {
    if (!joined.empty() && joined.back().to + joined.back().bytes == next.to &&
        joined.back().from + joined.back().bytes == next.from) {
      joined.back().bytes += next.bytes;
    } else {
      joined.push_back(next);
    }
  }
  return joined;
}

std::vector<Stretch> cut_long(const std::vector<Stretch>& stretches) {
  std::vector<Stretch> cut;
  cut.reserve(stretches.size());
  for (const Stretch& whole : stretches) {
    for (std::int64_t done = 0; done < whole.bytes; done += RunTable::kLongest) {
      cut.push_back(
          {whole.to + done, whole.from + done, std::min(RunTable::kLongest, whole.bytes - done)});
    }
  }
  return cut;
}

/// The smallest distance between adjacent entries of an increasing table.
std::int64_t least_step(const std::vector<Offsets>& table, std::int64_t Offsets::* by) {
  std::int64_t least = INT64_MAX;
  for (std::size_t i = 1; i < table.size(); ++i) {
    least = std::min(least, table[i].*by - table[i - 1].*by);
  }
  return least;
}

std::optional<std::vector<Offsets>> steps_of(const Part& part) {
  const std::optional<std::vector<Stretch>> stretches = stretches_of(part, 0);
  if (!stretches) return std::nullopt;
  std::vector<Offsets> steps;
  steps.reserve(stretches->size());
  for (const Stretch& step : *stretches) steps.push_back({step.from, step.to});
  return steps;
}

/// Merges the last table of rows into the columns.
void take_in_rows(RunTable& table, std::int64_t Stretch::* side) {
  const std::vector<Offsets> rows = std::move(table.rows.back());
  table.rows.pop_back();
  std::vector<Stretch> columns;
  columns.reserve(rows.size() * table.columns.size());
  for (const Offsets& row : rows) {
    for (const Stretch& column : table.columns) {
      columns.push_back({row.dst + column.to, row.src + column.from, column.bytes});
    }
  }
  sort_by(columns, side);
  table.columns = std::move(columns);
  table.column_bytes *= static_cast<std::int64_t>(rows.size());
}

}  // namespace

std::optional<RunTable> RunTable::make(const Refinement& copy, const Memory& from, const Memory& to,
                                       std::int64_t width, std::int64_t Offsets::* by) {
  RunTable table;
  table.base = {from.flat(copy.base().a) * width, to.flat(copy.base().b) * width};
  const auto side = by == &Offsets::src ? &Stretch::from : &Stretch::to;
  std::vector<Part> parts;
  for (const Factor& factor : copy.factors()) parts.push_back(part_of(factor, from, to, width));
  // A factor that is one run makes a wider unit; another factor may have runs of that unit.
  std::int64_t unit = width;
  table.columns = {{0, 0, unit}};
  while (true) {
    const auto part = std::find_if(parts.begin(), parts.end(),
                                   [&](const Part& each) { return has_runs(each, unit); });
    if (part == parts.end()) break;
    std::optional<std::vector<Stretch>> stretches = stretches_of(*part, unit);
    if (!stretches) return std::nullopt;
    parts.erase(part);
    table.columns = in_order(*std::move(stretches), side);
    if (table.columns.size() > 1) break;
    Stretch& only = table.columns[0];
    table.base.src += only.from;
    table.base.dst += only.to;
    unit = only.bytes;
    only = {0, 0, unit};
  }
  table.columns = cut_long(table.columns);
  for (const Stretch& column : table.columns) table.column_bytes += column.bytes;
  std::vector<std::vector<Offsets>> tables;
  for (const Part& part : parts) {
    std::optional<std::vector<Offsets>> steps = steps_of(part);
    if (!steps) return std::nullopt;
    tables.push_back(*std::move(steps));
  }
  table.rows = of_rows({}, std::move(tables), by).rows;
  while (!table.rows.empty() && table.column_bytes < kShortRow &&
         table.rows.back().size() <= kMostColumns / table.columns.size()) {
    take_in_rows(table, side);
  }
  return table;
}

RunTable RunTable::of_rows(Offsets base, std::vector<std::vector<Offsets>> tables,
                           std::int64_t Offsets::* by) {
  for (std::vector<Offsets>& table : tables) sort_by(table, by);
  std::sort(tables.begin(), tables.end(),
            [&](const auto& a, const auto& b) { return least_step(a, by) > least_step(b, by); });
  RunTable table;
  table.base = base;
  table.rows = std::move(tables);
  return table;
}

std::optional<std::vector<Offsets>> steps_of(const Factor& factor, const Memory& from,
                                             const Memory& to, std::int64_t width) {
  return steps_of(part_of(factor, from, to, width));
}

std::int64_t RunTable::row_count() const {
  std::int64_t count = 1;
  for (const auto& table : rows) count *= static_cast<std::int64_t>(table.size());
  return count;
}

Offsets RunTable::row_at(std::int64_t row) const {
  Offsets at = base;
  for (std::size_t t = rows.size(); t-- > 0;) {
    const auto steps = static_cast<std::int64_t>(rows[t].size());
    const Offsets& step = rows[t][static_cast<std::size_t>(row % steps)];
    row /= steps;
    at.src += step.src;
    at.dst += step.dst;
  }
  return at;
}

RowBlocks::RowBlocks(RunTable table) : table_(std::move(table)), rows_(table_.row_count()) {
  std::int64_t bytes = kBytes;
  for (std::size_t c = 0; c < table_.columns.size(); ++c) {
    if (bytes >= kBytes) {
      begins_.push_back(c);
      bytes = 0;
    }
    bytes += table_.columns[c].bytes;
  }
  begins_.push_back(table_.columns.size());
}

}  // namespace tessera::relayout
