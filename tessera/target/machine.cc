// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/machine.h"

#include <algorithm>

namespace tessera::target {

std::string_view network_name(Network network) {
  switch (network) {
    case Network::kMesh:
      return "mesh";
    case Network::kTorus:
      return "torus";
    case Network::kRing:
      return "ring";
    case Network::kNoc:
      return "noc";
  }
  return "unknown";
}

std::string_view owner_name(MemorySpace::Owner owner) {
  switch (owner) {
    case MemorySpace::Owner::kPlace:
      return "place";
    case MemorySpace::Owner::kBank:
      return "bank";
    case MemorySpace::Owner::kShared:
      return "shared";
  }
  return "unknown";
}

std::optional<std::int64_t> MemorySpace::data_bytes() const {
  if (usable_bytes || !bytes) return usable_bytes;
  std::int64_t left = *bytes;
  for (const Reserve& reserve : reserved) {
    if (reserve.bytes >= left) return 0;
    left -= reserve.bytes;
  }
  return left;
}

std::int64_t MemorySpace::reserved_bytes(std::string_view reserve_name) const {
  const auto found = std::find_if(reserved.begin(), reserved.end(), [&](const Reserve& reserve) {
    return reserve.name == reserve_name;
  });
  return found == reserved.end() ? 0 : found->bytes;
}

bool PlaceRange::contains(const Place& place) const {
  if (place.size() != from.size()) return false;
  for (std::size_t axis = 0; axis < place.size(); ++axis) {
    if (place[axis] < from[axis] || place[axis] > to[axis]) return false;
  }
  return true;
}

Shape Machine::shape() const {
  std::vector<std::int64_t> extents;
  for (const MeshLevel& level : mesh) {
    extents.insert(extents.end(), level.extents.begin(), level.extents.end());
  }
  return *Shape::make(std::move(extents));
}

const MemorySpace* Machine::find_space(std::string_view space_name) const {
  const auto found = std::find_if(memory.begin(), memory.end(),
                                  [&](const MemorySpace& each) { return each.name == space_name; });
  return found == memory.end() ? nullptr : &*found;
}

bool Machine::is_dead(const Place& place) const {
  return std::any_of(dead.begin(), dead.end(),
                     [&](const PlaceRange& range) { return range.contains(place); });
}

std::vector<std::int64_t> Machine::dead_places() const {
  const Shape all = shape();
  std::vector<std::int64_t> numbers;
  for (const PlaceRange& range : dead) {
    Place place = range.from;
    // Counts like an odometer whose wheels run from `from` to `to`.
    for (bool more = true; more;) {
      numbers.push_back(all.linear(place));
      more = false;
      for (std::size_t axis = place.size(); axis-- > 0 && !more;) {
        more = place[axis] < range.to[axis];
        place[axis] = more ? place[axis] + 1 : range.from[axis];
      }
    }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

}  // namespace tessera::target
