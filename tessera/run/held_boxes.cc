// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/held_boxes.h"

#include <algorithm>
#include <utility>

namespace tessera::run {
namespace {

constexpr std::size_t kNone = SIZE_MAX;
/// Longer dims, and dims over more places, are not listed.
constexpr std::int64_t kMostListed = std::int64_t{1} << 22;

/// Calls digit(cut, value) for the digits of a line.
template <typename Digit>
void for_each_digit(const Fold& fold, std::int64_t line, const Digit& digit) {
  for (const Cut& cut : fold.cuts) {
    digit(cut, line / cut.width);
    line %= cut.width;
  }
}

}  // namespace

HeldBoxes::HeldBoxes(const Layout& layout, Slots slots)
    : layout_(layout), with_slots_(slots == Slots::kAsked) {
  is_listed_ = list();
}

/// The fold of each dim; nothing where folds join dims or a dim has several.
std::optional<std::vector<std::size_t>> HeldBoxes::folds_of_dims() const {
  const Form& form = layout_.form();
  std::vector<std::size_t> folds(form.shape.rank(), kNone);
  for (std::size_t f = 0; f < form.folds.size(); ++f) {
    const Fold& fold = form.folds[f];
    if (fold.terms.empty()) continue;
    std::size_t& known = folds[static_cast<std::size_t>(fold.terms.front().dim)];
    if (fold.terms.size() > 1 || known != kNone) return std::nullopt;
    known = f;
  }
  for (std::size_t d = 0; d < folds.size(); ++d) {
    if (folds[d] == kNone && form.shape[d] != 1) return std::nullopt;
  }
  return folds;
}

/// Lists the ranges of all dims. False where dims cannot be told apart, or are too long.
bool HeldBoxes::list() {
  const Form& form = layout_.form();
  const auto folds = folds_of_dims();
  if (!folds || form.shape.elements() == 0) return false;
  base_.assign(form.mesh.rank(), 0);
  is_driven_.assign(form.mesh.rank(), false);
  base_slot_ = form.offset;
  for (std::size_t a = 0; a < form.mesh.rank(); ++a) {
    copies_.push_back(all_offsets(form.fills, static_cast<int>(a)));
  }
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed) base_[static_cast<std::size_t>(fill.axis)] += fill.value;
  }
  for (const Fold& fold : form.folds) {
    if (!fold.terms.empty()) continue;
    for_each_digit(fold, fold.start, [&](const Cut& cut, std::int64_t digit) {
      if (cut.target.is_memory()) base_slot_ += digit * cut.stride;
      if (cut.target.is_mesh()) {
        base_[static_cast<std::size_t>(cut.target.axis())] += digit * cut.stride;
      }
    });
  }
  dims_.resize(form.shape.rank());
  for (std::size_t d = 0; d < dims_.size(); ++d) {
    std::int64_t numbers = 1;
    if ((*folds)[d] != kNone) {
      for (const Cut& cut : form.folds[(*folds)[d]].cuts) {
        if (!cut.target.is_mesh()) continue;
        const auto axis = static_cast<std::size_t>(cut.target.axis());
        if (std::ranges::find(dims_[d].axes, axis) != dims_[d].axes.end()) continue;
        // Another dim, or copies, along the same axis.
        if (is_driven_[axis] || copies_[axis].size() > 1) return false;
        is_driven_[axis] = true;
        dims_[d].axes.push_back(axis);
        dims_[d].strides.push_back(numbers);
        if (__builtin_mul_overflow(numbers, form.mesh[axis], &numbers)) return false;
      }
    }
    if (numbers > kMostListed || form.shape[d] > kMostListed) return false;
    dims_[d].first.assign(static_cast<std::size_t>(numbers) + 1, 0);
    list_dim((*folds)[d] == kNone ? nullptr : &form.folds[(*folds)[d]], d);
  }
  return true;
}

