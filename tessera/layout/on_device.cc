// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/layout/algebra/numbered_form.h"
#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"

namespace tessera {
namespace {

const DeviceMap& or_identity(const DeviceMap* map) {
  static const DeviceMap kIdentity;
  return map != nullptr ? *map : kIdentity;
}

/// The smallest mesh that contains the devices of both. Its row-major numbers identify places.
Result<Shape> common_device(const Placement& a, const Placement& b) {
  std::optional<std::vector<std::int64_t>> extents;
  for (const Placement* side : {&a, &b}) {
    for (const FormPiece& piece : form_pieces(*side)) {
      const Shape& mesh = device_mesh(*piece.form, or_identity(piece.device_map));
      if (mesh.elements() == 1) continue;
      if (!extents) extents.emplace(mesh.rank(), 1);
      if (extents->size() != mesh.rank()) {
        return Error{ErrorCode::kMeshMismatch,
                     cat("devices ", bracketed(*extents), " and ", bracketed(mesh.extents()),
                         " differ in rank"),
                     std::nullopt, "devices of different rank compare by numbers"};
      }
      for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
        (*extents)[axis] = std::max((*extents)[axis], mesh[axis]);
      }
    }
  }
  return Shape::make(extents.value_or(std::vector<std::int64_t>{}));
}

/// A physical place by its number on the common device, and its layer.
using DevicePlace = std::pair<std::int64_t, std::int64_t>;
using DevicePlaces = std::vector<DevicePlace>;

/// Who holds an element. Under kCopies, a set of places for each share (one set if the element is
/// no sum of shares). Under each reduction, the sets of places whose shares it combines.
using Holders = std::map<int, std::set<DevicePlaces>>;
constexpr int kCopies = -1;

/// One side of a meeting, its places followed through its device map.
class Side {
 public:
  Side(const Form& form, const DeviceMap& map, const Shape& device)
      : form_(form), map_(map), strides_(device.row_major_strides()) {
    const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
    for (const Fill& fill : form.fills) {
      if (fill.kind == Fill::Kind::kFixed || fill.count == 1) continue;
      const int kind =
          fill.kind == Fill::Kind::kReplicate ? kCopies : static_cast<int>(fill.reduction);
      const auto [known, is_new] = offsets_.try_emplace(kind, std::vector<std::int64_t>{0});
      std::vector<std::int64_t> more;
      for (const std::int64_t offset : known->second) {
        for (std::int64_t i = 0; i < fill.count; ++i) {
          more.push_back(offset + i * fill.stride * strides[static_cast<std::size_t>(fill.axis)]);
        }
      }
      known->second = std::move(more);
    }
  }

  Holders holders(std::int64_t place) const {
    Holders all;
    for (const auto& [kind, own] : offsets_) {
      std::vector<std::int64_t> firsts = {place};
      std::vector<std::int64_t> together = own;
      for (const auto& [other, offsets] : offsets_) {
        if (other == kind) continue;
        if (other == kCopies) {
          together = sums(together, offsets);
        } else {
          firsts = sums(firsts, offsets);
        }
      }
      for (const std::int64_t first : firsts)
        all[kind].insert(device_places(sums({first}, together)));
    }
    return all;
  }

 private:
  static std::vector<std::int64_t> sums(const std::vector<std::int64_t>& a,
                                        const std::vector<std::int64_t>& b) {
    std::vector<std::int64_t> all;
    all.reserve(a.size() * b.size());
    for (const std::int64_t x : a) {
      for (const std::int64_t y : b) all.push_back(x + y);
    }
    return all;
  }

  DevicePlaces device_places(const std::vector<std::int64_t>& places) const {
    DevicePlaces device_places;
    for (const std::int64_t place : places) device_places.push_back(device_place(place));
    std::sort(device_places.begin(), device_places.end());
    return device_places;
  }

  DevicePlace device_place(std::int64_t number) const {
    const PhysicalPlace there = map_.map(form_.mesh, form_.mesh.delinear(number));
    DevicePlace device_place{0, there.layer};
    // A device of one place has no strides on a larger one: all its coordinates are 0.
    for (std::size_t axis = 0; axis < there.place.size() && axis < strides_.size(); ++axis) {
      device_place.first += there.place[axis] * strides_[axis];
    }
    return device_place;
  }

  const Form& form_;
  const DeviceMap& map_;
  std::vector<std::int64_t> strides_;
  // Of each way of repeating: how far the places are from the first.
  std::map<int, std::vector<std::int64_t>> offsets_ = {{kCopies, {0}}};
};

/// Elements that stay on one place on each side, in loops that move slots alone.
struct Still {
  Index origin;
  std::int64_t place_a = 0;
  std::int64_t place_b = 0;
  std::int64_t difference = 0;  ///< of the slots at the origin
  const std::vector<Loop>& loops;

