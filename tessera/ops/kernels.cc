// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/kernels.h"

#include <algorithm>

namespace tessera::ops {

Form as_brought(const Form& form, const Kernels::Brings& brings, const Shape& mesh) {
  if (brings.nothing()) return form;
  const auto is_brought = [&](int axis) {
    return brings.everywhere || std::ranges::find(brings.axes, axis) != brings.axes.end();
  };
  Form out = form;
  for (Fold& fold : out.folds) {
    for (Cut& cut : fold.cuts) {
      if (cut.target.is_mesh() && is_brought(cut.target.axis())) cut.target = Target::nothing();
    }
  }
  std::erase_if(out.fills, [&](const Fill& fill) { return is_brought(fill.axis); });
  out.mesh = mesh;
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    const int a = static_cast<int>(axis);
    if (is_brought(a)) out.fills.push_back(Fill::replicate(a, mesh[axis]));
  }
  return out;
}

}  // namespace tessera::ops