void HeldBoxes::list_dim(const Fold* fold, std::size_t dim) {
  Dim& made = dims_[dim];
  struct Found {
    std::size_t number;
    Range range;
  };
  std::vector<Found> found;
  std::vector<std::size_t> last(made.first.size(), kNone);  // of each number, in `found`
  for (std::int64_t x = 0; x < layout_.form().shape[dim]; ++x) {
    std::int64_t number = 0;
    std::int64_t slot = 0;
    if (fold != nullptr) {
      const std::int64_t line = fold->start + fold->terms.front().coef * x;
      for_each_digit(*fold, line, [&](const Cut& cut, std::int64_t digit) {
        if (cut.target.is_memory()) slot += digit * cut.stride;
        if (!cut.target.is_mesh()) return;
        const auto axis = static_cast<std::size_t>(cut.target.axis());
        const auto at = std::ranges::find(made.axes, axis) - made.axes.begin();
        number += digit * cut.stride * made.strides[static_cast<std::size_t>(at)];
      });
    }
    if (!with_slots_) slot = 0;
    const auto n = static_cast<std::size_t>(number);
    if (last[n] != kNone) {
      Range& range = found[last[n]].range;
      const std::int64_t length = range.to - range.from;
      if (range.to == x && length == 1) range.step = slot - range.slot;
      if (range.to == x && slot == range.slot + length * range.step) {
        ++range.to;
        continue;
      }
      if (length == 1) range.step = 0;
    }
    last[n] = found.size();
    found.push_back({n, {x, x + 1, slot, 0}});
  }
  for (const Found& each : found) ++made.first[each.number + 1];
  for (std::size_t n = 1; n < made.first.size(); ++n) made.first[n] += made.first[n - 1];
  made.ranges.resize(found.size());
  std::vector<std::size_t> next = made.first;
  for (const Found& each : found) made.ranges[next[each.number]++] = each.range;
}

/// False for places on which copies along an axis leave nothing.
bool HeldBoxes::holds_any(const Place& place) const {
  const Form& form = layout_.form();
  for (std::size_t a = 0; a < base_.size(); ++a) {
    const std::int64_t offset = place[a] - base_[a];
    if (is_driven_[a] ? offset < 0 || offset >= form.mesh[a] : !copies_[a].contains(offset)) {
      return false;
    }
  }
  return true;
}

Result<std::vector<LocalBox>> HeldBoxes::at(const Place& place) const {
  if (!is_listed_ && with_slots_) return local_boxes(layout_, place);
  std::vector<LocalBox> boxes;
  const std::size_t rank = layout_.form().shape.rank();
  if (!is_listed_) {
    TESSERA_TRY(const tessera::Tile tile, tile_of(layout_, place));
    for (const Box& box : tile.boxes) {
      if (box.elements() > 0) boxes.push_back({box, 0, std::vector<std::int64_t>(rank, 0)});
    }
    return boxes;
  }
  if (!holds_any(place)) return boxes;
  boxes.emplace_back();
  LocalBox& first = boxes.front();
  first.first = with_slots_ ? base_slot_ : 0;
  first.box.from.resize(rank);
  first.box.to.resize(rank);
  first.steps.resize(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const Dim& dim = dims_[d];
    std::int64_t number = 0;
    for (std::size_t i = 0; i < dim.axes.size(); ++i) {
      number += (place[dim.axes[i]] - base_[dim.axes[i]]) * dim.strides[i];
    }
    const std::size_t from = dim.first[static_cast<std::size_t>(number)];
    const std::size_t to = dim.first[static_cast<std::size_t>(number) + 1];
    if (from == to) return std::vector<LocalBox>{};
    const auto put = [&](LocalBox& box, const Range& range) {
      box.box.from[d] = range.from;
      box.box.to[d] = range.to;
      box.first += range.slot;
      box.steps[d] = range.step;
    };
    // The last dim varies fastest.
    std::vector<LocalBox> product;
    if (to - from > 1) product.reserve(boxes.size() * (to - from));
    for (LocalBox& box : boxes) {
      for (std::size_t r = from; r + 1 < to; ++r) {
        product.push_back(box);
        put(product.back(), dim.ranges[r]);
      }
      put(box, dim.ranges[to - 1]);
      if (to - from > 1) product.push_back(std::move(box));
    }
    if (to - from > 1) boxes = std::move(product);
  }
  return boxes;
}

}  // namespace tessera::run
