// SPDX-License-Identifier: Apache-2.0
#include "tools/show/show_facts.h"

#include <algorithm>
#include <map>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/layout/slots/slot_list.h"
#include "tessera/layout/waste.h"
#include "tools/terminal/sharing.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

std::int64_t atoms_along(const Fold& fold, std::int64_t tile_extent) {
  Checked slots = 1;
  for (const Cut& cut : fold.cuts) {
    if (cut.target.is_memory()) slots *= cut.count;
  }
  return ceil_div(slots.saturated(), tile_extent);
}

/// One past the largest coordinate on `axis` that holds data, counted digit by digit.
std::int64_t used_extent(const Form& form, int axis) {
  Checked reach = 1;
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Cut& cut = fold.cuts[k];
      if (!cut.target.is_mesh() || cut.target.axis() != axis || needed[k] == 0) continue;
      reach += Checked(needed[k] - 1) * cut.stride;
    }
  }
  for (const Fill& fill : form.fills) {
    if (fill.axis != axis) continue;
    reach += fill.kind == Fill::Kind::kFixed ? Checked(fill.value)
                                             : Checked(fill.count - 1) * fill.stride;
  }
  return reach.saturated();
}

/// Elements on all places, including replicas.
Checked held_elements(const Placement& placement) {
  Checked held = 0;
  for (const FormPiece& piece : form_pieces(placement)) {
    held += Checked(piece.box.elements()) * piece.form->replicas();
  }
  return held;
}

/// How many slots are empty, and why. Causes may take a part of the question's budget; pieces are
/// listed, up to 2^20 slots.
void count_padding(const Placement& placement, ShowFacts& facts) {
  constexpr std::int64_t kMostSlots = std::int64_t{1} << 20;
  const Work part(kQuestionSteps / 2);
  const Checked slots = Checked(placement.slots()) * placement.places();
  if (const View* view = placement.view()) {
    const Result<std::int64_t> used = used_slots(view->form());
    if (!used) return;
    PaddingCount count;  // slots that no element reaches are gaps
    count.total = (slots - *used).saturated();
    count.by_cause[static_cast<std::size_t>(Cause::kGap)] = count.total;
    facts.padding = count;
    facts.padding_elements = count.total;
    return;
  }
  // Exact without determining causes: no two elements share a slot, so the rest is padding.
  facts.padding_elements = (slots - held_elements(placement)).saturated();
  if (const Layout* layout = placement.layout()) {
    if (Result<PaddingCount> count = padding(*layout)) facts.padding = *count;
    return;
  }
  if (Result<SlotList> list = SlotList::make(placement, kMostSlots)) {
    facts.padding = list->padding();
  }
}

/// Two elements in one slot come first: everything else may follow from a typo.
void find_shared_slot(const Placement& placement, ShowFacts& facts) {
  const Result<std::optional<SharedSlot>> shared = shared_slot(placement);
  if (!shared) {
    facts.warnings.push_back(
        {"sharing_unknown", "whether elements share a slot would take too long to find"});
  } else if (*shared) {
    facts.shared_slot = *shared;
    facts.warnings.push_back({"shared_slot", sharing_sentence(placement, **shared)});
  }
}

void add_warnings(const Placement& placement, ShowFacts& facts) {
  const Waste waste{(Checked(placement.slots()) * placement.places()).saturated(),
                    held_elements(placement).saturated()};
  if (waste.needed > 0 && waste.allocated / 2 >= waste.needed) {
    facts.warnings.push_back({"waste", cat("allocates ", waste.factor_text(), " times the data")});
  }
  std::int64_t empty = 0;
  for (const PlaceClass& c : facts.classes.value_or(std::vector<PlaceClass>{})) {
    if (c.elements == 0) empty += c.places;
  }
  if (empty > 0) {
    facts.warnings.push_back(
        {"empty_places", cat(count_of(empty, "place"), " of ", placement.places(), " hold",
                             empty == 1 ? "s" : "", " no data")});
  }
  if (!placement.shape().empty() && placement.pieces() == nullptr) {
    const Form& form = *form_pieces(placement).front().form;
    for (std::size_t axis = 0; axis < placement.mesh().rank(); ++axis) {
      const std::int64_t used = used_extent(form, static_cast<int>(axis));
      if (used >= placement.mesh()[axis]) continue;
      facts.warnings.push_back(
          {"mesh_larger_than_used", cat("mesh axis ", axis, " is ", placement.mesh()[axis],
                                        " long, but data use only ", used, " of it")});
    }
  }
  if (!facts.padding) {
    facts.warnings.push_back(
        {"padding_uncounted", "the causes of the padding would take too long to count"});
  }
}

}  // namespace

std::int64_t points_on_first_place(const Fold& fold, std::int64_t extent) {
  // Lengths of the remaining pieces of the line, and how many pieces of that length there are. Each
  // cut adds at most one length, so this stays small for lines of any length.
  std::map<std::int64_t, std::int64_t> pieces = {{extent, 1}};
  for (const Cut& cut : fold.cuts) {
    std::map<std::int64_t, std::int64_t> next;
    for (const auto& [length, count] : pieces) {
      if (cut.target.is_mesh()) {
        next[std::min(length, cut.width)] += count;
        continue;
      }
      if (length >= cut.width) next[cut.width] += length / cut.width * count;
      if (length % cut.width > 0) next[length % cut.width] += count;
    }
    pieces = std::move(next);
  }
  std::int64_t points = 0;
  for (const auto& [length, count] : pieces) points += length * count;
  return points;
}

ShowFacts facts_of(const Placement& placement) {
  ShowFacts facts;
  const Form& first = *form_pieces(placement).front().form;
  const std::vector<Fold>& folds = first.folds;
  for (std::size_t i = 0; i < folds.size(); ++i) {
    const std::int64_t extent = folds[i].extent(first.shape);
    facts.folded_shape.push_back(extent);
    facts.shard_shape.push_back(points_on_first_place(folds[i], extent));
    const std::size_t from_end = folds.size() - i;
    facts.atoms_shape.push_back(atoms_along(folds[i], from_end == 1   ? placement.atom().cols
                                                      : from_end == 2 ? placement.atom().rows
                                                                      : 1));
  }
  const std::int64_t elements = placement.shape().elements();
  facts.logical_bytes = dtype_bytes(placement.atom().storage, elements).value_or(INT64_MAX);
  find_shared_slot(placement, facts);
  count_padding(placement, facts);
  const Work part(kQuestionSteps / 4);
  if (const Layout* layout = placement.layout()) {
    if (Result<std::vector<PlaceClass>> classes = place_classes(*layout)) facts.classes = *classes;
  }
  add_warnings(placement, facts);
  return facts;
}

}  // namespace tessera::tools
