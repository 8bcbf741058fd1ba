// SPDX-License-Identifier: Apache-2.0
#include "tools/show_facts.h"

#include <algorithm>
#include <map>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/waste.h"
#include "tools/words.h"

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

void add_warnings(const Layout& layout, ShowFacts& facts) {
  const Waste waste = waste_of(layout);
  if (waste.needed > 0 && waste.allocated / 2 >= waste.needed) {
    facts.warnings.push_back({"waste", cat("allocates ", waste.factor_text(), " times the data")});
  }
  std::int64_t empty = 0;
  for (const PlaceClass& c : facts.classes.value_or(std::vector<PlaceClass>{})) {
    if (c.elements == 0) empty += c.places;
  }
  if (empty > 0) {
    facts.warnings.push_back({"empty_places", cat(count_of(empty, "place"), " of ", layout.places(),
                                                  " hold", empty == 1 ? "s" : "", " no data")});
  }
  if (!layout.shape().empty()) {
    for (std::size_t axis = 0; axis < layout.mesh().rank(); ++axis) {
      const std::int64_t used = used_extent(layout.form(), static_cast<int>(axis));
      if (used >= layout.mesh()[axis]) continue;
      facts.warnings.push_back(
          {"mesh_larger_than_used", cat("mesh axis ", axis, " is ", layout.mesh()[axis],
                                        " long, but data reach only ", used, " of it")});
    }
  }
  if (!facts.padding) {
    facts.warnings.push_back(
        {"padding_uncounted", "the causes of the padding would take too long to count"});
  }
}

}  // namespace

std::int64_t points_on_first_place(const Fold& fold, std::int64_t extent) {
  // Lengths of what is left of the line, and how many pieces of that length there are. Each cut
  // adds at most one length, so this stays small however long the line is.
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

ShowFacts facts_of(const Layout& layout) {
  ShowFacts facts;
  const std::vector<Fold>& folds = layout.form().folds;
  for (std::size_t i = 0; i < folds.size(); ++i) {
    const std::int64_t extent = folds[i].extent(layout.shape());
    facts.folded_shape.push_back(extent);
    facts.shard_shape.push_back(points_on_first_place(folds[i], extent));
    const std::size_t from_end = folds.size() - i;
    facts.atoms_shape.push_back(atoms_along(folds[i], from_end == 1   ? layout.atom().cols
                                                      : from_end == 2 ? layout.atom().rows
                                                                      : 1));
  }
  const std::int64_t elements = layout.shape().elements();
  facts.logical_bytes = dtype_bytes(layout.atom().storage, elements).value_or(INT64_MAX);
  // Exact without looking at causes: a layout is injective, so what holds no element is padding.
  facts.padding_elements =
      (Checked(layout.slots()) * layout.places() - Checked(elements) * layout.form().replicas())
          .saturated();
  if (Result<PaddingCount> count = padding(layout)) facts.padding = *count;
  if (Result<std::vector<PlaceClass>> classes = place_classes(layout)) facts.classes = *classes;
  add_warnings(layout, facts);
  return facts;
}

}  // namespace tessera::tools
