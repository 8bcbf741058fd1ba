// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/positions.h"

#include <algorithm>
#include <set>

#include "tessera/base/text.h"
#include "tessera/testing/reshard/naive_reshard.h"

namespace tessera::test {
namespace {

/// How many places hold a share of one element, and how shares combine.
Shares shares_of(const Placement& placement) {
  std::set<std::string> reductions;
  std::int64_t places = 1;
  for (const Fill& fill : form_pieces(placement).front().form->fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count == 1) continue;  // one share is the value
    reductions.emplace(reduction_name(fill.reduction));
    places *= fill.count;
  }
  return {{reductions.begin(), reductions.end()}, places};
}

/// The device map that places an element, or null.
const DeviceMap* map_at(const Placement& placement, const Numbers& index) {
  if (const Layout* layout = placement.layout()) return &layout->spec().device_map;
  if (placement.pieces() == nullptr) return nullptr;
  for (const LayoutPiece& piece : placement.pieces()->pieces()) {
    if (piece.box.contains(index)) return &piece.layout.spec().device_map;
  }
  return nullptr;
}

std::int64_t row_major(const Numbers& place, const Numbers& extents) {
  std::int64_t number = 0;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    number = number * extents[axis] + place[axis];
  }
  return number;
}

/// The places of an element by their number on the device, then the layer.
std::vector<Numbers> numbers_of(const std::vector<Numbers>& on_device, const Numbers& device) {
  std::vector<Numbers> numbers;
  for (const Numbers& place : on_device)
    numbers.push_back({row_major(place, device), place.back()});
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string storage_of(const Atom& atom) {
  const std::string tile = atom.is_tile() ? cat(atom.rows, "x", atom.cols, " of ") : "";
  return cat(tile, dtype_name(atom.storage));
}

}  // namespace

std::string Shares::text() const {
  return empty() ? "" : cat(join(reductions, " and "), " on ", places, " places");
}

const RulePosition& Positions::at(const Numbers& index) const {
  std::int64_t number = 0;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) number = number * shape[dim] + index[dim];
  return positions[static_cast<std::size_t>(number)];
}

bool Positions::is_mapped() const {
  if (product(device) != product(mesh)) return true;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    std::vector<Numbers> places = positions[i].places;
    for (Numbers& place : places) place.push_back(0);
    if (places != on_device[i]) return true;
  }
  return false;
}

std::optional<Positions> numbered(const Positions& positions) {
  if (product(positions.device) != positions.places()) return std::nullopt;
  Positions other = positions;
  if (positions.mesh.empty()) return other;
  other.mesh = {positions.places()};
  other.device = other.mesh;
  for (std::size_t i = 0; i < positions.positions.size(); ++i) {
    other.on_device[i] = numbers_of(positions.on_device[i], positions.device);
    other.positions[i].places.clear();
    for (const Numbers& place : other.on_device[i]) {
      other.positions[i].places.push_back({place[0]});
    }
  }
  return other;
}

std::string Positions::key(bool by_number) const {
  std::string key = cat(join(shape, "x"), " ", dtype, " ", storage, " ", shares.text(), " ",
                        by_number ? cat(places()) : join(mesh, "x"), " ", slots, ":");
  for (std::size_t i = 0; i < positions.size(); ++i) {
    key += cat(" ", positions[i].slot);
    if (product(device) == 1) continue;
    for (const Numbers& place : by_number ? numbers_of(on_device[i], device) : on_device[i]) {
      key += cat("@", join(place, ","));
    }
  }
  return key;
}