  std::int64_t elements() const {
    std::int64_t product = 1;
    for (const Loop& loop : loops) product *= loop.extent;
    return product;
  }
};

std::int64_t slot_change(const Loop& loop) { return loop.move.a.slot - loop.move.b.slot; }

/// Counts the steps of one comparison, also in the budget of the question.
class Budget {
 public:
  bool spend(std::int64_t steps = 1) {
    left_ -= std::min(steps, left_ + 1);
    return left_ >= 0 && Work::spend(kWorkPerDeviceStep * steps);
  }

 private:
  std::int64_t left_ = kMostDeviceSteps;
};

/// Splits the meeting of two forms into elements that stay on one place on each side.
Status for_each_still(const Meeting& meeting, Budget& budget,
                      const std::function<Status(const Still&)>& visit) {
  TESSERA_TRY(const Refinement refinement, refine(meeting.a, meeting.b));
  if (!budget.spend(refinement.nests())) return too_many_device_steps();
  for (std::int64_t n = 0; n < refinement.nests(); ++n) {
    const Nest nest = refinement.nest(n);
    std::vector<Loop> moving;
    std::vector<Loop> still;
    for (const Loop& loop : nest.loops) {
      const bool moves = loop.move.a.place != 0 || loop.move.b.place != 0;
      (moves ? moving : still).push_back(loop);
    }
    std::vector<std::int64_t> at(moving.size(), 0);
    for (bool more = nest.elements() > 0; more;) {
      if (!budget.spend()) return too_many_device_steps();
      PositionPair positions = nest.at;
      Index origin = plus(nest.origin, meeting.box.from);
      for (std::size_t l = 0; l < moving.size(); ++l) {
        positions.a += moving[l].move.a * at[l];
        positions.b += moving[l].move.b * at[l];
        origin[static_cast<std::size_t>(moving[l].dim)] += at[l] * moving[l].step;
      }
      TESSERA_CHECK_OK(visit({std::move(origin), positions.a.place, positions.b.place,
                              positions.a.slot - positions.b.slot, still}));
      more = false;
      for (std::size_t l = moving.size(); l-- > 0 && !more;) {
        more = ++at[l] < moving[l].extent;
        if (!more) at[l] = 0;
      }
    }
  }
  return ok_status();
}

/// The row-major smallest index of `still` whose slots differ.
std::optional<Index> first_slot_difference(const Still& still) {
  if (still.difference != 0) return still.origin;
  std::optional<Index> first;
  for (const Loop& loop : still.loops) {
    if (slot_change(loop) == 0) continue;
    Index index = still.origin;
    index[static_cast<std::size_t>(loop.dim)] += loop.step;
    if (!first || index < *first) first = std::move(index);
  }
  return first;
}

/// The number of settings of the loops from `l` on at which the slots agree.
Result<std::int64_t> count_alike(const Still& still, std::size_t l, std::int64_t difference,
                                 Budget& budget) {
  if (!budget.spend()) return too_many_device_steps();
  if (l == still.loops.size()) return difference == 0 ? 1 : 0;
  const Loop& loop = still.loops[l];
  if (slot_change(loop) == 0) {
    TESSERA_TRY(const std::int64_t alike, count_alike(still, l + 1, difference, budget));
    return alike * loop.extent;
  }
  std::int64_t alike = 0;
  for (std::int64_t i = 0; i < loop.extent; ++i) {
    TESSERA_TRY(const std::int64_t here,
                count_alike(still, l + 1, difference + slot_change(loop) * i, budget));
    alike += here;
  }
  return alike;
}

/// Both sides of a meeting on the common device, with remembered answers.
class DeviceMeeting {
 public:
  DeviceMeeting(const Meeting& meeting, const Shape& device)
      : a_(meeting.a, or_identity(meeting.map_a), device),
        b_(meeting.b, or_identity(meeting.map_b), device) {}

  bool same(std::int64_t place_a, std::int64_t place_b) {
    return remembered(place_a, place_b, [&] { return a_.holders(place_a) == b_.holders(place_b); });
  }

  /// Whether side a already has what side b holds.
  bool has(std::int64_t place_a, std::int64_t place_b) {
    return remembered(place_a, place_b, [&] {
      const Holders have = a_.holders(place_a);
      const Holders want = b_.holders(place_b);
      if (have.size() != want.size()) return false;
      for (const auto& [kind, sets] : want) {
        const auto own = have.find(kind);
        if (own == have.end()) return false;
        for (const DevicePlaces& wanted : sets) {
          const bool is_held =
              std::any_of(own->second.begin(), own->second.end(), [&](const DevicePlaces& held) {
                return std::includes(held.begin(), held.end(), wanted.begin(), wanted.end());
              });
          if (!is_held) return false;
        }
      }
      return true;
    });
  }

