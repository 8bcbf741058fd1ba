// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/placed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/moves/stored.h"

namespace tessera::moves {
namespace {

using Owner = target::MemorySpace::Owner;

bool is_mapped(const Layout& layout) {
  return layout.spec().device_map.kind() != DeviceMap::Kind::kIdentity;
}

Fold axis_fold(std::size_t axis, std::int64_t extent, Target target, std::int64_t stride) {
  return {{{static_cast<int>(axis), 1}}, 0, {Cut{1, extent, target, stride, Cause::kGrid}}};
}

/// The folds that lead to the physical mesh of a layout: those of its map, or the identity.
std::vector<Fold> folds_of(const Layout& layout) {
  if (is_mapped(layout)) return layout.spec().device_map.folds();
  std::vector<Fold> folds;
  for (std::size_t axis = 0; axis < layout.mesh().rank(); ++axis) {
    if (layout.mesh()[axis] == 1) continue;
    folds.push_back(axis_fold(axis, layout.mesh()[axis], Target::mesh(static_cast<int>(axis)), 1));
  }
  return folds;
}

/// What each coordinate of a layout's device adds to a number on `shape`.
Result<std::vector<std::int64_t>> weights_on(const Shape& device, const Shape& shape) {
  if (device.elements() == 1) return std::vector<std::int64_t>(device.rank(), 0);
  const auto outside = [&] {
    return Error{ErrorCode::kOutOfRange,
                 cat("a mesh of ", device.to_string(), " does not fit the ", shape.to_string(),
                     " of the target"),
                 std::nullopt, "use fewer places, or a larger target"};
  };
  if (device.rank() == 1 && shape.rank() != 1) {
    if (device.elements() > shape.elements()) return outside();
    return std::vector<std::int64_t>{1};
  }
  if (device.rank() != shape.rank()) {
    return Error{
        ErrorCode::kMeshMismatch,
        cat("a mesh of rank ", device.rank(), " (", device.to_string(),
            ") cannot be mapped to one of rank ", shape.rank(), " (", shape.to_string(), ")"),
        std::nullopt, "use a mesh of the target's rank, or device numbers"};
  }
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (device[axis] > shape[axis]) return outside();
  }
  return shape.row_major_strides();
}

const Shape& device_mesh(const Layout& layout) {
  return is_mapped(layout) ? layout.spec().device_map.physical() : layout.mesh();
}

/// The map to numbers: a place with coordinates q gets the number first + scale·Σ weight·q.
Result<DeviceMap> numbers_map(const Layout& layout, const Shape& shape, std::int64_t first,
                              std::int64_t scale, const Shape& numbers) {
  TESSERA_TRY(const std::vector<std::int64_t> weights, weights_on(device_mesh(layout), shape));
  const DeviceMap& map = layout.spec().device_map;
  if (map.kind() == DeviceMap::Kind::kTable) {
    std::vector<Place> places;
    for (const Place& place : map.places()) {
      std::int64_t number = first;
      for (std::size_t axis = 0; axis < place.size(); ++axis) {
        number += scale * weights[axis] * place[axis];
      }
      places.push_back({number});
    }
    return DeviceMap::table(numbers, std::move(places));
  }
  std::int64_t origin = first;
  for (std::size_t axis = 0; axis < map.origin().size(); ++axis) {
    origin += scale * weights[axis] * map.origin()[axis];
  }
  std::vector<Fold> folds = folds_of(layout);
  for (Fold& fold : folds) {
    for (Cut& cut : fold.cuts) {
      if (!cut.target.is_mesh()) continue;
      const std::int64_t weight = weights[static_cast<std::size_t>(cut.target.axis())];
      cut.target = weight == 0 ? Target::nothing() : Target::mesh(0);
      if (weight != 0) cut.stride *= scale * weight;
    }
  }
  return DeviceMap::folded(numbers, std::move(folds), {origin});
}

/// All places of the mesh at one endpoint, one layer each.
DeviceMap stacked(const Shape& mesh, std::int64_t endpoint, const Shape& numbers) {
  std::vector<Fold> folds;
  const std::vector<std::int64_t> strides = mesh.row_major_strides();
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    if (mesh[axis] == 1) continue;
    folds.push_back(axis_fold(axis, mesh[axis], Target::memory(), strides[axis]));
  }
  return DeviceMap::folded(numbers, std::move(folds), {endpoint});
}

/// Place number v of the mesh at the endpoint first + v mod `owners`.
DeviceMap dealt(const Shape& mesh, std::int64_t first, std::int64_t owners, const Shape& numbers) {
  Fold fold;
  const std::vector<std::int64_t> strides = mesh.row_major_strides();
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    if (mesh[axis] > 1) fold.terms.push_back({static_cast<int>(axis), strides[axis]});
  }
  const std::int64_t places = mesh.elements();
  fold.cuts = {Cut{owners, std::max<std::int64_t>(1, ceil_div(places, owners)), Target::memory(), 1,
                   Cause::kGrid},
               Cut{1, std::min(owners, std::max<std::int64_t>(1, places)), Target::mesh(0), 1,
                   Cause::kGrid}};
  return DeviceMap::folded(numbers, {std::move(fold)}, {first});
}

