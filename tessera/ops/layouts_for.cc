// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/layouts_for.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/sort_stably.h"
#include "tessera/ops/supply.h"

namespace tessera::ops {
namespace {

bool is_driven(const Fold& fold, const Shape& shape) {
  const std::vector<std::int64_t> needed = fold.needed(shape);
  for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
    if (fold.cuts[k].target.is_mesh() && needed[k] > 1) return true;
  }
  return false;
}

/// The lines of an operand that follow the folds of a work map.
class Follower {
 public:
  Follower(const Loops& loops, const Access& access, const Shape& shape, const WorkMap& work)
      : loops_(loops), access_(access), shape_(shape), work_(work.form()), lines_(shape.rank()) {}

  /// Follows every fold that divides the work. A fold is left out of `refused` ones.
  void follow(const std::vector<bool>& refused) {
    for (std::size_t f = 0; f < work_.folds.size(); ++f) {
      const Fold& fold = work_.folds[f];
      if (!is_driven(fold, work_.shape)) continue;
      if (!touches(fold)) {
        apart_.push_back(f);
      } else if (refused[f] || !(follow_dims(f) || follow_one(f) || follow_joint(f))) {
        lost_.push_back(f);
      }
    }
    for (std::size_t d = 0; d < lines_.size(); ++d) assemble(d);
  }

  const std::vector<std::size_t>& apart() const { return apart_; }  ///< touch no dim
  const std::vector<std::size_t>& lost() const { return lost_; }    ///< cannot be followed

  /// The folds over the operand's dims, without memory.
  std::vector<Fold> folds() const {
    std::vector<Fold> made = joint_;
    for (const Line& line : lines_) {
      if (!line.joint) made.push_back(line.fold);
    }
    sort_stably(made, [](const Fold& a, const Fold& b) { return a.terms[0].dim < b.terms[0].dim; });
    return made;
  }

 private:
  struct Line {
    std::vector<std::size_t> followed;  ///< folds of the work map over one factor of the dim
    bool joint = false;                 ///< the dim is in a fold of `joint_`
    Fold fold;
  };

  std::vector<Term> moving(const DimAccess& dim) const {
    std::vector<Term> terms = dim.terms;
    std::erase_if(terms, [&](const Term& term) {
      return loops_.factors[static_cast<std::size_t>(term.dim)].extent <= 1;
    });
    sort_stably(terms, [](const Term& a, const Term& b) { return a.coef > b.coef; });
    return terms;
  }

  bool touches(const Fold& fold) const {
    return std::ranges::any_of(fold.terms, [&](const Term& term) {
      return work_.shape[static_cast<std::size_t>(term.dim)] > 1 && access_.has(term.dim);
    });
  }

  /// A fold over one factor is followed by the first dim that has the factor.
  bool follow_one(std::size_t f) {
    const Fold& fold = work_.folds[f];
    if (fold.terms.size() != 1 || fold.terms[0].coef != 1) return false;
    const int factor = fold.terms[0].dim;
    for (std::size_t d = 0; d < access_.dims.size(); ++d) {
      const std::vector<Term> terms = moving(access_.dims[d]);
      const auto found = std::ranges::find(terms, factor, &Term::dim);
      if (found == terms.end()) continue;
      if (lines_[d].joint) return false;
      const bool leads = found == terms.begin();
      const bool is_window = window_dim(loops_, access_.dims[d], shape_[d]).has_value();
      if (found->coef < 0 || (is_window && !is_position(d, factor))) return false;
      // What comes before the first cut of a factor is its own start, and the dim's.
      if (!is_window && !leads && fold.start != 0) return false;
      if (!is_window && !(leads ? start_of(d, fold).has_value() : access_.dims[d].start <= 0)) {
        return false;
      }
      for (const std::size_t other : lines_[d].followed) {
        if (work_.folds[other].terms[0].dim == factor) return false;
      }
      lines_[d].followed.push_back(f);
      return true;
    }
    return false;
  }

  bool is_position(std::size_t d, int factor) const {
    return window_dim(loops_, access_.dims[d], shape_[d])->position == factor;
  }

  /// What comes before the dim in the chain of its leading factor. A dim that reaches beyond the
  /// coordinates that work, because only a part of it is read, begins again on the first of them
  /// after `period` elements, so no other place needs to hold a part of it.
  struct Start {
    std::int64_t start = 0;
    std::int64_t period = 0;  ///< 0: the dim ends before that
  };

  /// Nothing for a dim that begins before the first element that the work reads, where that cannot
  /// begin again.
  std::optional<Start> start_of(std::size_t d, const Fold& leading) const {
    const std::int64_t coef = moving(access_.dims[d])[0].coef;
    const Checked start = Checked(leading.start) * coef - access_.dims[d].start;
    const Checked end = start + shape_[d];
    if (start.overflowed() || end.overflowed()) return std::nullopt;
    const Cut& first = leading.cuts.front();
    const Checked period = Checked(first.width) * coef * leading.needed(work_.shape).front();
    const bool repeats = first.target.is_mesh() && !period.overflowed() && period.raw() > 0;
    if (start.raw() >= 0 && (!repeats || end.raw() <= period.raw())) return Start{start.raw(), 0};
    if (!repeats) return std::nullopt;
    return Start{floor_mod(start.raw(), period.raw()), period.raw()};
  }

