// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/work_map.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/form.h"

namespace tessera::ops {
namespace {

/// The same places, without what memory adds.
Form places_of(Form form) {
  for (Fold& fold : form.folds) {
    for (Cut& cut : fold.cuts) {
      if (cut.target.is_memory()) cut.target = Target::nothing();
    }
  }
  form.offset = 0;
  return form;
}

Result<Shape> extents_of(const std::vector<Range>& ranges) {
  std::vector<std::int64_t> extents;
  for (const Range& range : ranges) {
    extents.push_back(std::max<std::int64_t>(range.to - range.from, 0));
  }
  return Shape::make(std::move(extents));
}

Status add_term(std::vector<Term>& terms, int dim, Checked coef) {
  TESSERA_TRY(const std::int64_t number, coef.value("a coefficient"));
  const auto found = std::ranges::find(terms, dim, &Term::dim);
  if (found == terms.end()) {
    if (number != 0) terms.push_back({dim, number});
    return ok_status();
  }
  TESSERA_TRY(found->coef, (Checked(found->coef) + number).value("a coefficient"));
  if (found->coef == 0) terms.erase(found);
  return ok_status();
}

/// A fold over dims that are sums of factors is a fold over factors.
Result<Fold> substituted(const Fold& fold, const std::vector<DimAccess>& dims,
                         const std::vector<Range>& ranges) {
  Fold out;
  out.cuts = fold.cuts;
  Checked start(fold.start);
  for (const Term& term : fold.terms) {
    const DimAccess& dim = dims[static_cast<std::size_t>(term.dim)];
    start += Checked(term.coef) * dim.start;
    for (const Term& of_factor : dim.terms) {
      const Checked coef = Checked(term.coef) * of_factor.coef;
      start += coef * ranges[static_cast<std::size_t>(of_factor.dim)].from;
      TESSERA_CHECK_OK(add_term(out.terms, of_factor.dim, coef));
    }
  }
  TESSERA_TRY(out.start, start.value("the start of a fold"));
  std::ranges::sort(out.terms, {}, &Term::dim);
  return out;
}

}  // namespace

Result<WorkMap> WorkMap::make(const Loops& loops, Form form) {
  TESSERA_TRY(const Shape iterations, loops.iterations());
  if (!(form.shape == iterations)) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("the work map is over ", bracketed(form.shape.extents()),
                     ", but the factors are ", bracketed(iterations.extents()))};
  }
  TESSERA_CHECK_OK(form.check());
  for (const Fold& fold : form.folds) {
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_memory()) {
        return Error{ErrorCode::kBadFold, "a work map has a digit in memory", std::nullopt,
                     "digits of a work map are on mesh axes or nowhere"};
      }
    }
  }
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kPartial) {
      return Error{ErrorCode::kBadFill, cat("mesh axis ", fill.axis, " of a work map is partial"),
                   std::nullopt, "work is repeated (replicated) or fixed"};
    }
  }
  TESSERA_TRY(const Lines lines, canonical(form));
  for (const Line& line : lines.lines) {
    for (const Term& term : line.terms) {
      const Factor& factor = loops.factors[static_cast<std::size_t>(term.dim)];
      if (factor.kind == FactorKind::kWhole) {
        return Error{ErrorCode::kNotSupported,
                     cat("factor ", factor.name, " (", factor.extent,
                         ") is divided over places, but must stay whole"),
                     std::nullopt, "divide another factor, or decompose the op"};
      }
    }
  }
  return WorkMap(std::move(form));
}

Result<WorkMap> WorkMap::repeated(const Loops& loops, const Shape& mesh) {
  Form form;
  TESSERA_TRY(form.shape, loops.iterations());
  form.mesh = mesh;
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    form.fills.push_back(Fill::replicate(static_cast<int>(axis), mesh[axis]));
  }
  return make(loops, std::move(form));
}

Result<Form> pull_back(const Form& form, const Access& access, const std::vector<Range>& ranges) {
  Form out;
  TESSERA_TRY(out.shape, extents_of(ranges));
  out.mesh = form.mesh;
  out.fills = form.fills;
  out.offset = form.offset;
  for (const Fold& fold : form.folds) {
    TESSERA_TRY(Fold made, substituted(fold, access.dims, ranges));
    out.folds.push_back(std::move(made));
  }
  return out;
}

Result<Form> restrict_to(const Form& form, const std::vector<Range>& ranges) {
  Access same;
  for (std::size_t f = 0; f < ranges.size(); ++f) same.dims.push_back(at(static_cast<int>(f)));
  return pull_back(form, same, ranges);
}

