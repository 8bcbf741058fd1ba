// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/sub_meshes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::run {
namespace {

std::int64_t cols_of(const Shape& places) { return places[places.rank() - 1]; }

std::int64_t rows_of(const Shape& places) {
  return places.rank() < 2 ? 1 : places[places.rank() - 2];
}

/// A square that is wide enough for all, with some room for what rows leave free.
std::int64_t width_for(const std::vector<Layout>& layouts, const Shape& mesh) {
  constexpr double kRoom = 1.25;
  Checked sum(0);
  std::int64_t widest = 1;
  for (const Layout& layout : layouts) {
    sum += layout.mesh().elements();
    widest = std::max(widest, cols_of(layout.mesh()));
  }
  const double side = std::ceil(std::sqrt(kRoom * static_cast<double>(sum.saturated())));
  const double most = static_cast<double>(cols_of(mesh));
  const std::int64_t width = side < most ? static_cast<std::int64_t>(side) : cols_of(mesh);
  // Where a square is higher than the mesh, rows have to be longer.
  const std::int64_t needed = ceil_div(sum.saturated(), rows_of(mesh));
  return std::min(std::max({width, widest, needed < cols_of(mesh) / 2 ? needed * 2 : needed}),
                  cols_of(mesh));
}

}  // namespace

SubMeshes::SubMeshes(Shape mesh, std::int64_t width)
    : mesh_(std::move(mesh)), width_(std::min(width, cols_of(mesh_))) {}

std::vector<std::int64_t> SubMeshes::place(const Shape& places) {
  if (col_ > 0 && col_ + cols_of(places) > width_) {
    row_ += height_;
    col_ = 0;
    height_ = 0;
  }
  if (row_ + rows_of(places) > rows_of(mesh_)) {
    row_ = 0;
    col_ = 0;
    height_ = 0;
  }
  std::vector<std::int64_t> first(mesh_.rank());
  first.back() = col_;
  if (first.size() > 1) first[first.size() - 2] = row_;
  col_ += cols_of(places);
  height_ = std::max(height_, rows_of(places));
  return first;
}

Result<std::vector<Layout>> apart(std::vector<Layout> layouts, const Shape& mesh) {
  if (mesh.rank() == 0) return layouts;
  SubMeshes rows(mesh, width_for(layouts, mesh));
  for (Layout& layout : layouts) {
    const std::vector<std::int64_t> first = rows.place(layout.mesh());
    LayoutSpec spec = layout.spec();
    std::vector<std::int64_t> extents = layout.mesh().extents();
    for (std::size_t axis = 0; axis < first.size(); ++axis) {
      if (first[axis] == 0) continue;
      spec.form.fills.push_back(Fill::fixed(static_cast<int>(axis), first[axis]));
      extents[axis] += first[axis];
    }
    TESSERA_TRY(spec.form.mesh, Shape::make(std::move(extents)));
    TESSERA_TRY(layout, Layout::make(std::move(spec)));
  }
  return layouts;
}

}  // namespace tessera::run