  /// A fold over several factors, each of which is a dim.
  bool follow_dims(std::size_t f) {
    const Fold& fold = work_.folds[f];
    if (fold.terms.size() < 2) return false;
    Fold made;
    made.start = fold.start;
    made.cuts = fold.cuts;
    for (const Term& term : fold.terms) {
      const auto owner = std::ranges::find_if(access_.dims, [&](const DimAccess& dim) {
        const std::vector<Term> terms = moving(dim);
        return dim.start == 0 && terms.size() == 1 && terms[0].dim == term.dim &&
               terms[0].coef == 1;
      });
      if (owner == access_.dims.end()) return false;
      made.terms.push_back({static_cast<int>(owner - access_.dims.begin()), term.coef});
    }
    std::ranges::sort(made.terms, {}, &Term::dim);
    return join(std::move(made));
  }

  /// Adds a fold over dims that nothing has divided yet.
  bool join(Fold fold) {
    const auto line_of = [&](const Term& term) -> Line& {
      return lines_[static_cast<std::size_t>(term.dim)];
    };
    for (const Term& term : fold.terms) {
      if (line_of(term).joint || !line_of(term).followed.empty()) return false;
    }
    for (const Term& term : fold.terms) line_of(term).joint = true;
    joint_.push_back(std::move(fold));
    return true;
  }

  /// A fold whose line is a multiple of one dim.
  bool follow_joint(std::size_t f) {
    const Fold& fold = work_.folds[f];
    for (std::size_t d = 0; d < access_.dims.size(); ++d) {
      const std::vector<Term> terms = moving(access_.dims[d]);
      if (terms.size() != fold.terms.size() || terms.empty()) continue;
      std::optional<std::int64_t> ratio;
      bool fits = true;
      for (const Term& term : terms) {
        const auto same = std::ranges::find(fold.terms, term.dim, &Term::dim);
        fits = fits && same != fold.terms.end() && same->coef % term.coef == 0 &&
               ratio.value_or(same->coef / term.coef) == same->coef / term.coef;
        if (fits) ratio = same->coef / term.coef;
      }
      if (!fits || *ratio < 1) continue;
      Fold made{{Term{static_cast<int>(d), *ratio}}, 0, fold.cuts};
      const Checked start = Checked(fold.start) - Checked(*ratio) * access_.dims[d].start;
      if (start.overflowed() || start.raw() < 0) return false;
      made.start = start.raw();
      return join(std::move(made));
    }
    return false;
  }

  /// The chain of a dim: the cuts of its factors in the order of their coefficients.
  void assemble(std::size_t d) {
    Fold& fold = lines_[d].fold;
    fold.terms = {Term{static_cast<int>(d), 1}};
    const std::optional<WindowDim> window = window_dim(loops_, access_.dims[d], shape_[d]);
    const std::vector<Term> terms = moving(access_.dims[d]);
    for (const Term& term : terms) {
      const bool follows = !window || term.dim == window->position;
      for (const std::size_t f : lines_[d].followed) {
        const Fold& followed = work_.folds[f];
        if (followed.terms[0].dim != term.dim) continue;
        if (!window && &term == terms.data()) {
          const Start start = start_of(d, followed).value_or(Start{});
          fold.start = start.start;
          if (start.period > 0) {
            fold.cuts.push_back({start.period, 1, Target::nothing(), 1, Cause::kGrid});
          }
        }
        if (window) fold.start = followed.start * window->stride;
        for (const Cut& cut : followed.cuts) {
          Cut made = cut;
          made.width = cut.width * term.coef;
          if (window && &cut == followed.cuts.data() && cut.target.is_mesh()) {
            // As many blocks as before: enough for dims longer than the positions reach.
            made.width = std::max(made.width, ceil_div(shape_[d] + fold.start, cut.count));
          }
          fold.cuts.push_back(made);
        }
      }
      if (lines_[d].followed.empty() || !follows) continue;
      const bool cut_already = !fold.cuts.empty() && fold.cuts.back().width == term.coef;
      if (!cut_already && !window) {
        fold.cuts.push_back({term.coef, 1, Target::nothing(), 1, Cause::kGrid});
      }
    }
    const std::int64_t first_read = access_.dims[d].start;
    if (!window && !lines_[d].followed.empty() && fold.start == 0 && first_read < 0) {
      fold.start = (Checked(0) - first_read).saturated();
    }
    std::erase_if(fold.cuts,
                  [](const Cut& cut) { return cut.width == 1 && !cut.target.is_mesh(); });
    if (fold.cuts.empty() || fold.cuts.back().width != 1) {
      fold.cuts.push_back({1, 1, Target::nothing(), 1, Cause::kAlignment});
    }
  }

