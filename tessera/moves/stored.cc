// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/stored.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/layout/on_device.h"

namespace tessera::moves {
namespace {

using Owner = target::MemorySpace::Owner;

bool is_mapped(const Layout& layout) {
  return layout.spec().device_map.kind() != DeviceMap::Kind::kIdentity;
}

/// The name of the memory that a tensor's layout states; empty if none.
std::string named_space(const Placement& placement) {
  if (const Layout* layout = placement.layout()) return layout->spec().space;
  if (const Piecewise* pieces = placement.pieces()) {
    return pieces->pieces().front().layout.spec().space;
  }
  return "";
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
      cut.stride *= scale * weights[static_cast<std::size_t>(cut.target.axis())];
      cut.target = Target::mesh(0);
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

/// A form, and where its places are.
struct Placed {
  Form form;
  DeviceMap map;
  std::int64_t slots = 0;
  std::int64_t length = 1;  ///< as in DealtSide
  std::int64_t period = 1;
};

Result<Form> paged(const Layout& layout, std::int64_t page);

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

/// Where the places of a layout are: the rules of the header.
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

/// The form of in_pages.
Result<Form> paged(const Layout& layout, std::int64_t page) {
  Form form = layout.form();
  const auto axis = static_cast<int>(layout.mesh().rank());
  const std::int64_t pages = ceil_div(layout.slots(), page);
  std::int64_t inside = form.offset % page;
  for (Fold& fold : form.folds) {
    for (Cut& cut : fold.cuts) {
      if (!cut.target.is_memory()) continue;
      if (cut.stride % page == 0) {
        cut.stride /= page;
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
  mesh.push_back(std::max<std::int64_t>(1, pages));
  TESSERA_TRY(form.mesh, Shape::make(mesh));
  form.fills.push_back(Fill::fixed(axis, form.offset / page));
  form.offset %= page;
  return form;
}

/// The endpoints of the places 0, length, 2 · length, ..
std::vector<std::int64_t> outer_endpoints(const Placed& placed) {
  const Shape& mesh = placed.form.mesh;
  const std::int64_t places = std::max<std::int64_t>(1, mesh.elements());
  std::vector<std::int64_t> outer;
  outer.reserve(static_cast<std::size_t>(places / placed.length));
  // The axes that count: the others together are `length` places long.
  std::size_t axes = mesh.rank();
  std::int64_t inside = 1;
  while (axes > 0 && inside < placed.length) inside *= mesh[--axes];
  const std::vector<Fold>& folds = placed.map.folds();
  const bool apart = placed.map.kind() == DeviceMap::Kind::kFolded && inside == placed.length &&
                     std::all_of(folds.begin(), folds.end(),
                                 [](const Fold& fold) { return fold.terms.size() <= 1; });
  if (!apart) {
    for (std::int64_t place = 0; place < places; place += placed.length) {
      outer.push_back(placed.map.map(mesh, mesh.delinear(place)).place[0]);
    }
    return outer;
  }
  // No fold joins axes, so each coordinate adds its own amount.
  const Form form = form_of(placed.map, mesh);
  Place place(mesh.rank(), 0);
  Place physical;
  std::int64_t layer = 0;
  const auto endpoint = [&] {
    form.evaluate(place, physical, layer);
    return physical[0];
  };
  const std::int64_t first = endpoint();
  outer.push_back(first);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::vector<std::int64_t> further;
    further.reserve(outer.size() * static_cast<std::size_t>(mesh[axis]));
    std::vector<std::int64_t> added;
    for (place[axis] = 0; place[axis] < mesh[axis]; ++place[axis]) {
      added.push_back(endpoint() - first);
    }
    place[axis] = 0;
    for (const std::int64_t from : outer) {
      for (const std::int64_t more : added) further.push_back(from + more);
    }
    outer = std::move(further);
  }
  return outer;
}

/// Places are endpoints too; those that are dead hold nothing.
Status refuse_dead(const std::vector<std::int64_t>& endpoints, const Machine& machine) {
  if (machine.dead.empty()) return ok_status();
  const std::vector<std::int64_t> dead = machine.dead_places();
  for (const std::int64_t endpoint : endpoints) {
    if (!std::binary_search(dead.begin(), dead.end(), endpoint)) continue;
    return Error{ErrorCode::kOutOfRange,
                 cat("place ", bracketed(machine.shape().delinear(endpoint)),
                     " of the layout is dead on the target"),
                 std::nullopt, "choose an origin or a list of places that avoids it"};
  }
  return ok_status();
}

/// Every layout of the placement changed in one way.
template <typename Change>
Result<Placement> with_each_layout(const Placement& placement, const Change& change) {
  if (const Layout* layout = placement.layout()) {
    TESSERA_TRY(Layout other, change(*layout));
    return Placement(std::move(other));
  }
  if (const Piecewise* pieces = placement.pieces()) {
    std::vector<LayoutPiece> changed;
    for (const LayoutPiece& piece : pieces->pieces()) {
      TESSERA_TRY(Layout other, change(piece.layout));
      changed.push_back({piece.box, std::move(other)});
    }
    TESSERA_TRY(Piecewise all, Piecewise::by_rule(placement.shape(), std::move(changed)));
    return Placement(std::move(all));
  }
  return Error{ErrorCode::kNotSupported,
               "a view owns no memory, so it has no place in the memories of a machine",
               std::nullopt, "use the underlying layout"};
}

}  // namespace

Result<Shape> devices_of(const Machine& machine) {
  std::vector<std::int64_t> extents;
  for (std::size_t level = 0; level + 1 < machine.mesh.size(); ++level) {
    const auto& own = machine.mesh[level].extents;
    extents.insert(extents.end(), own.begin(), own.end());
  }
  return Shape::make(extents);
}

EndpointNumbers::EndpointNumbers(const Machine& machine) : first_(machine.memory.size(), 0) {
  places_ = machine.places();
  count_ = places_;
  // Those without a stated router come last: fabric/topology.h does not number them.
  for (const bool reached : {true, false}) {
    for (const Owner owner : {Owner::kBank, Owner::kShared}) {
      for (std::size_t i = 0; i < machine.memory.size(); ++i) {
        const target::MemorySpace& space = machine.memory[i];
        if (space.owner != owner || space.at.empty() == reached) continue;
        first_[i] = count_;
        count_ += owner == Owner::kBank ? *space.banks * machine.devices() : 1;
      }
    }
  }
}

std::size_t EndpointNumbers::memory_at(std::int64_t endpoint) const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    const bool nearer = first_[i] >= places_ && first_[i] <= endpoint;
    if (nearer && first_[i] >= first_[found]) found = i;
  }
  return found;
}

Result<std::size_t> memory_of(const Stored& stored, const Machine& machine) {
  const std::string named = named_space(stored.placement);
  const bool asked = !stored.space.empty();
  std::vector<std::string_view> names;
  for (const target::MemorySpace& space : machine.memory) names.push_back(space.name);
  const auto find = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  const std::string_view wanted = asked ? std::string_view(stored.space) : named;
  std::size_t memory = find(wanted);
  if (memory == names.size()) {
    if (!wanted.empty()) {
      std::string all;
      for (const std::string_view name : names) all += cat(all.empty() ? "" : ", ", name);
      return Error{
          ErrorCode::kUnknownName,
          cat(machine.name, " has no memory ", quote_name(wanted), ": its memories are ", all),
          std::nullopt, did_you_mean(wanted, names)};
    }
    memory = find(machine.data_space);
  }
  return memory;
}

std::int64_t page_elements(const Layout& layout) {
  if (layout.atom().is_tile()) return layout.atom().elements();
  const int last = static_cast<int>(layout.shape().rank()) - 1;
  std::int64_t reach = 1;
  for (const Fold& fold : layout.form().folds) {
    const bool runs_along = std::any_of(fold.terms.begin(), fold.terms.end(),
                                        [&](const Term& term) { return term.dim == last; });
    if (!runs_along) continue;
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_memory() && cut.count > 1) reach += (cut.count - 1) * cut.stride;
    }
  }
  return reach;
}

