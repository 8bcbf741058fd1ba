// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"
#include "tessera/layout/algebra/mesh_digits.h"
#include "tessera/layout/enumerate.h"
#include "tessera/layout/regions.h"
#include "tessera/layout/slots/fold_classes.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxEnumerated = std::int64_t{1} << 22;

Error too_entangled() {
  return Error{ErrorCode::kTooLarge,
               cat("places of entangled folds are compared by element, but these have more than ",
                   kMaxEnumerated, " elements and places"),
               std::nullopt, "place every digit, and fold every dim once"};
}

/// Combines classes of folds into classes of places.
class Assembly {
 public:
  Assembly(const Form& form, std::vector<std::vector<FoldClass>> folds)
      : form_(form), folds_(std::move(folds)) {}

  Result<std::vector<PlaceClass>> run() {
    chosen_.assign(folds_.size(), nullptr);
    choose(0);
    PlaceClass empty;
    for (std::size_t off = 0; off < folds_.size(); ++off) {
      std::vector<std::vector<std::vector<DigitRange>>> boxes;
      for (std::size_t f = 0; f < folds_.size(); ++f) {
        boxes.emplace_back();
        for (const FoldClass& fold_class : folds_[f]) {
          const bool holds = fold_class.elements > 0;
          if (f < off ? !holds : f == off && holds) continue;
          boxes.back().insert(boxes.back().end(), fold_class.boxes.begin(), fold_class.boxes.end());
        }
        join_boxes(boxes.back());
      }
      add_sets(boxes, empty);
    }
    // Places that no digits reach.
    TESSERA_TRY(const std::vector<PlaceSet> sets, unreached_places(form_));
    for (const PlaceSet& set : sets) empty.places += set.count();
    empty.sets.insert(empty.sets.end(), sets.begin(), sets.end());
    if (empty.places > 0) classes_.push_back(std::move(empty));
    return std::move(classes_);
  }

 private:
  using Boxes = std::vector<std::vector<DigitRange>>;

  void choose(std::size_t f) {
    if (f < folds_.size()) {
      for (const FoldClass& fold_class : folds_[f]) {
        if (fold_class.elements == 0) continue;
        chosen_[f] = &fold_class;
        choose(f + 1);
      }
      return;
    }
    PlaceClass place_class;
    place_class.elements = 1;
    place_class.needed_slots = form_.offset + 1;
    std::vector<Boxes> boxes;
    for (const FoldClass* fold_class : chosen_) {
      place_class.elements *= fold_class->elements;
      place_class.needed_slots += fold_class->last_slot;
      boxes.push_back(fold_class->boxes);
    }
    add_sets(boxes, place_class);
    if (place_class.places > 0) classes_.push_back(std::move(place_class));
  }

  /// Adds every combination of one box per fold, as a set of places.
  void add_sets(const std::vector<Boxes>& boxes, PlaceClass& to) const {
    std::vector<std::size_t> pick(boxes.size(), 0);
    for (const Boxes& list : boxes) {
      if (list.empty()) return;
    }
    for (bool more = true; more;) {
      PlaceSet set{Place(form_.mesh.rank(), 0), {}};
      for (std::size_t f = 0; f < boxes.size(); ++f) {
        for (std::size_t k = 0; k < form_.folds[f].cuts.size(); ++k) {
          const Cut& cut = form_.folds[f].cuts[k];
          if (!cut.target.is_mesh()) continue;
          const DigitRange& range = boxes[f][pick[f]][k];
          set.first[static_cast<std::size_t>(cut.target.axis())] += range.from * cut.stride;
          set.loops.push_back({cut.target.axis(), range.count(), cut.stride});
        }
      }
      for (const Fill& fill : form_.fills) {
        if (fill.kind == Fill::Kind::kFixed) {
          set.first[static_cast<std::size_t>(fill.axis)] += fill.value;
        } else {
          set.loops.push_back({fill.axis, fill.count, fill.stride});
        }
      }
      set.simplify();
      to.places += set.count();
      if (set.count() > 0) to.sets.push_back(std::move(set));
      more = false;
      for (std::size_t f = boxes.size(); f-- > 0 && !more;) {
        more = ++pick[f] < boxes[f].size();
        if (!more) pick[f] = 0;
      }
    }
  }

  const Form& form_;
  std::vector<std::vector<FoldClass>> folds_;
  std::vector<const FoldClass*> chosen_;
  std::vector<PlaceClass> classes_;
};

/// Adds one place to the sets. Extends the last set if only the last coordinate advances.
void add_place(std::vector<PlaceSet>& sets, const Place& place) {
  if (!sets.empty() && !place.empty() && sets.back().loops.size() <= 1) {
    PlaceSet& before = sets.back();
    const std::int64_t run = before.count();
    Place next = before.first;
    next.back() += run;
    if (next == place) {
      before.loops = {{static_cast<int>(place.size()) - 1, run + 1, 1}};
      return;
    }
  }
  sets.push_back({place, {}});
}

/// Layouts whose folds are entangled: the slots of every element, collected by place.
Result<std::vector<PlaceClass>> classes_by_element(const Layout& layout) {
  const Form& form = layout.form();
  const Checked work = Checked(form.shape.elements()) * form.replicas() + layout.places();
  if (work.saturated() > kMaxEnumerated) return too_entangled();
  if (!Work::reserve(4 * work.raw())) return Work::too_large("comparing the slots of all places");
  const std::vector<std::int64_t> copies = replica_offsets(form);
  std::vector<std::vector<std::int64_t>> held(static_cast<std::size_t>(layout.places()));
  TESSERA_CHECK_OK(for_each_row(form, [&](const Row& row) {
    for (const Position& offset : row.offsets) {
      const Position position = row.base + offset;
      for (const std::int64_t copy : copies) {
        held[static_cast<std::size_t>(position.place + copy)].push_back(position.slot);
      }
    }
  }));
  std::map<std::vector<std::int64_t>, PlaceClass, std::greater<>> classes;
  for (std::int64_t i = 0; i < layout.places(); ++i) {
    std::vector<std::int64_t>& slots = held[static_cast<std::size_t>(i)];
    std::sort(slots.begin(), slots.end());
    PlaceClass& place_class = classes[slots];
    place_class.elements = static_cast<std::int64_t>(slots.size());
    place_class.needed_slots = slots.empty() ? 0 : slots.back() + 1;
    ++place_class.places;
    add_place(place_class.sets, layout.mesh().delinear(i));
  }
  std::vector<PlaceClass> list;
  for (auto& [slots, place_class] : classes) list.push_back(std::move(place_class));
  return list;
}

}  // namespace

Result<std::vector<PlaceClass>> place_classes(const Layout& layout) {
  const Form& form = layout.form();
  if (form.shape.empty()) {
    PlaceClass empty;
    PlaceSet all{Place(form.mesh.rank(), 0), {}};
    for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
      all.loops.push_back({static_cast<int>(axis), form.mesh[axis], 1});
    }
    all.simplify();
    empty.places = all.count();
    empty.sets = {all};
    return std::vector<PlaceClass>{empty};
  }
  if (has_open_digit(form) || folds_share_dims(form)) return classes_by_element(layout);
  std::vector<std::vector<FoldClass>> folds;
  for (const Fold& fold : form.folds) {
    TESSERA_TRY(std::vector<FoldClass> classes, fold_classes(fold, form.shape));
    folds.push_back(std::move(classes));
  }
  return Assembly(form, std::move(folds)).run();
}

}  // namespace tessera
