// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/diff_svg.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tools/command/window.h"
#include "tools/diff/changes.h"
#include "tools/draw/sheet.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

std::int64_t columns_of_mesh(const Shape& mesh) {
  return mesh.rank() == 0 ? 1 : mesh[mesh.rank() - 1];
}

/// Every so many-th element of the last two dims.
Result<Window> drawn_window(const Shape& shape, const Sampled& rows, const Sampled& columns) {
  const std::size_t rank = shape.rank();
  Window window;
  window.from.assign(rank, 0);
  window.steps.assign(rank, 1);
  std::vector<std::int64_t> counts(rank, 1);
  if (rank > 1) counts[rank - 2] = rows.count;
  if (rank > 1) window.steps[rank - 2] = rows.step;
  if (rank > 0) counts[rank - 1] = columns.count;
  if (rank > 0) window.steps[rank - 1] = columns.step;
  TESSERA_TRY(window.counts, Shape::make(std::move(counts)));
  return window;
}

void draw_places(const Shape& mesh, Sheet& sheet) {
  const std::int64_t places = mesh.elements();
  if (places < 2) return;
  sheet.heading(cat("Places: a mesh of ", mesh.to_string()));
  const std::int64_t across = columns_of_mesh(mesh);
  const Sampled rows = sampled(places / across, kMostDrawnPlaces);
  const Sampled columns = sampled(across, kMostDrawnPlaces);
  const std::string samples = sample_words(rows, columns, "places");
  if (!samples.empty()) sheet.line(samples);
  SheetGrid grid{"place", sample_labels(columns), sample_labels(rows), {}};
  for (std::int64_t r = 0; r < rows.count; ++r) {
    for (std::int64_t c = 0; c < columns.count; ++c) {
      const std::int64_t place = r * rows.step * across + c * columns.step;
      grid.cells.push_back({place_style(place, places, across), std::to_string(place)});
    }
  }
  sheet.grid(grid);
}

}  // namespace

Result<std::string> diff_svg(const SamePlaces& places, const std::string& result) {
  const Shape& shape = places.a.shape();
  const std::size_t rank = shape.rank();
  const Sampled rows = sampled(rank > 1 ? shape[rank - 2] : 1, kMostDrawnElements);
  const Sampled columns = sampled(rank > 0 ? shape[rank - 1] : 1, kMostDrawnElements);
  Sheet sheet;
  sheet.title(result);
  sheet.line(cat("A: ", print_native(places.a)));
  sheet.line(cat("B: ", print_native(places.b)));
  std::string words = "What becomes of the elements";
  if (rank > 2)
    words += cat(": dim ", rank - 2, " down, dim ", rank - 1, " across, the others at 0");
  sheet.heading(words);
  if (shape.empty()) {
    sheet.line("there are none");
    return std::move(sheet).finish(result);
  }
  const std::string samples = sample_words(rows, columns, "elements");
  if (!samples.empty()) sheet.line(samples);
  TESSERA_TRY(const Window window, drawn_window(shape, rows, columns));
  const Result<Changes> changes = changes_in(places, window);
  if (!changes) {
    Error error = changes.error();
    error.help = "leave --svg";
    return error;
  }
  const Changes& found = *changes;
  SheetGrid grid{"element", sample_labels(columns), sample_labels(rows), {}};
  if (rank < 2) grid.rows = {""};
  if (rank < 1) grid.columns = {""};
  const std::int64_t across = columns_of_mesh(found.mesh);
  for (std::size_t k = 0; k < found.changes.size(); ++k) {
    switch (found.changes[k]) {
      case Change::kStays:
        grid.cells.push_back({"stays", "="});
        break;
      case Change::kReordered:
        grid.cells.push_back({"reordered", "o"});
        break;
      case Change::kMoves:
        grid.cells.push_back(
            {place_style(found.to[k], found.mesh.elements(), across), std::to_string(found.to[k])});
        break;
    }
  }
  sheet.grid(grid);
  const auto count = [&](Change change) { return std::ranges::count(found.changes, change); };
  const std::string drawn = samples.empty() ? "" : " of those drawn";
  sheet.legend(
      {{{"stays", "="}, cat(count(Change::kStays), drawn, " stay")},
       {{"reordered", "o"}, cat(count(Change::kReordered), drawn, " change their slot")},
       {{"p0", ""}, cat(count(Change::kMoves), drawn, " move: the number of their place in B")}});
  draw_places(found.mesh, sheet);
  return std::move(sheet).finish(result);
}

}  // namespace tessera::tools
