// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/waste.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

std::int64_t allocated_elements(const Layout& layout) {
  return (Checked(layout.slots()) * layout.places()).saturated();
}

/// The number of pieces of the line on the mesh, or empty if the mesh digits do not number
/// consecutive pieces.
std::optional<std::int64_t> pieces_used(const Fold& fold, const Shape& shape,
                                        std::vector<bool>& axes) {
  if (std::none_of(fold.cuts.begin(), fold.cuts.end(),
                   [](const Cut& cut) { return cut.target.is_mesh(); })) {
    return 1;
  }
  const std::int64_t extent = fold.extent(shape);
  std::optional<std::int64_t> width;
  for (const Cut& cut : fold.cuts) {
    if (!cut.target.is_mesh()) {
      if (width || extent <= cut.width) continue;
      return std::nullopt;  // this digit changes, so the later digits start again
    }
    const auto axis = static_cast<std::size_t>(cut.target.axis());
    if (axes[axis] || cut.stride != 1) return std::nullopt;
    if (width && *width % cut.width != 0) return std::nullopt;
    if (width && *width / cut.width > cut.count) return std::nullopt;
    axes[axis] = true;
    width = cut.width;
  }
  return ceil_div(extent, *width);
}

}  // namespace

bool Waste::more_than(double factor) const {
  return needed > 0 && static_cast<double>(allocated) > factor * static_cast<double>(needed);
}

std::string Waste::factor_text() const {
  if (allocated % needed == 0) return std::to_string(allocated / needed);
  const double factor = static_cast<double>(allocated) / static_cast<double>(needed);
  const auto tenths = static_cast<std::int64_t>(std::floor(factor * 10));
  return cat(tenths / 10, ".", tenths % 10);
}

Waste waste_of(const Layout& layout) {
  return {allocated_elements(layout),
          (Checked(layout.shape().elements()) * layout.form().replicas()).saturated()};
}

Waste waste_beside_tiles(const Layout& layout, std::int64_t rows, std::int64_t cols) {
  const std::size_t rank = layout.shape().rank();
  Checked needed = layout.form().replicas();
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const std::int64_t tile = dim + 1 == rank ? cols : dim + 2 == rank ? rows : 1;
    needed *= Checked(ceil_div(layout.shape()[dim], tile)) * tile;
  }
  if (rank < 2) needed *= rows;
  if (rank < 1) needed *= cols;
  return {allocated_elements(layout), needed.saturated()};
}

std::optional<std::int64_t> places_past_the_end(const Form& form) {
  std::vector<bool> axes(form.mesh.rank(), false);
  Checked used = 1;
  for (const Fold& fold : form.folds) {
    const std::optional<std::int64_t> pieces = pieces_used(fold, form.shape, axes);
    if (!pieces) return std::nullopt;
    used *= *pieces;
  }
  Checked free = 1;  // axes that no line uses
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (!axes[axis]) free *= form.mesh[axis];
  }
  const Checked held = used * free;
  if (held.overflowed() || held.raw() > form.mesh.elements()) return std::nullopt;
  return form.mesh.elements() - held.raw();
}

}  // namespace tessera