namespace {

/// Places the digit of a line, which moves `move` in row-major number per unit and has `count`
/// values, on mesh axes. Where it runs over several axes it is cut at their boundaries; the outer
/// parts come first.
Status place_digit(const Shape& mesh, std::int64_t width, std::int64_t move, std::int64_t count,
                   std::vector<Cut>& cuts) {
  const std::vector<std::int64_t> strides = mesh.row_major_strides();
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    if (mesh[axis] <= 1 || move < strides[axis] || move % strides[axis] != 0) continue;
    const std::int64_t stride = move / strides[axis];
    const std::int64_t room = ceil_div(mesh[axis], stride);
    if (count <= room) {
      cuts.push_back({width, count, Target::mesh(static_cast<int>(axis)), stride, Cause::kGrid});
      return ok_status();
    }
    if (axis == 0 || mesh[axis] % stride != 0) break;
    TESSERA_TRY(const std::int64_t outer, (Checked(width) * room).value("a width"));
    TESSERA_CHECK_OK(place_digit(mesh, outer, move * room, ceil_div(count, room), cuts));
    cuts.push_back({width, room, Target::mesh(static_cast<int>(axis)), stride, Cause::kGrid});
    return ok_status();
  }
  return Error{ErrorCode::kNotSupported, cat("a digit that moves ", move,
                                             " places at a time does not follow the axes of the ",
                                             mesh.to_string(), " mesh")};
}

/// Two blocks of which the first is shorter, because the line begins inside it, are two blocks of
/// the shorter width that begin with the line, if the second is not longer than that.
/// Example: (x + 1) div 4 of x < 5 is x div 3.
void begin_at_zero(const Shape& shape, Fold& fold) {
  if (fold.start <= 0 || fold.needed(shape)[0] != 2 || fold.first(shape) != fold.start) return;
  const std::int64_t length = fold.extent(shape) - fold.start;
  const std::int64_t first = fold.cuts[0].width - fold.start;
  if (first <= 0 || length > 2 * first) return;
  fold.start = 0;
  fold.cuts[0].width = first;
}

}  // namespace

Result<Form> simplified_places(const Form& form) {
  TESSERA_TRY(const Lines lines, canonical(places_of(form)));
  Form out;
  out.shape = form.shape;
  out.mesh = form.mesh;
  std::vector<bool> driven(form.mesh.rank());
  for (const Line& line : lines.lines) {
    Fold fold;
    fold.terms = line.terms;
    fold.start = line.start;
    std::ranges::sort(fold.terms, {}, &Term::dim);
    // Widths alone decide how many values a digit needs.
    for (const LineCut& cut : line.cuts) fold.cuts.push_back({cut.width, 1, Target::nothing()});
    const bool only_first_moves =
        !line.cuts.empty() && std::all_of(line.cuts.begin() + 1, line.cuts.end(),
                                          [](const LineCut& cut) { return cut.move.place == 0; });
    if (only_first_moves && !form.shape.empty()) begin_at_zero(form.shape, fold);
    std::vector<LineCut> cuts = line.cuts;
    if (!cuts.empty()) cuts[0].width = fold.cuts[0].width;
    if (cuts.size() > 1 && cuts[0].width <= cuts[1].width) {  // of blocks that became shorter
      cuts.resize(1);
      fold.cuts.resize(1);
    }
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    fold.cuts.clear();
    for (std::size_t k = 0; k < cuts.size(); ++k) {
      const LineCut& cut = cuts[k];
      const std::int64_t count = std::max<std::int64_t>(needed[k], 1);
      if (cut.move.place == 0) {
        fold.cuts.push_back({cut.width, count, Target::nothing()});
        continue;
      }
      if (cut.move.place < 0) {
        return Error{ErrorCode::kNotSupported, "a factor runs backwards over the mesh"};
      }
      TESSERA_CHECK_OK(place_digit(form.mesh, cut.width, cut.move.place, count, fold.cuts));
    }
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_mesh()) driven[static_cast<std::size_t>(cut.target.axis())] = true;
    }
    if (fold.cuts.empty() || fold.cuts.back().width != 1) {
      fold.cuts.push_back({1, 1, Target::nothing()});
    }
    out.folds.push_back(std::move(fold));
  }
  // Replicas and shares keep their axes; what remains of the base is a fixed coordinate.
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed) continue;
    out.fills.push_back(fill);
    if (fill.count > 1) driven[static_cast<std::size_t>(fill.axis)] = true;
  }
  const Place base =
      form.mesh.empty() ? Place(form.mesh.rank()) : form.mesh.delinear(lines.base.place);
  for (std::size_t axis = 0; axis < base.size(); ++axis) {
    if (base[axis] != 0 || (!driven[axis] && form.mesh[axis] > 1)) {
      out.fills.push_back(Fill::fixed(static_cast<int>(axis), base[axis]));
    }
  }
  std::erase_if(out.fills, [](const Fill& fill) {
    return fill.kind != Fill::Kind::kFixed && fill.count == 1;
  });
  TESSERA_CHECK_OK(out.check());
  return out;
}

}  // namespace tessera::ops
