// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/changes.h"

#include <algorithm>
#include <compare>
#include <map>
#include <utility>

#include "tessera/base/text.h"
#include "tools/terminal/replicas.h"

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

Change change_of(const OnDevice& a, const OnDevice& b) {
  if (a.holders == b.holders && a.slot == b.slot) return Change::kStays;
  const bool held =
      std::includes(a.holders.begin(), a.holders.end(), b.holders.begin(), b.holders.end());
  return held ? Change::kReordered : Change::kMoves;
}

}  // namespace

std::string_view change_name(Change change) {
  switch (change) {
    case Change::kStays:
      return "stays";
    case Change::kReordered:
      return "reordered";
    case Change::kMoves:
      break;
  }
  return "moves";
}

Result<Changes> changes_in(const SamePlaces& places, const Window& window) {
  Changes found;
  TESSERA_TRY(found.mesh, common_mesh(device_of(places.a), device_of(places.b)));
  const DeviceView a(places.a, found.mesh);
  const DeviceView b(places.b, found.mesh);
  for (std::int64_t k = 0; k < window.counts.elements(); ++k) {
    const Index index = window.element(k);
    TESSERA_TRY(const OnDevice before, a.find(index));
    TESSERA_TRY(const OnDevice after, b.find(index));
    found.changes.push_back(change_of(before, after));
    found.from.push_back(before.holders.front().number);
    found.to.push_back(after.holders.front().number);
  }
  return found;
}

}  // namespace tessera::tools
