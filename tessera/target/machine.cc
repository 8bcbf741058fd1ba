// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/machine.h"

#include <algorithm>

#include "tessera/target/field_path.h"

namespace tessera::target {

std::string_view network_name(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::kMesh:
      return "mesh";
    case NetworkKind::kTorus:
      return "torus";
    case NetworkKind::kRing:
      return "ring";
    case NetworkKind::kAllToAll:
      return "all_to_all";
    case NetworkKind::kNoc:
      return "noc";
  }
  return "unknown";
}

std::string_view way_name(Way way) {
  switch (way) {
    case Way::kBoth:
      return "both";
    case Way::kUp:
      return "up";
    case Way::kDown:
      return "down";
  }
  return "unknown";
}

std::string_view evidence_name(Evidence evidence) {
  switch (evidence) {
    case Evidence::kPublished:
      return "published";
    case Evidence::kMeasured:
      return "measured";
    case Evidence::kFitted:
      return "fitted";
    case Evidence::kAssumed:
      return "assumed";
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

std::optional<Evidence> Machine::evidence(std::string_view path) const {
  const std::vector<std::string_view> steps = path_steps(path);
  std::optional<Evidence> known;
  std::size_t longest = 0;
  for (const Note& note : notes) {
    if (!note.evidence) continue;
    const std::vector<std::string_view> about = path_steps(note.about);
    const bool is_prefix =
        about.size() <= steps.size() && std::equal(about.begin(), about.end(), steps.begin());
    if (!is_prefix || (known && about.size() < longest)) continue;
    known = note.evidence;
    longest = about.size();
  }
  return known;
}

std::optional<double> Machine::per_cycle(const Bandwidth& bandwidth) const {
  if (bandwidth.bytes_per_cycle || !bandwidth.bytes_per_second || !clock_hz) {
    return bandwidth.bytes_per_cycle;
  }
  return *bandwidth.bytes_per_second / static_cast<double>(*clock_hz);
}

std::optional<double> Machine::memory_cycles(const MemorySpace& space, double read_bytes,
                                             double written_bytes) const {
  const auto cycles = [&](double bytes, const Bandwidth& bandwidth) -> std::optional<double> {
    if (bytes == 0) return 0;
    const std::optional<double> rate = per_cycle(bandwidth);
    return rate ? std::optional(bytes / *rate) : std::nullopt;
  };
  const bool is_mixed = space.mixed.known();
  const double both = is_mixed ? std::min(read_bytes, written_bytes) : 0;
  const std::optional<double> reads = cycles(read_bytes - both, space.read);
  const std::optional<double> writes = cycles(written_bytes - both, space.write);
  const std::optional<double> mixed = cycles(2 * both, space.mixed);
  if (!reads || !writes || !mixed) return std::nullopt;
  return is_mixed ? *mixed + *reads + *writes : std::max(*reads, *writes);
}

std::int64_t Machine::devices() const {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < mesh.size(); ++i) {
    for (const std::int64_t extent : mesh[i].extents) count *= extent;
  }
  return count;
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
