// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/diff_window.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/on_device.h"
#include "tessera/notation/same_places.h"
#include "tools/command/window.h"
#include "tools/terminal/replicas.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// Where an element is on the device: sorted numbers of physical places, with their layers.
struct OnDevice {
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  std::int64_t slot = 0;
};

/// Looks up elements of one placement.
class DeviceView {
 public:
  DeviceView(const Placement& placement, const Shape& mesh) : placement_(placement), mesh_(mesh) {}

  Result<OnDevice> find(const Index& index) const {
    const auto [form, local] = placement_.form_at(index);
    if (form->replicas() > kListedReplicas) {
      return Error{ErrorCode::kTooLarge,
                   cat("an element has ", form->replicas(), " replicas; at most ", kListedReplicas,
                       " are compared one by one"),
                   std::nullopt, "use diff without a window"};
    }
    TESSERA_TRY(const Location location, placement_.locate(index));
    OnDevice found;
    found.slot = location.slot;
    const auto* const map =
        placement_.layout() == nullptr ? nullptr : &placement_.layout()->spec().device_map;
    for (const Place& place : location.places) {
      const PhysicalPlace there =
          map == nullptr ? PhysicalPlace{place, 0} : map->map(placement_.mesh(), place);
      // A single place is the first of every mesh.
      const bool is_alone = there.place.size() != mesh_.rank();
      found.places.emplace_back(is_alone ? 0 : mesh_.linear(there.place), there.layer);
    }
    std::sort(found.places.begin(), found.places.end());
    return found;
  }

 private:
  const Placement& placement_;
  const Shape& mesh_;
};

/// The smallest mesh that has the places of both devices.
Result<Shape> common_mesh(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return a.elements() > b.elements() ? a : b;
  std::vector<std::int64_t> extents = a.extents();
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    extents[axis] = std::max(extents[axis], b[axis]);
  }
  return Shape::make(std::move(extents));
}

enum class Change : std::uint8_t { kStays, kReordered, kMoves };
constexpr std::array<std::string_view, 3> kChangeNames = {"stays", "reordered", "moves"};

Change change_of(const OnDevice& a, const OnDevice& b) {
  if (a.places == b.places && a.slot == b.slot) return Change::kStays;
  const bool held =
      std::includes(a.places.begin(), a.places.end(), b.places.begin(), b.places.end());
  return held ? Change::kReordered : Change::kMoves;
}

}  // namespace

Result<Verdict> diff_window(const Request& request, Console& console) {
  TESSERA_TRY(const SamePlaces places, same_places(request.tensor("a"), request.tensor("b")));
  TESSERA_TRY(const Comparison comparison, same_on_device(places.a, places.b));
  TESSERA_TRY(const Window window, read_window(request, places.a.shape()));
  TESSERA_TRY(const Shape mesh, common_mesh(device_of(places.a), device_of(places.b)));
  const DeviceView a(places.a, mesh);
  const DeviceView b(places.b, mesh);
  std::string changes;
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
  for (std::int64_t k = 0; k < window.counts.elements(); ++k) {
    const Index index = window.element(k);
    TESSERA_TRY(const OnDevice before, a.find(index));
    TESSERA_TRY(const OnDevice after, b.find(index));
    const std::string_view change =
        kChangeNames[static_cast<std::size_t>(change_of(before, after))];
    from.push_back(before.places.front().first);
    to.push_back(after.places.front().first);
    changes += console.json ? cat(k > 0 ? ",\"" : "\"", change, "\"")
                            : cat(bracketed(index), "  ", change, "  place ", from.back(), " to ",
                                  to.back(), "\n");
  }
  if (console.json) {
    std::string line = cat("{\"equal\":", comparison.equal ? "true" : "false", ",\"mesh\":");
    append_numbers(line, mesh.extents());
    line += cat(",\"changes\":[", changes, "],\"from\":");
    append_numbers(line, from);
    line += ",\"to\":";
    append_numbers(line, to);
    console.out << line << "}\n";
  } else {
    console.out << changes;
  }
  return comparison.equal ? Verdict::kYes : Verdict::kNo;
}

}  // namespace tessera::tools
