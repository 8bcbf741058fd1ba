// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/regions.h"
#include "tessera/memory/mesh/place_product.h"
#include "tessera/memory/mesh/place_sizes.h"

namespace tessera::memory {
namespace {

Result<std::int64_t> aligned(std::int64_t bytes, const SizeRule& rule) {
  return (Checked(ceil_div(bytes, rule.align_bytes)) * rule.align_bytes)
      .value("the bytes of a tensor on one place");
}

Result<std::int64_t> needed_bytes(const Layout& layout, std::int64_t slots, const SizeRule& rule) {
  const std::int64_t atom = layout.atom().elements();
  TESSERA_TRY(const std::int64_t whole,
              (Checked(ceil_div(slots, atom)) * atom).value("the slots of a place"));
  const std::optional<std::int64_t> bytes = layout.atom().bytes(whole);
  if (!bytes) {
    return Error{ErrorCode::kOverflow,
                 cat("the bytes of ", slots, " slots do not fit a signed 64-bit integer"),
                 std::nullopt, "use smaller extents"};
  }
  return aligned(*bytes, rule);
}

/// The places of the virtual mesh that hold data, with the bytes that they need.
Result<std::vector<SizedSet>> sized_sets(const SizedTensor& tensor, const SizeRule& rule) {
  const Layout& layout = *tensor.layout;
  std::optional<std::int64_t> said;
  if (tensor.bytes) {
    TESSERA_TRY(said, aligned(*tensor.bytes, rule));
  }
  std::vector<SizedSet> sets;
  if (rule.allocated) {
    SizedSet all{{Place(layout.mesh().rank(), 0), {}}, 0};
    for (std::size_t axis = 0; axis < layout.mesh().rank(); ++axis) {
      all.set.loops.push_back({static_cast<int>(axis), layout.mesh()[axis], 1});
    }
    TESSERA_TRY(all.bytes, needed_bytes(layout, layout.slots(), rule));
    if (said) all.bytes = *said;
    if (layout.allocated_bytes() > 0 && all.bytes > 0) sets.push_back(std::move(all));
    return sets;
  }
  TESSERA_TRY(const std::vector<PlaceClass> classes, place_classes(layout));
  for (const PlaceClass& place_class : classes) {
    if (place_class.elements == 0) continue;
    TESSERA_TRY(std::int64_t bytes, needed_bytes(layout, place_class.needed_slots, rule));
    if (said) bytes = *said;
    if (bytes == 0) continue;
    for (const PlaceSet& set : place_class.sets) sets.push_back({set, bytes});
  }
  return sets;
}

/// True when each virtual axis moves along one physical axis: then sets of places stay products.
bool moves_axes(const DeviceMap& map) {
  if (map.kind() != DeviceMap::Kind::kFolded) return false;
  std::vector<int> seen;
  for (const Fold& fold : map.folds()) {
    if (fold.terms.size() > 1 || fold.cuts.size() != 1) return false;
    if (!fold.cuts[0].target.is_mesh()) return false;
    if (fold.terms.empty()) continue;
    const int axis = fold.terms[0].dim;
    if (std::count(seen.begin(), seen.end(), axis) > 0) return false;
    seen.push_back(axis);
  }
  return true;
}

/// A set of virtual places as physical places, for maps that move axes.
PlaceSet moved(const PlaceSet& set, const DeviceMap& map) {
  PlaceSet out{map.origin(), {}};
  out.first.resize(map.physical().rank(), 0);
  for (const Fold& fold : map.folds()) {
    const Cut& cut = fold.cuts[0];
    std::int64_t& first = out.first[static_cast<std::size_t>(cut.target.axis())];
    first += fold.start * cut.stride;
    if (fold.terms.empty()) continue;
    const Term& term = fold.terms[0];
    first += term.coef * set.first[static_cast<std::size_t>(term.dim)] * cut.stride;
    for (const PlaceLoop& loop : set.loops) {
      if (loop.axis != term.dim) continue;
      std::int64_t stride = loop.stride * term.coef * cut.stride;
      if (stride < 0) {
        first += stride * (loop.count - 1);
        stride = -stride;
      }
      out.loops.push_back({cut.target.axis(), loop.count, stride});
    }
  }
  out.simplify();
  return out;
}

Error past_the_mesh(const Shape& wanted, std::size_t axis, const Shape& mesh) {
  return Error{ErrorCode::kMeshTooSmall,
               cat("a layout on ", wanted.to_string(), " places reaches past a mesh of ",
                   mesh.to_string(), ": ", wanted[axis], " > ", mesh[axis], " along axis ", axis),
               std::nullopt, "use a smaller grid or another origin"};
}

/// Checks that the layout's places are places of the mesh.
Status check_mesh(const Layout& layout, const Shape& mesh) {
  const DeviceMap& map = layout.spec().device_map;
  const bool identity = map.kind() == DeviceMap::Kind::kIdentity;
  const Shape& wanted = identity ? layout.mesh() : map.physical();
  if (wanted.rank() != mesh.rank()) {
    if (identity && layout.places() == 1 && mesh.elements() > 0) return ok_status();
    return Error{ErrorCode::kMeshMismatch,
                 cat("a layout on places of ", wanted.rank(), " coordinates, but the mesh ",
                     mesh.to_string(), " has ", mesh.rank()),
                 std::nullopt, "add a device map that states which places of the mesh are used"};
  }
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    if (wanted[axis] > mesh[axis]) return past_the_mesh(wanted, axis, mesh);
  }
  return ok_status();
}

using Listed = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Sorts by place; by counting if the list fills much of the mesh.
void sort_by_place(Listed& listed, std::int64_t places) {
  constexpr std::size_t kFew = 16;
  if (static_cast<std::size_t>(places) / kFew > listed.size()) {
    std::sort(listed.begin(), listed.end());
    return;
  }
  std::vector<std::size_t> next(static_cast<std::size_t>(places) + 1, 0);
  for (const auto& [place, bytes] : listed) ++next[static_cast<std::size_t>(place) + 1];
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  Listed sorted(listed.size());
  for (const auto& entry : listed) sorted[next[static_cast<std::size_t>(entry.first)]++] = entry;
  listed = std::move(sorted);
}

/// Place by place. `map` is null when the sets are already physical places.
Result<TensorPlaces> as_list(const Shape& mesh, const std::vector<SizedSet>& sets,
                             const Layout& layout, const DeviceMap* map) {
  Checked count = 0;
  for (const SizedSet& sized : sets) count += sized.set.count();
  if (count.saturated() > kMaxListedPlaces) {
    return Error{ErrorCode::kTooLarge,
                 cat("a layout whose places have to be listed one by one has ", count.saturated(),
                     " of them; at most ", kMaxListedPlaces, " are"),
                 std::nullopt, "use a grid, or fewer places"};
  }
  TensorPlaces out;
  out.is_listed = true;
  out.listed.reserve(static_cast<std::size_t>(count.saturated()));
  const bool is_table = map && map->kind() == DeviceMap::Kind::kTable;
  for (const SizedSet& sized : sets) {
    for (const Place& place : sized.set.places()) {
      std::int64_t number = 0;
      if (is_table) {  // read in place, not copied
        number = mesh.linear(map->places()[static_cast<std::size_t>(layout.mesh().linear(place))]);
      } else {
        number = mesh.linear(map ? map->map(layout.mesh(), place).place : place);
      }
      out.listed.emplace_back(number, sized.bytes);
    }
  }
  sort_by_place(out.listed, mesh.elements());
  // Bytes of places that a map stacks on one another add up.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < out.listed.size(); ++i) {
    if (kept > 0 && out.listed[kept - 1].first == out.listed[i].first) {
      TESSERA_TRY(out.listed[kept - 1].second,
                  (Checked(out.listed[kept - 1].second) + out.listed[i].second)
                      .value("the bytes of a tensor on one place"));
    } else {
      out.listed[kept++] = out.listed[i];
    }
  }
  out.listed.resize(kept);
  return out;
}

}  // namespace