Result<Layout> in_pages(const Layout& layout, std::int64_t page) {
  LayoutSpec spec = layout.spec();
  TESSERA_TRY(spec.form, paged(layout, page));
  spec.device_map = DeviceMap::identity();
  spec.slots = page;
  return Layout::make(std::move(spec));
}

Result<Placement> on_endpoints(const Stored& stored, const Machine& machine) {
  TESSERA_TRY(const std::size_t memory, memory_of(stored, machine));
  const EndpointNumbers endpoints(machine);
  TESSERA_TRY(const Shape numbers, Shape::make({endpoints.count()}));
  return with_each_layout(stored.placement, [&](const Layout& layout) -> Result<Layout> {
    TESSERA_TRY(Placed placed,
                placed_in(layout, memory, stored.spread, machine, endpoints, numbers));
    LayoutSpec spec = layout.spec();
    spec.form = std::move(placed.form);
    spec.device_map = std::move(placed.map);
    spec.slots = placed.slots;
    return Layout::make(std::move(spec));
  });
}

bool is_on_places(const Stored& stored, const Machine& machine, std::size_t memory) {
  const bool interleaved =
      stored.spread == target::Spread::kInterleaved && stored.placement.places() == 1;
  return machine.memory[memory].owner == Owner::kPlace && !interleaved;
}

