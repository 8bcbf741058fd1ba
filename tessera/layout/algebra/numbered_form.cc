// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/algebra/numbered_form.h"

#include <utility>

namespace tessera {

Error too_many_device_steps() {
  return Error{ErrorCode::kTooLarge,
               "comparing places through these device maps takes too many steps", std::nullopt,
               "use device maps of constant steps, or fewer places"};
}

std::optional<Weights> weights_of(const Form& form, const DeviceMap& map, const Shape& device) {
  Weights weights{0, std::vector<std::int64_t>(form.mesh.rank(), 0)};
  if (form.mesh.elements() > 1 || is_mapped(map)) {
    // A device of one place is place 0, whatever its rank.
    const bool is_single = device_mesh(form, map).elements() == 1;
    const std::vector<std::int64_t> strides =
        is_single ? std::vector<std::int64_t>(device_mesh(form, map).rank(), 0)
                  : device.row_major_strides();
    if (!is_mapped(map)) {
      weights.of_axis = strides;
    } else if (map.kind() == DeviceMap::Kind::kTable) {
      return std::nullopt;
    } else {
      for (std::size_t axis = 0; axis < map.origin().size(); ++axis) {
        weights.first += map.origin()[axis] * strides[axis];
      }
      for (const Fold& fold : map.folds()) {
        if (fold.cuts.size() != 1 || !fold.cuts.front().target.is_mesh()) return std::nullopt;
        const Cut& cut = fold.cuts.front();
        const std::int64_t step = cut.stride * strides[static_cast<std::size_t>(cut.target.axis())];
        weights.first += fold.start * step;
        for (const Term& term : fold.terms) {
          weights.of_axis[static_cast<std::size_t>(term.dim)] += term.coef * step;
        }
      }
    }
  }
  for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
    if (form.mesh[axis] > 1 && weights.of_axis[axis] <= 0) return std::nullopt;
  }
  return weights;
}

Result<Form> numbered_form(const Form& form, const Weights& weights, std::int64_t places) {
  Form flat = form;
  TESSERA_TRY(flat.mesh, Shape::make({places}));
  flat.fills.clear();
  std::int64_t first = weights.first;
  for (const Fill& fill : form.fills) {
    const std::int64_t weight = weights.of_axis[static_cast<std::size_t>(fill.axis)];
    if (fill.kind == Fill::Kind::kFixed) {
      first += fill.value * weight;
      continue;
    }
    Fill moved = fill;
    moved.axis = 0;
    moved.stride = fill.count == 1 ? 1 : fill.stride * weight;
    flat.fills.push_back(moved);
  }
  bool is_used = !flat.fills.empty();
  for (Fold& fold : flat.folds) {
    for (Cut& cut : fold.cuts) {
      if (!cut.target.is_mesh()) continue;
      const std::int64_t weight = weights.of_axis[static_cast<std::size_t>(cut.target.axis())];
      cut.target = weight > 0 ? Target::mesh(0) : Target::nothing();
      cut.stride = weight > 0 ? cut.stride * weight : 1;
      is_used = is_used || weight > 0;
    }
  }
  if (first != 0 || (!is_used && places > 1)) flat.fills.push_back(Fill::fixed(0, first));
  return flat;
}

}  // namespace tessera