Result<Positions> positions_of(const Tensor& tensor) {
  const Placement& placement = tensor.placement;
  Positions list;
  list.shape = placement.shape().extents();
  if (placement.places() != 1) list.mesh = placement.mesh().extents();
  list.slots = placement.slots();
  list.dtype = dtype_name(placement.dtype());
  list.kept = dtype_name(placement.atom().storage);
  list.storage = storage_of(placement.atom());
  if (placement.atom().is_tile()) list.tile = {placement.atom().rows, placement.atom().cols};
  list.shares = shares_of(placement);
  list.numbered = tensor.notation == "gspmd" || tensor.notation == "dtensor";
  list.device = placement.mesh().extents();
  if (product(list.device) == 1) list.device.clear();
  list.indices = all_tuples(list.shape);
  for (std::size_t number = 0; number < list.indices.size(); ++number) {
    TESSERA_TRY(Location location, placement.locate(list.indices[number]));
    RulePosition position{{location.places.begin(), location.places.end()}, location.slot};
    const DeviceMap* map = map_at(placement, list.indices[number]);
    const bool mapped = map != nullptr && map->kind() != DeviceMap::Kind::kIdentity;
    list.device = (mapped ? map->physical() : placement.mesh()).extents();
    std::vector<Numbers>& on_device = list.on_device.emplace_back();
    for (const Place& place : location.places) {
      auto [there, layer] = naive_coordinates(placement.mesh(), map, place);
      on_device.emplace_back(product(list.device) == 1 ? Numbers{} : std::move(there));
      on_device.back().push_back(layer);
    }
    if (product(list.device) == 1) list.device.clear();
    std::sort(on_device.begin(), on_device.end());
    if (list.mesh.empty()) position.places.assign(1, {});
    std::sort(position.places.begin(), position.places.end());
    for (const Numbers& place : position.places)
      list.held[{place, position.slot}].push_back(number);
    list.positions.push_back(std::move(position));
  }
  return list;
}

Positions untiled(Positions positions) {
  if (positions.tile.empty() || positions.kept.starts_with("bfp_")) return positions;
  positions.tile.clear();
  positions.storage = positions.kept;
  return positions;
}

std::string difference(const Positions& a, const Positions& b) {
  if (a.shape != b.shape) return cat("shape ", join(a.shape, "x"), " against ", join(b.shape, "x"));
  if (a.dtype != b.dtype) return cat(a.dtype, " against ", b.dtype);
  if (a.kept != b.kept) return cat("stored as ", a.kept, " against ", b.kept);
  if (a.kept.starts_with("bfp_") && a.tile != b.tile) return "tiles of other sizes";
  const bool by_number = a.numbered || b.numbered || a.device.size() != b.device.size();
  if (by_number ? a.places() != b.places() : a.mesh != b.mesh) {
    return cat("mesh ", join(a.mesh, "x"), " against ", join(b.mesh, "x"));
  }
  if (a.slots != b.slots) return cat(a.slots, " slots against ", b.slots);
  if (a.shares != b.shares) {
    return cat("'", a.shares.text(), "' against '", b.shares.text(), "'");
  }
  for (std::size_t i = 0; i < a.positions.size(); ++i) {
    const bool same =
        by_number ? numbers_of(a.on_device[i], a.device) == numbers_of(b.on_device[i], b.device)
                  : a.on_device[i] == b.on_device[i];
    if (a.positions[i].slot != b.positions[i].slot || !same) {
      return cat("element ", bracketed(a.indices[i]), " is in slot ", a.positions[i].slot,
                 " against ", b.positions[i].slot, ", or on other places");
    }
  }
  return {};
}

std::string contents_mistake(const Tensor& tensor, const Positions& positions,
                             std::int64_t samples) {
  const std::vector<Numbers> places = all_tuples(tensor.placement.mesh().extents());
  const std::int64_t cells = static_cast<std::int64_t>(places.size()) * positions.slots;
  // Steps that no extent of a small tensor divides visit all places and all parts of a tile.
  const std::int64_t step = std::max<std::int64_t>(cells / std::max<std::int64_t>(samples, 1), 1);
  for (std::int64_t cell = 0; cell < cells; cell += step) {
    const Numbers& place = places[static_cast<std::size_t>(cell / positions.slots)];
    const std::int64_t slot = cell % positions.slots;
    const Result<SlotContent> content = tensor.placement.contents_at(place, slot);
    const std::string where = cat("slot ", slot, " of ", bracketed(place), ": ");
    if (!content) return where + content.error().message;
    std::vector<Numbers> expected;
    const auto held = positions.held.find({positions.mesh.empty() ? Numbers{} : place, slot});
    if (held != positions.held.end()) {
      for (const std::size_t number : held->second) expected.push_back(positions.indices[number]);
    }
    const auto* found = std::get_if<std::vector<Index>>(&*content);
    const bool same = found == nullptr ? expected.empty()
                                       : std::equal(found->begin(), found->end(), expected.begin(),
                                                    expected.end());
    if (!same) {
      return cat(where, "expected ", expected.size(), " elements, found ",
                 found == nullptr ? 0 : found->size());
    }
  }
  return {};
}

}  // namespace tessera::test
