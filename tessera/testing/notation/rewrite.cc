// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/testing/generate.h"
#include "tessera/testing/naive.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::size_t pick(Dice& dice, std::size_t n) { return at(dice.below(static_cast<std::int64_t>(n))); }

void raise_counts(Fold& fold, const Shape& shape) {
  const std::vector<std::int64_t> needed = naive_needed(fold, shape);
  for (std::size_t k = 0; k < needed.size(); ++k) {
    fold.cuts[k].count = std::max(fold.cuts[k].count, needed[k]);
  }
}

/// floor(v / w) = m·floor(v / wm) + floor((v mod wm) / w): a digit of stride s becomes two, of
/// strides s·m and s.
void split_digit(Dice& dice, Form& form) {
  Fold& fold = form.folds[pick(dice, form.folds.size())];
  const std::size_t k = pick(dice, fold.cuts.size());
  const std::int64_t m = dice.between(2, 4);
  Cut outer = fold.cuts[k];
  outer.width *= m;
  outer.stride *= m;
  outer.count = 0;
  fold.cuts.insert(fold.cuts.begin() + static_cast<std::ptrdiff_t>(k), outer);
  fold.cuts[k + 1].count = 0;
  const std::vector<std::int64_t> needed = naive_needed(fold, form.shape);
  fold.cuts[k].count = needed[k];
  fold.cuts[k + 1].count = needed[k + 1];
}

/// A width that no value reaches at this position of the chain gives a digit that is always 0.
void insert_zero_digit(Dice& dice, Form& form) {
  Fold& fold = form.folds[pick(dice, form.folds.size())];
  const std::size_t k = pick(dice, fold.cuts.size());
  std::int64_t room = std::max<std::int64_t>(naive_extent(fold, form.shape), 1);
  for (std::size_t l = 0; l < k; ++l) room = std::min(room, fold.cuts[l].width);
  Cut zero;
  zero.width = room + dice.below(4);
  zero.count = naive_extent(fold, form.shape) == 0 ? 0 : 1;
  zero.stride = dice.between(1, 9);
  zero.target = dice.chance(50) ? Target::memory() : Target::nothing();
  fold.cuts.insert(fold.cuts.begin() + static_cast<std::ptrdiff_t>(k), zero);
}

void swap_folds(Dice& dice, Form& form) {
  std::swap(form.folds[pick(dice, form.folds.size())], form.folds[pick(dice, form.folds.size())]);
}

void swap_terms(Dice& dice, Form& form) {
  Fold& fold = form.folds[pick(dice, form.folds.size())];
  if (fold.terms.empty()) return;
  std::swap(fold.terms[pick(dice, fold.terms.size())], fold.terms[pick(dice, fold.terms.size())]);
}

bool share_dims(const Fold& a, const Fold& b) {
  return std::any_of(a.terms.begin(), a.terms.end(), [&](const Term& x) {
    return std::any_of(b.terms.begin(), b.terms.end(),
                       [&](const Term& y) { return x.dim == y.dim; });
  });
}

/// With q < a: (a·p + q) div (a·w) = p div w and (a·p + q) mod (a·w) = a·(p mod w) + q. So the
/// lines p and q make one line a·p + q, cut by a times the widths of p and then by those of q.
void join_folds(Dice& dice, Form& form) {
  const std::size_t i = pick(dice, form.folds.size());
  const std::size_t j = pick(dice, form.folds.size());
  if (i == j || share_dims(form.folds[i], form.folds[j])) return;
  Fold joined = form.folds[i];
  const Fold& inner = form.folds[j];
  const std::int64_t inner_extent = naive_extent(inner, form.shape);
  if (inner_extent == 0 || naive_extent(joined, form.shape) == 0) return;
  const std::int64_t a = inner_extent + (dice.chance(30) ? dice.between(1, 3) : 0);
  if (naive_extent(joined, form.shape) > 100000 / a) return;
  for (Term& term : joined.terms) term.coef *= a;
  joined.start = joined.start * a + inner.start;
  for (Cut& cut : joined.cuts) cut.width *= a;
  joined.terms.insert(joined.terms.end(), inner.terms.begin(), inner.terms.end());
  joined.cuts.insert(joined.cuts.end(), inner.cuts.begin(), inner.cuts.end());
  raise_counts(joined, form.shape);
  form.folds[i] = joined;
  form.folds.erase(form.folds.begin() + static_cast<std::ptrdiff_t>(j));
}