  const Loops& loops_;
  const Access& access_;
  const Shape& shape_;
  const Form& work_;
  std::vector<Line> lines_;
  std::vector<Fold> joint_;
  std::vector<std::size_t> apart_;
  std::vector<std::size_t> lost_;
};

/// The sum over digits along a mesh axis of the last coordinate that they lead to.
std::int64_t last_digit(const Form& form, int axis) {
  std::int64_t last = 0;
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Cut& cut = fold.cuts[k];
      const bool is_there = cut.target == Target::mesh(axis) && needed[k] > 1;
      if (is_there) last += (needed[k] - 1) * cut.stride;
    }
  }
  return last;
}

/// Whether digits lead to no coordinate that those of the work do not reach.
bool stays_within(const Form& form, const Form& work) {
  for (int axis = 0; axis < static_cast<int>(form.mesh.rank()); ++axis) {
    if (last_digit(form, axis) > last_digit(work, axis)) return false;
  }
  return true;
}

/// Digits that are nowhere go to memory, in row-major order of folds and digits.
Status give_memory(Form& form) {
  Checked stride(1);
  for (std::size_t f = form.folds.size(); f-- > 0;) {
    Fold& fold = form.folds[f];
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = fold.cuts.size(); k-- > 0;) {
      Cut& cut = fold.cuts[k];
      cut.count = needed[k];
      if (!cut.target.is_nothing()) continue;
      cut.target = Target::memory();
      TESSERA_TRY(cut.stride, stride.value("a stride"));
      stride *= std::max<std::int64_t>(cut.count, 1);
    }
  }
  return ok_status();
}

/// The mesh axes of a fold's digits as fills.
void add_fills(Form& form, const Fold& fold, const Shape& iterations,
               std::optional<Reduction> partial) {
  const std::vector<std::int64_t> needed = fold.needed(iterations);
  for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
    const Cut& cut = fold.cuts[k];
    if (!cut.target.is_mesh() || needed[k] <= 1) continue;
    const int axis = cut.target.axis();
    form.fills.push_back(partial ? Fill::partial(axis, needed[k], *partial, cut.stride)
                                 : Fill::replicate(axis, needed[k], cut.stride));
  }
}

struct Made {
  Result<Layout> layout;
  std::vector<std::size_t> lost;  ///< folds of the work map that the layout does not follow
};

Made make_layout(const Loops& loops, const Access& access, const graph::TensorType& type,
                 const WorkMap& work, bool is_output, const std::vector<bool>& refused) {
  Follower follower(loops, access, type.shape, work);
  follower.follow(refused);
  Form form;
  form.shape = type.shape;
  form.mesh = work.mesh();
  form.folds = follower.folds();
  form.fills = work.form().fills;
  for (const std::size_t f : follower.apart()) {
    const Fold& fold = work.form().folds[f];
    std::optional<Reduction> partial;
    for (const Term& term : fold.terms) {
      const Factor& factor = loops.factors[static_cast<std::size_t>(term.dim)];
      if (is_output && factor.kind == FactorKind::kReduce) partial = factor.reduction;
    }
    add_fills(form, fold, work.form().shape, partial);
  }
  for (const std::size_t f : follower.lost()) {
    add_fills(form, work.form().folds[f], work.form().shape, std::nullopt);
  }
  std::vector<bool> said(form.mesh.rank());
  for (const Fill& fill : form.fills) said[static_cast<std::size_t>(fill.axis)] = true;
  for (const Fold& fold : form.folds) {
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_mesh()) said[static_cast<std::size_t>(cut.target.axis())] = true;
    }
  }
  for (std::size_t axis = 0; axis < said.size(); ++axis) {
    if (!said[axis] && form.mesh[axis] > 1) {
      form.fills.push_back(Fill::fixed(static_cast<int>(axis), 0));
    }
  }
  if (Status memory = give_memory(form); !memory) return {memory.error(), {}};
  LayoutSpec spec;
  spec.form = std::move(form);
  spec.dtype = type.dtype;
  spec.atom = Atom::scalar(type.dtype);
  return {Layout::make(std::move(spec)), follower.lost()};
}

}  // namespace

Result<Layout> layout_for_input(const Loops& loops, const Access& access,
                                const graph::TensorType& type, const WorkMap& work) {
  std::vector<bool> refused(work.form().folds.size());
  Made made = make_layout(loops, access, type, work, false, refused);
  if (made.layout && stays_within(made.layout->form(), work.form())) {
    TESSERA_TRY(const Supply supply, supplies(loops, access, made.layout->form(), work));
    if (supply.complete) return std::move(made.layout);
  }
  // A cut that the dims cannot follow, because they are longer than what is read.
  refused.assign(refused.size(), true);
  return make_layout(loops, access, type, work, false, refused).layout;
}

Result<Layout> layout_for_output(const Loops& loops, const Access& access,
                                 const graph::TensorType& type, const WorkMap& work) {
  const std::vector<bool> refused(work.form().folds.size());
  Made made = make_layout(loops, access, type, work, true, refused);
  if (!made.lost.empty()) {
    return Error{ErrorCode::kNotSupported, "no layout can say where this work leaves its output",
                 std::nullopt, "divide factors that are whole dims of the output"};
  }
  return std::move(made.layout);
}

}  // namespace tessera::ops