/// Pages in turn over `owners` endpoints.
Result<Placed> in_turn(const Layout& layout, std::int64_t first, std::int64_t owners,
                       const Shape& numbers) {
  const std::int64_t page = page_elements(layout);
  TESSERA_TRY(Form form, paged(layout, page));
  DeviceMap map = dealt(form.mesh, first, owners, numbers);
  const std::int64_t length = form.mesh.extents().back();
  return Placed{std::move(form), std::move(map), page, length, owners};
}

/// Pages in turn over the banks of the device that the place is.
Result<Placed> over_banks_of_devices(const Layout& layout, const Machine& machine,
                                     std::int64_t first, std::int64_t banks, const Shape& numbers) {
  TESSERA_TRY(const Shape devices, devices_of(machine));
  if (layout.spec().device_map.kind() == DeviceMap::Kind::kTable) {
    return Error{ErrorCode::kNotSupported,
                 "a list of devices with interleaved pages is not supported", std::nullopt,
                 "use a mesh whose devices are in order"};
  }
  const Result<DeviceMap> found = numbers_map(layout, devices, first, banks, numbers);
  if (!found) {
    Error error = found.error();
    error.message = cat("banks belong to devices, so the places of a tensor in them are devices: ",
                        error.message);
    return error;
  }
  const DeviceMap& outer = *found;
  TESSERA_TRY(Placed placed, in_turn(layout, first, banks, numbers));
  const auto axis = static_cast<int>(placed.form.mesh.rank()) - 1;
  std::vector<Fold> folds = outer.folds();
  Fold pages = placed.map.folds().front();
  pages.terms = {{axis, 1}};
  pages.cuts[0].count = std::max<std::int64_t>(1, ceil_div(placed.length, banks));
  pages.cuts[1].count = std::min(banks, placed.length);
  folds.push_back(std::move(pages));
  placed.map = DeviceMap::folded(numbers, std::move(folds), outer.origin());
  return placed;
}

}  // namespace

Result<Placed> placed_in(const Layout& layout, std::size_t memory, target::Spread spread,
                         const Machine& machine, const EndpointNumbers& endpoints,
                         const Shape& numbers) {
  const target::MemorySpace& space = machine.memory[memory];
  const std::int64_t first = endpoints.first(memory);
  const bool interleaved = spread == target::Spread::kInterleaved && layout.places() == 1;
  const auto as_it_is = [&](DeviceMap map, std::int64_t length, std::int64_t period) {
    return Placed{layout.form(), std::move(map), layout.slots(), length, period};
  };
  const std::int64_t places = std::max<std::int64_t>(1, layout.places());
  if (space.owner == Owner::kShared) {
    return as_it_is(stacked(layout.mesh(), first, numbers), places, 1);
  }
  if (space.owner == Owner::kPlace) {
    if (!interleaved) {
      TESSERA_TRY(DeviceMap map, numbers_map(layout, machine.shape(), 0, 1, numbers));
      return as_it_is(std::move(map), 1, 1);
    }
    if (machine.dead.empty()) return in_turn(layout, 0, machine.places(), numbers);
    return Error{ErrorCode::kNotSupported,
                 cat("a tensor cannot be interleaved over the places of ", machine.name,
                     ", some of which are dead"),
                 std::nullopt,
                 "describe the working rows and columns as the mesh (routers/places)"};
  }
  const std::int64_t banks = *space.banks;
  if (machine.devices() > 1) {
    return over_banks_of_devices(layout, machine, first, banks, numbers);
  }
  if (is_mapped(layout)) {
    TESSERA_TRY(const Shape all, Shape::make({banks}));
    TESSERA_TRY(DeviceMap map, numbers_map(layout, all, first, 1, numbers));
    return as_it_is(std::move(map), 1, 1);
  }
  if (layout.places() == 1) return in_turn(layout, first, banks, numbers);
  return as_it_is(dealt(layout.mesh(), first, banks, numbers), places, banks);
}

Result<Form> paged(const Layout& layout, std::int64_t page) {
  Form form = layout.form();
  const auto axis = static_cast<int>(layout.mesh().rank());
  // A tensor without elements allocates no slots, yet its cuts say where some would be.
  Checked reach = form.offset / page;
  std::int64_t inside = form.offset % page;
  for (Fold& fold : form.folds) {
    for (Cut& cut : fold.cuts) {
      if (!cut.target.is_memory()) continue;
      if (cut.stride % page == 0) {
        cut.stride /= page;
        reach += Checked(std::max<std::int64_t>(cut.count, 1) - 1) * cut.stride;
        cut.target = Target::mesh(axis);
      } else {
        inside += (cut.count - 1) * cut.stride;
      }
    }
  }
  if (inside >= page) {
    return Error{ErrorCode::kNotSupported,
                 cat("a page is a row of the last dim, and here the rows are not contiguous: one "
                     "spans ",
                     page, " slots, some of which hold elements of other rows"),
                 std::nullopt, "store the tensor in tiles, or row by row"};
  }
  std::vector<std::int64_t> mesh = layout.mesh().extents();
  TESSERA_TRY(const std::int64_t pages, (Checked(1) + reach).value("pages"));
  mesh.push_back(std::max(pages, ceil_div(layout.slots(), page)));
  TESSERA_TRY(form.mesh, Shape::make(mesh));
  form.fills.push_back(Fill::fixed(axis, form.offset / page));
  form.offset %= page;
  return form;
}

}  // namespace tessera::moves
