// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/diff_window.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/same_places.h"
#include "tools/command/window.h"
#include "tools/terminal/replicas.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// A physical place that holds an element. Of a partial sum it holds a share: for each reduction,
/// `shares` has the least number of the places with the same share.
struct Holder {
  std::int64_t number = 0;
  std::int64_t layer = 0;
  std::vector<std::pair<Reduction, std::int64_t>> shares;
  friend auto operator<=>(const Holder&, const Holder&) = default;
};

/// Where an element is on the device; the holders are sorted.
struct OnDevice {
  std::vector<Holder> holders;
  std::int64_t slot = 0;
};

/// A place of the mesh that holds an element, and by reduction and mesh axis how far the digits of
/// partial sums move it.
struct Replica {
  Place place;
  std::map<std::pair<Reduction, int>, std::int64_t> moved;
};

std::vector<Replica> replicas_of(const Form& form, const Place& first) {
  std::vector<Replica> replicas = {{first, {}}};
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed || fill.count < 2) continue;
    std::vector<Replica> more;
    for (const Replica& replica : replicas) {
      for (std::int64_t digit = 0; digit < fill.count; ++digit) {
        Replica& next = more.emplace_back(replica);
        next.place[static_cast<std::size_t>(fill.axis)] += digit * fill.stride;
        if (fill.kind == Fill::Kind::kPartial) {
          next.moved[{fill.reduction, fill.axis}] += digit * fill.stride;
        }
      }
    }
    replicas = std::move(more);
  }
  return replicas;
}

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
    OnDevice found;
    Place first;
    form->evaluate(local, first, found.slot);
    const std::vector<Replica> replicas = replicas_of(*form, first);
    for (const Replica& replica : replicas) found.holders.push_back(holder_at(replica.place));
    // Places with equal digits of a reduction have the same share of it.
    std::map<std::pair<Reduction, std::vector<std::int64_t>>, std::int64_t> least;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t i = 0; i < replicas.size(); ++i) {
        std::map<Reduction, std::vector<std::int64_t>> digits;
        for (const auto& [where, distance] : replicas[i].moved) {
          digits[where.first].insert(digits[where.first].end(), {where.second, distance});
        }
        for (const auto& [reduction, share] : digits) {
          Holder& holder = found.holders[i];
          auto& number = least.try_emplace({reduction, share}, holder.number).first->second;
          number = std::min(number, holder.number);
          if (pass == 1) holder.shares.emplace_back(reduction, number);
        }
      }
    }
    std::sort(found.holders.begin(), found.holders.end());
    return found;
  }

 private:
  Holder holder_at(const Place& place) const {
    const auto* const layout = placement_.layout();
    const PhysicalPlace there = layout == nullptr
                                    ? PhysicalPlace{place, 0}
                                    : layout->spec().device_map.map(placement_.mesh(), place);
    // A single place is the first of every mesh.
    const bool is_alone = there.place.size() != mesh_.rank();
    return {is_alone ? 0 : mesh_.linear(there.place), there.layer, {}};
  }

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
  if (a.holders == b.holders && a.slot == b.slot) return Change::kStays;
  const bool held =
      std::includes(a.holders.begin(), a.holders.end(), b.holders.begin(), b.holders.end());
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
    from.push_back(before.holders.front().number);
    to.push_back(after.holders.front().number);
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
