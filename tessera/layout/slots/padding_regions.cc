// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "tessera/base/checked.h"
#include "tessera/layout/algebra/mesh_digits.h"
#include "tessera/layout/regions.h"
#include "tessera/layout/slots/digit_boxes.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxEnumerated = std::int64_t{1} << 22;

using Visit = std::function<bool(const PaddingRegion&)>;

Error too_entangled() {
  return Error{ErrorCode::kTooLarge,
               cat("regions of entangled folds are enumerated, but these have more than ",
                   kMaxEnumerated, " slots"),
               std::nullopt, "place every digit, and fold every dim once"};
}

class Regions {
 public:
  Regions(const Layout& layout, const Visit& visit)
      : layout_(layout),
        form_(layout.form()),
        visit_(visit),
        memory_(memory_reach(layout.form(), layout.slots())),
        boxes_(form_.folds.size()) {}

  Status run() {
    TESSERA_CHECK_OK(memory_holes());
    if (stopped_ || memory_.reaches_nothing()) return ok_status();
    TESSERA_CHECK_OK(empty_places());
    if (!stopped_) fold(0, std::nullopt);
    if (too_large_) return too_entangled();
    return failure_ ? Status(*failure_) : ok_status();
  }

 private:
  void emit(PaddingRegion region) {
    std::erase_if(region.slots, [](const Stride& stride) { return stride.count == 1; });
    region.places.simplify();
    if (region.places.count() == 0 || region.slots_per_place() == 0) return;
    if (!visit_(region)) stopped_ = true;
  }

  PlaceSet whole_mesh() const {
    PlaceSet set{Place(form_.mesh.rank(), 0), {}};
    for (std::size_t a = 0; a < form_.mesh.rank(); ++a) {
      set.loops.push_back({static_cast<int>(a), form_.mesh[a], 1});
    }
    return set;
  }

  Status memory_holes() {
    TESSERA_TRY(const std::vector<Hole> gaps, holes(memory_));
    for (const Hole& hole : gaps) {
      if (stopped_) return ok_status();
      PaddingRegion region{Cause::kGap, whole_mesh(), hole.first, {}};
      for (const Reach::Weight& loop : hole.loops)
        region.slots.push_back({loop.count, loop.stride});
      region.slots.push_back({hole.length, 1});
      emit(std::move(region));
    }
    return ok_status();
  }

  Status empty_places() {
    TESSERA_TRY(const std::vector<PlaceSet> sets, unreached_places(form_));
    for (const PlaceSet& set : sets) {
      if (stopped_) break;
      PaddingRegion region{Cause::kGrid, set, memory_.first, {}};
      for (const Reach::Weight& weight : memory_.weights) {
        region.slots.push_back({weight.count, weight.stride});
      }
      emit(std::move(region));
    }
    return ok_status();
  }

  /// Chooses a box of settings for each fold in order; `cause` is the first cause found so far.
  bool fold(std::size_t f, std::optional<Cause> cause) {
    if (stopped_ || too_large_) return false;
    if (f == form_.folds.size()) {
      leaf(cause);
      return !stopped_;
    }
    const DigitBoxes boxes(form_.folds[f], form_.shape);
    const auto with = [&](std::optional<Cause> here) {
      return [this, f, cause, here](const std::vector<DigitRange>& box) {
        boxes_[f] = box;
        if (!here) return fold(f + 1, cause);
        return fold(f + 1, cause ? std::min(*cause, *here) : *here);
      };
    };
    for (std::size_t cut = 0; cut < boxes.cuts(); ++cut) {
      if (!boxes.overshoots(cut, with(form_.folds[f].cuts[cut].cause))) return false;
    }
    const LinePoints line(form_.folds[f], form_.shape);
    std::int64_t done = 0;
    const bool finished = line.runs(
        [&](std::int64_t from, std::int64_t to) {
          if (!boxes.points(done, from, with(Cause::kGap))) return false;
          done = to;
          return boxes.points(from, to, with(std::nullopt));
        },
        too_large_);
    return finished && boxes.points(done, boxes.extent(), with(Cause::kGap));
  }