/// Slots of the offset become a synthetic fold whose line is the single point k.
void move_offset(Dice& dice, Form& form) {
  if (form.offset == 0) return;
  const std::int64_t k = dice.between(1, form.offset);
  form.offset -= k;
  Fold constant;
  constant.start = k;
  constant.cuts.push_back(Cut{1, k + 1, Target::memory(), 1, Cause::kSynthetic});
  form.folds.push_back(constant);
}

/// n copies s apart are m times n/m copies.
void split_fill(Dice& dice, Form& form) {
  if (form.fills.empty()) return;
  const std::size_t i = pick(dice, form.fills.size());
  Fill& fill = form.fills[i];
  if (fill.kind == Fill::Kind::kFixed) {
    if (fill.value == 0) return;
    Fill rest = fill;
    rest.value = dice.below(fill.value + 1);
    fill.value -= rest.value;
    form.fills.push_back(rest);
    return;
  }
  for (const std::int64_t m : {2, 3}) {
    if (fill.count % m != 0 || fill.count == m) continue;
    Fill inner = fill;
    inner.count = m;
    fill.count /= m;
    fill.stride *= m;
    form.fills.push_back(inner);
    return;
  }
}

/// New digits may reach past the end of the mesh: enlarge it until they fit.
void fit_mesh(Form& form) {
  std::vector<std::int64_t> last(form.mesh.rank(), 0);
  for (const Fold& fold : form.folds) {
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_mesh() && cut.count > 0) {
        last[at(cut.target.axis())] += (cut.count - 1) * cut.stride;
      }
    }
  }
  for (const Fill& fill : form.fills) {
    last[at(fill.axis)] +=
        fill.kind == Fill::Kind::kFixed ? fill.value : (fill.count - 1) * fill.stride;
  }
  std::vector<std::int64_t> extents = form.mesh.extents();
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    extents[axis] = std::max(extents[axis], last[axis] + 1);
  }
  form.mesh = *Shape::make(extents);
}

}  // namespace

Form rewrite(Dice& dice, Form form) {
  using Step = void (*)(Dice&, Form&);
  constexpr Step kSteps[] = {split_digit, insert_zero_digit, swap_folds,  swap_terms,
                             join_folds,  join_folds,        move_offset, split_fill};
  const std::int64_t steps = dice.between(1, 6);
  for (std::int64_t i = 0; i < steps && !form.folds.empty(); ++i) kSteps[dice.below(8)](dice, form);
  fit_mesh(form);
  return form;
}

Form perturb(Dice& dice, const Form& form) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    Form other = form;
    if (dice.chance(15)) other.offset += 1;
    if (dice.chance(10) && !other.fills.empty()) {
      Fill& fill = other.fills[pick(dice, other.fills.size())];
      if (dice.chance(50)) fill.count += 1;
      if (dice.chance(30)) fill.value = fill.value > 0 ? fill.value - 1 : 1;
      if (dice.chance(30)) fill.kind = static_cast<Fill::Kind>(dice.below(3));
    }
    if (!other.folds.empty()) {
      Fold& fold = other.folds[pick(dice, other.folds.size())];
      Cut& cut = fold.cuts[pick(dice, fold.cuts.size())];
      switch (dice.below(5)) {
        case 0:
          cut.stride += dice.chance(50) ? 1 : -1;
          break;
        case 1:
          cut.width += cut.width > 1 ? (dice.chance(50) ? 1 : -1) : 0;
          break;
        case 2:
          fold.start += 1;
          break;
        case 3:
          std::swap(cut, fold.cuts[pick(dice, fold.cuts.size())]);
          break;
        default:
          if (!fold.terms.empty()) fold.terms[pick(dice, fold.terms.size())].coef += 1;
      }
      if (fold.cuts.back().width == 1 && cut.width > 0) raise_counts(fold, other.shape);
    }
    if (other.check().ok()) return other;
  }
  return form;
}

}  // namespace tessera::test