Result<TensorPlaces> tensor_places(const Shape& mesh, const SizedTensor& tensor,
                                   const SizeRule& rule) {
  if (rule.align_bytes < 1) {
    return Error{ErrorCode::kBadAlignment, cat("an alignment of ", rule.align_bytes, " bytes"),
                 std::nullopt, "at least 1"};
  }
  if (tensor.bytes.value_or(0) < 0) {
    return Error{ErrorCode::kBadBuffer, cat("a size of ", *tensor.bytes, " bytes"), std::nullopt,
                 "a size is at least 0"};
  }
  if (tensor.layout == nullptr) {
    TESSERA_TRY(const std::int64_t bytes, aligned(tensor.bytes.value_or(0), rule));
    TensorPlaces out;
    out.axes.assign(mesh.rank(), AxisParts{{0}, {0}, 1});
    out.bytes = {bytes};
    return out;
  }
  const Layout& layout = *tensor.layout;
  TESSERA_CHECK_OK(check_mesh(layout, mesh));
  TESSERA_TRY(std::vector<SizedSet> sets, sized_sets(tensor, rule));
  const DeviceMap& map = layout.spec().device_map;
  const DeviceMap* left = &map;  // the map that still has to be applied
  if (map.kind() == DeviceMap::Kind::kIdentity) {
    for (SizedSet& sized : sets) {
      if (layout.mesh().rank() != mesh.rank()) sized.set = PlaceSet{Place(mesh.rank(), 0), {}};
    }
    left = nullptr;
  } else if (moves_axes(map)) {
    for (SizedSet& sized : sets) sized.set = moved(sized.set, map);
    left = nullptr;
  }
  if (left == nullptr) {
    if (std::optional<TensorPlaces> product = as_product(mesh, sets)) return *std::move(product);
  }
  return as_list(mesh, sets, layout, left);
}

}  // namespace tessera::memory