 private:
  bool remembered(std::int64_t place_a, std::int64_t place_b, const std::function<bool()>& find) {
    const auto [known, is_new] = answers_.try_emplace(std::pair(place_a, place_b), false);
    if (is_new) known->second = find();
    return known->second;
  }

  Side a_;
  Side b_;
  std::map<std::pair<std::int64_t, std::int64_t>, bool> answers_;
};

/// Two forms that can be compared directly, because their places are the physical ones or are
/// mapped alike; nullopt if the device maps must be followed place by place.
Result<std::optional<std::pair<Form, Form>>> comparable(const Meeting& meeting,
                                                        const Shape& device) {
  const DeviceMap& map_a = or_identity(meeting.map_a);
  const DeviceMap& map_b = or_identity(meeting.map_b);
  using Forms = std::optional<std::pair<Form, Form>>;
  const bool is_alike = map_a == map_b && (!is_mapped(map_a) || meeting.a.mesh == meeting.b.mesh);
  if (is_alike && meeting.a.mesh.rank() == meeting.b.mesh.rank()) {
    return Forms({meeting.a, meeting.b});
  }
  const std::optional<Weights> of_a = weights_of(meeting.a, map_a, device);
  const std::optional<Weights> of_b = weights_of(meeting.b, map_b, device);
  if (!of_a || !of_b) return Forms();
  TESSERA_TRY(Form a, numbered_form(meeting.a, *of_a, device.elements()));
  TESSERA_TRY(Form b, numbered_form(meeting.b, *of_b, device.elements()));
  return Forms({std::move(a), std::move(b)});
}

}  // namespace

Result<Comparison> same_on_device(const Placement& a, const Placement& b) {
  TESSERA_TRY(const Shape device, common_device(a, b));
  Comparison result;
  const auto meet = [&](Index index) {
    if (!result.equal && !(index < *result.first_difference)) return;
    result.equal = false;
    result.first_difference = std::move(index);
  };
  Budget budget;
  TESSERA_CHECK_OK(for_each_meeting(a, b, [&](const Meeting& meeting) -> Status {
    TESSERA_TRY(const auto forms, comparable(meeting, device));
    if (forms) {
      TESSERA_TRY(const Comparison here, same_function(forms->first, forms->second));
      if (!here.equal) meet(plus(*here.first_difference, meeting.box.from));
      return ok_status();
    }
    DeviceMeeting places(meeting, device);
    return for_each_still(meeting, budget, [&](const Still& still) -> Status {
      if (!places.same(still.place_a, still.place_b)) {
        meet(still.origin);
      } else if (std::optional<Index> index = first_slot_difference(still)) {
        meet(*std::move(index));
      }
      return ok_status();
    });
  }));
  return result;
}

Result<std::int64_t> moved_on_device(const Placement& a, const Placement& b) {
  TESSERA_TRY(const Shape device, common_device(a, b));
  Checked moved = 0;
  Budget budget;
  TESSERA_CHECK_OK(for_each_meeting(a, b, [&](const Meeting& meeting) -> Status {
    TESSERA_TRY(const auto forms, comparable(meeting, device));
    if (forms) {
      TESSERA_TRY(const std::int64_t here, moved_elements(forms->first, forms->second));
      moved += here;
      return ok_status();
    }
    DeviceMeeting places(meeting, device);
    return for_each_still(meeting, budget, [&](const Still& still) -> Status {
      moved += still.elements();
      if (!places.same(still.place_a, still.place_b)) return ok_status();
      TESSERA_TRY(const std::int64_t alike, count_alike(still, 0, still.difference, budget));
      moved = moved - alike;
      return ok_status();
    });
  }));
  return moved.value("the number of elements");
}

Result<bool> compatible_on_device(const Placement& from, const Placement& to) {
  TESSERA_TRY(const Shape device, common_device(from, to));
  bool compatible = true;
  Budget budget;
  TESSERA_CHECK_OK(for_each_meeting(from, to, [&](const Meeting& meeting) -> Status {
    TESSERA_TRY(const auto forms, comparable(meeting, device));
    if (forms) {
      TESSERA_TRY(const bool here, compatible_without_movement(forms->first, forms->second));
      compatible = compatible && here;
      return ok_status();
    }
    DeviceMeeting places(meeting, device);
    return for_each_still(meeting, budget, [&](const Still& still) -> Status {
      compatible = compatible && places.has(still.place_a, still.place_b);
      return ok_status();
    });
  }));
  return compatible;
}

}  // namespace tessera
