// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/algebra/merge_dims.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/layout/form.h"

namespace tessera {
namespace {

Error leaves_form(int dim, std::string_view why) {
  return Error{ErrorCode::kViewLeavesForm,
               cat("dims ", dim, " and ", dim + 1, " cannot be merged: ", why), std::nullopt,
               "copy into a layout of the required shape instead"};
}

std::int64_t coef_of(const Fold& fold, int dim) {
  for (const Term& term : fold.terms) {
    if (term.dim == dim) return term.coef;
  }
  return 0;
}

/// The number of elements does not change, so the shape is always valid.
Shape merged_shape(const Shape& shape, int dim) {
  std::vector<std::int64_t> extents = shape.extents();
  extents[static_cast<std::size_t>(dim)] *= extents[static_cast<std::size_t>(dim) + 1];
  extents.erase(extents.begin() + dim + 1);
  return *Shape::make(std::move(extents));
}

void set_needed_counts(Form& form) {
  for (Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) fold.cuts[k].count = needed[k];
  }
}

/// Converts canonical lines to folds: one fold for each target of a line's digits.
std::optional<Form> form_of(const Lines& lines, const Form& like) {
  Form form;
  form.shape = lines.shape;
  form.mesh = lines.mesh;
  const std::vector<std::int64_t> strides = lines.mesh.row_major_strides();
  Position base = lines.base;
  for (const Line& line : lines.lines) {
    Fold fold{line.terms, line.start, {}};
    bool backwards = false;
    for (const LineCut& cut : line.cuts) {
      backwards = backwards || cut.move.slot < 0 || cut.move.place < 0;
    }
    Line forward = line;
    if (backwards) {
      if (line.cuts.size() != 1 || line.terms.size() != 1 || line.cuts[0].move.slot > 0 ||
          line.cuts[0].move.place > 0) {
        return std::nullopt;
      }
      const std::int64_t last = lines.shape[static_cast<std::size_t>(line.terms[0].dim)] - 1;
      fold.terms[0].coef = -1;
      fold.start = last;
      base += line.cuts[0].move * last;
      forward.cuts[0].move = line.cuts[0].move * -1;
    }
    std::vector<Target> homes;
    const auto part = [&](const Position& move, Target home) {
      if (home.is_memory()) return move.slot;
      const auto axis = static_cast<std::size_t>(home.axis());
      return move.place / strides[axis] % lines.mesh[axis];
    };
    std::vector<Target> all = {Target::memory()};
    for (int axis = 0; axis < static_cast<int>(lines.mesh.rank()); ++axis) {
      all.push_back(Target::mesh(axis));
    }
    bool one_home_each = true;
    for (const LineCut& cut : forward.cuts) {
      const auto used = std::count_if(all.begin(), all.end(),
                                      [&](Target home) { return part(cut.move, home) != 0; });
      one_home_each = one_home_each && used <= 1;
    }
    for (const Target home : all) {
      Fold own = fold;
      bool any = false;
      for (const LineCut& cut : forward.cuts) {
        Target target = Target::nothing();
        std::int64_t stride = 1;
        for (const Target candidate : all) {
          const bool mine = one_home_each || candidate == home;
          if (mine && part(cut.move, candidate) != 0) {
            target = candidate;
            stride = part(cut.move, candidate);
            any = true;
          }
        }
        own.cuts.push_back({cut.width, 1, target, stride, default_cause(true, target)});
      }
      if (any) form.folds.push_back(std::move(own));
      if (one_home_each) break;
    }
  }
  form.offset = base.slot;
  for (const Fill& fill : like.fills) {
    if (fill.kind != Fill::Kind::kFixed) form.fills.push_back(fill);
  }
  for (std::size_t axis = 0; axis < lines.mesh.rank(); ++axis) {
    const std::int64_t value = base.place / strides[axis] % lines.mesh[axis];
    form.fills.push_back(Fill::fixed(static_cast<int>(axis), value));
  }
  if (base.slot < 0 || base.place < 0) return std::nullopt;
  set_needed_counts(form);
  if (!form.check().ok()) return std::nullopt;
  return form;
}

/// Removes dim `gone` from the terms and moves later dims up.
void drop_dim(Form& form, int gone) {
  for (Fold& fold : form.folds) {
    std::erase_if(fold.terms, [&](const Term& term) { return term.dim == gone; });
    for (Term& term : fold.terms) {
      if (term.dim > gone) --term.dim;
    }
  }
}

bool is_tied(const Form& form, int dim) {
  return std::any_of(form.folds.begin(), form.folds.end(), [&](const Fold& fold) {
    return coef_of(fold, dim) != 0 && fold.terms.size() > 1;
  });
}

/// Converts chains of x1 and x2, each the only dim of its folds, to chains of x = n2·x1 + x2.
Result<Form> continue_chains(const Form& form, int dim) {
  const std::int64_t n1 = form.shape[static_cast<std::size_t>(dim)];
  const std::int64_t n2 = form.shape[static_cast<std::size_t>(dim) + 1];
  Form result = form;
  result.folds.clear();
  std::vector<Fold> high;
  std::vector<Fold> low;
  bool forwards = false;
  bool backwards = false;
  for (const Fold& fold : form.folds) {
    const std::int64_t c1 = coef_of(fold, dim);
    const std::int64_t c2 = coef_of(fold, dim + 1);
    if (c1 == 0 && c2 == 0) {
      result.folds.push_back(fold);
      continue;
    }
    const std::int64_t coef = c1 != 0 ? c1 : c2;
    if (coef != 1 && coef != -1) return leaves_form(dim, "a cut falls between steps of the dim");
    (coef > 0 ? forwards : backwards) = true;
    Fold part = fold;
    if (coef < 0) part.start -= (c1 != 0 ? n1 : n2) - 1;  // counted from the other end
    (c1 != 0 ? high : low).push_back(std::move(part));
  }
  if (forwards && backwards) return leaves_form(dim, "one of them runs backwards");
  for (const Fold& fold : low) {
    if (fold.start != 0) return leaves_form(dim, "the inner one starts inside a piece");
  }
  const auto joined = [&](const Fold* outer, const Fold* inner) {
    Fold fold;
    const std::int64_t start = outer != nullptr ? outer->start * n2 : 0;
    fold.terms = {Term{dim, backwards ? -1 : 1}};
    fold.start = backwards ? start + n1 * n2 - 1 : start;
    if (outer != nullptr) {
      for (Cut cut : outer->cuts) {
        cut.width *= n2;
        fold.cuts.push_back(cut);
      }
    } else {
      fold.cuts.push_back({n2, n1, Target::nothing(), 1, Cause::kAlignment});
    }
    if (inner != nullptr) {
      fold.cuts.insert(fold.cuts.end(), inner->cuts.begin(), inner->cuts.end());
    } else {
      fold.cuts.push_back({1, n2, Target::nothing(), 1, Cause::kAlignment});
    }
    return fold;
  };
  std::vector<Fold> chains;
  if (high.size() <= 1 && low.size() <= 1) {
    if (!high.empty() || !low.empty()) {
      chains.push_back(joined(high.empty() ? nullptr : &high[0], low.empty() ? nullptr : &low[0]));
    }
  } else {
    for (const Fold& fold : high) chains.push_back(joined(&fold, nullptr));
    for (const Fold& fold : low) chains.push_back(joined(nullptr, &fold));
  }
  drop_dim(result, dim + 1);
  result.shape = merged_shape(form.shape, dim);
  result.folds.insert(result.folds.end(), chains.begin(), chains.end());
  set_needed_counts(result);
  TESSERA_CHECK_OK(result.check());
  return result;
}

}  // namespace