Result<DealtSide> dealt_side(const Stored& stored, const Machine& machine) {
  TESSERA_TRY(const std::size_t memory, memory_of(stored, machine));
  const Layout* const layout = stored.placement.layout();
  if (layout == nullptr) {
    return Error{ErrorCode::kNotSupported, "a tensor of several layouts has no short form"};
  }
  const EndpointNumbers endpoints(machine);
  TESSERA_TRY(const Shape numbers, Shape::make({endpoints.count()}));
  TESSERA_TRY(Placed placed,
              placed_in(*layout, memory, stored.spread, machine, endpoints, numbers));
  const Shape& mesh = placed.form.mesh;
  std::vector<std::int64_t> outer = outer_endpoints(placed);
  for (std::size_t i = 0; i < outer.size(); ++i) {
    if (outer[i] >= 0 && outer[i] < endpoints.count()) continue;
    const std::int64_t place = static_cast<std::int64_t>(i) * placed.length;
    return Error{ErrorCode::kOutOfRange,
                 cat("place ", bracketed(mesh.delinear(place)), " is outside ", machine.name),
                 std::nullopt, "use fewer places, or a larger target"};
  }
  TESSERA_CHECK_OK(refuse_dead(outer, machine));
  return DealtSide{std::move(placed.form), placed.length, placed.period, std::move(outer)};
}

Result<bool> is_same(const Machine& machine, const Stored& a, const Stored& b) {
  TESSERA_TRY(const std::size_t memory_a, memory_of(a, machine));
  TESSERA_TRY(const std::size_t memory_b, memory_of(b, machine));
  if (memory_a != memory_b || a.spread != b.spread) return false;
  const Result<Comparison> as_described = same_on_device(a.placement, b.placement);
  if (as_described) return as_described->equal;
  // Places of meshes of different ranks meet on the endpoints.
  TESSERA_TRY(const Placement from, on_endpoints(a, machine));
  TESSERA_TRY(const Placement to, on_endpoints(b, machine));
  TESSERA_TRY(const Comparison same, same_on_device(from, to));
  return same.equal;
}

Result<MachineReshard> reshard_on(const Machine& machine, const Stored& a, const Stored& b) {
  TESSERA_TRY(const std::size_t memory_a, memory_of(a, machine));
  TESSERA_TRY(const std::size_t memory_b, memory_of(b, machine));
  if (is_on_places(a, machine, memory_a) && is_on_places(b, machine, memory_b)) {
    TESSERA_TRY(const reshard::PhysicalMesh mesh, reshard::PhysicalMesh::of(machine));
    TESSERA_TRY(reshard::Reshard made, reshard::Reshard::make(a.placement, b.placement, mesh));
    return MachineReshard{std::move(made), memory_a, memory_b};
  }
  TESSERA_TRY(const Placement from, on_endpoints(a, machine));
  TESSERA_TRY(const Placement to, on_endpoints(b, machine));
  reshard::PhysicalMesh mesh;
  TESSERA_TRY(mesh.mesh, Shape::make({EndpointNumbers(machine).count()}));
  mesh.dead = machine.dead_places();
  mesh.why_no_fabric = cat("the memories of ", machine.name, " are not places of a mesh");
  TESSERA_TRY(reshard::Reshard made, reshard::Reshard::make(from, to, mesh));
  return MachineReshard{std::move(made), memory_a, memory_b};
}

Result<Placement> retyped(const Placement& placement, DType dtype, DType storage) {
  return with_each_layout(placement, [&](const Layout& layout) {
    LayoutSpec spec = layout.spec();
    spec.slots = layout.slots();
    spec.dtype = dtype;
    spec.atom.storage = storage;
    return Layout::make(std::move(spec));
  });
}

}  // namespace tessera::moves
