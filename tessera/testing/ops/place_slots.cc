// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/ops/place_slots.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/testing/graph/naive_eval.h"

namespace tessera::test {
namespace {

/// The coordinate at which the digits of a fold must be; empty if another fold or replicas are on
/// the axis too.
std::optional<std::int64_t> digits_at(const Form& form, const Fold& fold, std::size_t axis,
                                      const Place& place) {
  std::int64_t coordinate = place[axis];
  for (const Fill& fill : form.fills) {
    if (fill.axis != static_cast<int>(axis)) continue;
    if (fill.kind != Fill::Kind::kFixed && fill.count > 1) return std::nullopt;
    coordinate -= fill.value;
  }
  for (const Fold& other : form.folds) {
    if (&other == &fold) continue;
    for (const Cut& cut : other.cuts) {
      if (cut.target == Target::mesh(static_cast<int>(axis)) && cut.count > 1) return std::nullopt;
    }
  }
  return coordinate;
}

/// The settings of a fold over one dim; empty if they depend on other folds or are not in memory.
std::optional<DimSlots> slots_of_fold(const Form& form, const Fold& fold, const Place& place) {
  std::map<std::size_t, std::int64_t> wanted;  // per mesh axis
  std::vector<std::int64_t> counts;
  for (const Cut& cut : fold.cuts) {
    counts.push_back(cut.count);
    if (cut.target.is_nothing() && cut.count > 1) return std::nullopt;
    if (!cut.target.is_mesh() || cut.count <= 1) continue;
    const auto axis = static_cast<std::size_t>(cut.target.axis());
    const std::optional<std::int64_t> at = digits_at(form, fold, axis, place);
    if (!at) return std::nullopt;
    wanted[axis] = *at;
  }
  const std::int64_t extent = form.shape[static_cast<std::size_t>(fold.terms[0].dim)];
  DimSlots slots;
  each_index(*Shape::make(counts), [&](const Index& digits) {
    std::map<std::size_t, std::int64_t> left = wanted;
    std::int64_t slot = 0;
    std::int64_t below = 0;  // the line of the digits further in
    bool is_point = true;
    for (std::size_t k = digits.size(); k-- > 0;) {
      const Cut& cut = fold.cuts[k];
      if (k > 0 && below + digits[k] * cut.width >= fold.cuts[k - 1].width) is_point = false;
      below += digits[k] * cut.width;
      if (cut.target.is_memory()) slot += digits[k] * cut.stride;
      if (cut.target.is_mesh() && cut.count > 1) {
        left[static_cast<std::size_t>(cut.target.axis())] -= digits[k] * cut.stride;
      }
    }
    for (const auto& [axis, rest] : left) {
      if (rest != 0) return;
    }
    const std::int64_t x = below - fold.start;
    if (is_point && x >= 0 && x < extent) {
      slots.elements[x] = slot;
    } else {
      slots.padding.push_back(slot);
    }
  });
  return slots;
}

}  // namespace

std::vector<DimSlots> slots_of_dims(const Layout& layout, const Place& place) {
  const Form& form = layout.form();
  std::vector<std::optional<DimSlots>> dims(form.shape.rank());
  for (const Fold& fold : form.folds) {
    if (fold.terms.size() != 1 || fold.terms[0].coef != 1) return {};
    std::optional<DimSlots>& dim = dims[static_cast<std::size_t>(fold.terms[0].dim)];
    if (dim) return {};
    dim = slots_of_fold(form, fold, place);
    if (!dim) return {};
  }
  std::vector<DimSlots> slots;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!dims[d] && form.shape[d] != 1) return {};
    slots.push_back(dims[d] ? *std::move(dims[d]) : DimSlots{{{0, 0}}, {}});
  }
  return slots;
}

std::string through_memory(const Layout& layout, const Place& place, NaiveTensor& padded) {
  const std::vector<DimSlots> dims = slots_of_dims(layout, place);
  if (dims.size() != layout.shape().rank()) return "";
  // Per dim the indices of the padded tensor, and how far they move the slot.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> moves;
  std::vector<std::int64_t> counts;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    auto& list = moves.emplace_back(dims[d].elements.begin(), dims[d].elements.end());
    std::int64_t next = layout.shape()[d];
    for (const std::int64_t slot : dims[d].padding) list.emplace_back(next++, slot);
    counts.push_back(static_cast<std::int64_t>(list.size()));
  }
  const Shape& shape = padded.type.shape;
  std::map<std::int64_t, Index> elements;  // by slot
  std::map<std::int64_t, long double> memory;
  std::string wrong;
  each_index(*Shape::make(counts), [&](const Index& at) {
    Index y;
    std::int64_t slot = layout.form().offset;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const auto& [index, move] = moves[d][static_cast<std::size_t>(at[d])];
      y.push_back(index);
      slot += move;
    }
    if (slot < 0 || slot >= layout.slots()) wrong = cat("slot ", slot, " of ", layout.slots());
    if (layout.shape().contains(y)) {
      Place first;
      layout.form().evaluate(y, first, slot);
      elements[slot] = y;
    }
    const bool is_read = shape.contains(y);
    const bool is_new =
        memory
            .emplace(slot, is_read ? padded.elements[static_cast<std::size_t>(row_major(shape, y))]
                                   : static_cast<long double>(NAN))
            .second;
    if (!is_new) wrong = cat("slot ", slot, " of place ", bracketed(place), " is used twice");
  });
  for (const auto& [slot, x] : elements) {
    padded.elements[static_cast<std::size_t>(row_major(shape, x))] = memory[slot];
  }
  return wrong;
}

}  // namespace tessera::test