  void leaf(std::optional<Cause> cause) {
    if (!cause && form_.shape.empty()) cause = Cause::kGap;  // the empty dim is in no fold
    if (cause) return emit(region_of(boxes_, *cause));
    if (folds_share_dims(form_)) disagreements();
  }

  /// Settings that are valid in every fold may still belong to no index if folds share a dim.
  void disagreements() {
    const std::vector<std::vector<DigitRange>> whole = boxes_;
    std::vector<std::vector<DigitRange>> single = whole;
    for (auto& box : single) {
      for (DigitRange& range : box) range.to = range.from + 1;
    }
    for (bool more = true; more && !stopped_;) {
      if (++enumerated_ > kMaxEnumerated) {
        too_large_ = true;
        return;
      }
      PaddingRegion region = region_of(single, Cause::kGap);
      const Result<Slot> held = layout_.element_at(region.places.first, region.first_slot);
      if (!held) {
        failure_ = held.error();
        stopped_ = true;
        return;
      }
      if (std::holds_alternative<Padding>(*held)) emit(std::move(region));
      more = false;
      for (std::size_t f = 0; f < single.size() && !more; ++f) {
        for (std::size_t k = 0; k < single[f].size() && !more; ++k) {
          if (single[f][k].to < whole[f][k].to) {
            single[f][k] = {single[f][k].from + 1, single[f][k].to + 1};
            more = true;
          } else {
            single[f][k] = {whole[f][k].from, whole[f][k].from + 1};
          }
        }
      }
    }
  }

  PaddingRegion region_of(const std::vector<std::vector<DigitRange>>& boxes, Cause cause) const {
    PaddingRegion region{cause, {Place(form_.mesh.rank(), 0), {}}, form_.offset, {}};
    for (std::size_t f = 0; f < boxes.size(); ++f) {
      for (std::size_t k = 0; k < boxes[f].size(); ++k) {
        const Cut& cut = form_.folds[f].cuts[k];
        const DigitRange& range = boxes[f][k];
        if (cut.target.is_memory()) {
          region.first_slot += range.from * cut.stride;
          region.slots.push_back({range.count(), cut.stride});
        } else if (cut.target.is_mesh()) {
          const int axis = cut.target.axis();
          region.places.first[static_cast<std::size_t>(axis)] += range.from * cut.stride;
          region.places.loops.push_back({axis, range.count(), cut.stride});
        }
      }
    }
    for (const Fill& fill : form_.fills) {
      if (fill.kind == Fill::Kind::kFixed) {
        region.places.first[static_cast<std::size_t>(fill.axis)] += fill.value;
      } else {
        region.places.loops.push_back({fill.axis, fill.count, fill.stride});
      }
    }
    return region;
  }

  const Layout& layout_;
  const Form& form_;
  const Visit& visit_;
  Reach memory_;
  std::vector<std::vector<DigitRange>> boxes_;
  std::int64_t enumerated_ = 0;
  bool stopped_ = false;
  bool too_large_ = false;
  std::optional<Error> failure_;
};

/// For layouts whose slots do not determine the digits: calls element_at for each slot.
Status regions_slot_by_slot(const Layout& layout, const Visit& visit) {
  if ((Checked(layout.places()) * layout.slots()).saturated() > kMaxEnumerated) {
    return too_entangled();
  }
  for (std::int64_t i = 0; i < layout.places(); ++i) {
    const Place place = layout.mesh().delinear(i);
    for (std::int64_t slot = 0; slot < layout.slots(); ++slot) {
      TESSERA_TRY(const Slot held, layout.element_at(place, slot));
      const auto* padding = std::get_if<Padding>(&held);
      if (padding == nullptr) continue;
      if (!visit(PaddingRegion{padding->cause, {place, {}}, slot, {}})) return ok_status();
    }
  }
  return ok_status();
}

}  // namespace

std::int64_t PaddingRegion::slots_per_place() const {
  std::int64_t product = 1;
  for (const Stride& stride : slots) product *= stride.count;
  return product;
}

Status padding_regions(const Layout& layout, const Visit& visit) {
  if (layout.slots() == 0) return ok_status();
  if (has_open_digit(layout.form())) return regions_slot_by_slot(layout, visit);
  return Regions(layout, visit).run();
}

}  // namespace tessera
