// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "tessera/base/work.h"
#include "tessera/layout/algebra/numbered_form.h"
#include "tessera/layout/placement.h"

namespace tessera {
namespace {

/// A map to a device of rank 1 that gives each place the row-major number of its physical place.
Result<DeviceMap> numbered_map(const DeviceMap& map, const Shape& mesh) {
  const Shape& device = is_mapped(map) ? map.physical() : mesh;
  if (device.rank() == 1 || (!is_mapped(map) && mesh.elements() == 1)) return map;
  TESSERA_TRY(Shape numbers, Shape::make({device.elements()}));
  const std::vector<std::int64_t> strides = device.row_major_strides();
  if (map.kind() == DeviceMap::Kind::kTable) {
    std::vector<Place> places;
    for (const Place& place : map.places()) places.push_back({device.linear(place)});
    return DeviceMap::table(std::move(numbers), std::move(places));
  }
  std::int64_t origin = 0;
  std::vector<Fold> folds = map.folds();
  if (!is_mapped(map)) {
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      if (mesh[axis] == 1) continue;
      folds.push_back(
          {{{static_cast<int>(axis), 1}},
           0,
           {Cut{1, mesh[axis], Target::mesh(static_cast<int>(axis)), 1, Cause::kGrid}}});
    }
  }
  for (std::size_t axis = 0; axis < map.origin().size(); ++axis) {
    origin += map.origin()[axis] * strides[axis];
  }
  for (Fold& fold : folds) {
    for (Cut& cut : fold.cuts) {
      if (!cut.target.is_mesh()) continue;
      cut.stride *= strides[static_cast<std::size_t>(cut.target.axis())];
      cut.target = Target::mesh(0);
    }
  }
  return DeviceMap::folded(std::move(numbers), std::move(folds), {origin});
}

Result<Layout> with_numbered_places(const Layout& layout) {
  LayoutSpec spec = layout.spec();
  TESSERA_TRY(spec.device_map, numbered_map(spec.device_map, layout.mesh()));
  spec.slots = layout.slots();
  return Layout::make(std::move(spec));
}

Result<Layout> on_numbered_mesh(const Layout& layout) {
  LayoutSpec spec = layout.spec();
  const Shape& device = device_mesh(spec.form, spec.device_map);
  spec.slots = layout.slots();
  if (const std::optional<Weights> weights = weights_of(spec.form, spec.device_map, device)) {
    TESSERA_TRY(spec.form, numbered_form(layout.form(), *weights, device.elements()));
    spec.device_map = DeviceMap::identity();
    return Layout::make(std::move(spec));
  }
  const Shape& mesh = layout.mesh();
  if (mesh.elements() > kMostDeviceSteps || !Work::reserve(kWorkPerDeviceStep * mesh.elements())) {
    return too_many_device_steps();
  }
  TESSERA_TRY(Shape numbers, Shape::make({device.elements()}));
  std::vector<Place> places;
  for (std::int64_t number = 0; number < mesh.elements(); ++number) {
    const PhysicalPlace there = spec.device_map.map(mesh, mesh.delinear(number));
    if (there.layer != 0) {
      return Error{ErrorCode::kNotSupported, "the device map puts several places on one device"};
    }
    places.push_back({device.linear(there.place)});
  }
  const Weights own{0, mesh.row_major_strides()};
  TESSERA_TRY(spec.form, numbered_form(layout.form(), own, mesh.elements()));
  spec.device_map = DeviceMap::table(std::move(numbers), std::move(places));
  return Layout::make(std::move(spec));
}

/// Every layout of the placement changed in one way; a view by its form.
template <typename OfLayout>
Result<Placement> changed(const Placement& placement, const OfLayout& change) {
  if (const Layout* layout = placement.layout()) {
    TESSERA_TRY(Layout other, change(*layout));
    return Placement(std::move(other));
  }
  if (const View* view = placement.view()) {
    const Shape& mesh = view->form().mesh;
    if (mesh.rank() == 1 || mesh.elements() == 1) return placement;
    const Weights weights{0, mesh.row_major_strides()};
    TESSERA_TRY(Form form, numbered_form(view->form(), weights, mesh.elements()));
    TESSERA_TRY(View other,
                View::make(std::move(form), view->dtype(), view->atom(), view->slots()));
    return Placement(std::move(other));
  }
  std::vector<LayoutPiece> pieces;
  for (const LayoutPiece& piece : placement.pieces()->pieces()) {
    TESSERA_TRY(Layout other, change(piece.layout));
    pieces.push_back({piece.box, std::move(other)});
  }
  TESSERA_TRY(Piecewise all, Piecewise::by_rule(placement.shape(), std::move(pieces)));
  return Placement(std::move(all));
}

}  // namespace

const Shape& device_of(const Placement& placement) {
  const Layout* layout = placement.layout();
  if (const Piecewise* pieces = placement.pieces()) layout = &pieces->pieces().front().layout;
  if (layout == nullptr || !is_mapped(layout->spec().device_map)) return placement.mesh();
  return layout->spec().device_map.physical();
}

Result<Placement> with_numbered_places(const Placement& placement) {
  return changed(placement, [](const Layout& layout) { return with_numbered_places(layout); });
}

Result<Placement> on_numbered_mesh(const Placement& placement) {
  return changed(placement, [](const Layout& layout) { return on_numbered_mesh(layout); });
}

}  // namespace tessera
