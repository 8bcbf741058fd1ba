// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/stored.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/moves/endpoints.h"
#include "tessera/moves/placed.h"

namespace tessera::moves {
namespace {

using Owner = target::MemorySpace::Owner;

/// The name of the memory that a tensor's layout states; empty if none.
std::string named_space(const Placement& placement) {
  if (const Layout* layout = placement.layout()) return layout->spec().space;
  if (const Piecewise* pieces = placement.pieces()) {
    return pieces->pieces().front().layout.spec().space;
  }
  return "";
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