std::optional<Form> join_dims(const Form& form, int dim) {
  const auto d = static_cast<std::size_t>(dim);
  const std::int64_t n1 = form.shape[d];
  const std::int64_t n2 = form.shape[d + 1];
  for (const Fold& fold : form.folds) {
    const Checked wanted = Checked(coef_of(fold, dim + 1)) * n2;
    const bool joins = wanted.overflowed() ? false : coef_of(fold, dim) == wanted.raw();
    if (n1 > 1 && n2 > 1 && !joins) return std::nullopt;
  }
  Form result = form;
  for (Fold& fold : result.folds) {
    const std::int64_t coef = n2 > 1 ? coef_of(fold, dim + 1) : coef_of(fold, dim);
    std::erase_if(fold.terms,
                  [&](const Term& term) { return term.dim == dim || term.dim == dim + 1; });
    for (Term& term : fold.terms) {
      if (term.dim > dim) --term.dim;
    }
    if (coef != 0) fold.terms.push_back({dim, coef});
  }
  result.shape = merged_shape(form.shape, dim);
  return result;
}

Result<Form> merge_dims(const Form& form, int dim) {
  if (form.shape.empty()) {
    Form result = form;
    drop_dim(result, dim + 1);
    result.shape = merged_shape(form.shape, dim);
    return result;
  }
  if (std::optional<Form> joined = join_dims(form, dim)) return *std::move(joined);
  TESSERA_TRY(const Lines lines, canonical(form));
  const std::optional<Form> separate = form_of(lines, form);
  if (!separate) return leaves_form(dim, "their folds cannot be separated");
  if (std::optional<Form> joined = join_dims(*separate, dim)) return *std::move(joined);
  if (is_tied(*separate, dim) || is_tied(*separate, dim + 1)) {
    return leaves_form(dim, "a fold ties one of them to another dim, and is cut across both");
  }
  return continue_chains(*separate, dim);
}

}  // namespace tessera
