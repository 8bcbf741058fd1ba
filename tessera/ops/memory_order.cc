// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/memory_order.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/sort_stably.h"
#include "tessera/layout/placement.h"

namespace tessera::ops {
namespace {

/// The factor that is the whole index of a dim; -1 if there is none.
int factor_of(const DimAccess& dim) {
  const bool alone = dim.start == 0 && dim.terms.size() == 1 && dim.terms[0].coef == 1;
  return alone ? dim.terms[0].dim : -1;
}

/// For each dim of the operand the dim of the output that has its factor, or -1. Empty if a dim of
/// the output comes from none.
std::optional<std::vector<int>> moved_dims(const Shape& operand, const Access& reads,
                                           const Shape& output, const Access& makes) {
  std::vector<int> to(operand.rank(), -1);
  for (std::size_t d = 0; d < output.rank(); ++d) {
    if (output[d] == 1) continue;
    const int factor = factor_of(makes.dims[d]);
    bool found = false;
    for (std::size_t e = 0; e < operand.rank() && !found && factor >= 0; ++e) {
      found = operand[e] == output[d] && factor_of(reads.dims[e]) == factor;
      if (found) to[e] = static_cast<int>(d);
    }
    if (!found) return std::nullopt;
  }
  return to;
}

/// Whether two layouts have every element on the same places.
bool same_places(const Form& a, const Form& b) {
  const Result<bool> there = compatible_without_movement(a, b);
  const Result<bool> back = compatible_without_movement(b, a);
  return there && back && *there && *back;
}

/// Whether the digits in memory are in the order of the dims: nothing that a kernel would have to
/// keep when the dims move.
bool is_row_major(const Form& form) {
  std::vector<const Fold*> folds;
  for (const Fold& fold : form.folds) folds.push_back(&fold);
  sort_stably(folds, [](const Fold* a, const Fold* b) {
    return !a->terms.empty() && (b->terms.empty() || a->terms[0].dim < b->terms[0].dim);
  });
  std::int64_t last = INT64_MAX;
  for (const Fold* fold : folds) {
    for (const Cut& cut : fold->cuts) {
      if (!cut.target.is_memory() || cut.count <= 1) continue;
      if (cut.stride >= last) return false;
      last = cut.stride;
    }
  }
  return true;
}

/// What remains of memory after some digits are gone, without the gaps that they leave.
void close_gaps(Form& form) {
  std::vector<Cut*> digits;
  for (Fold& fold : form.folds) {
    for (Cut& cut : fold.cuts) {
      if (cut.target.is_memory()) digits.push_back(&cut);
    }
  }
  sort_stably(digits, [](const Cut* a, const Cut* b) { return a->stride < b->stride; });
  Checked stride(1);
  for (Cut* digit : digits) {
    digit->stride = stride.saturated();
    stride *= std::max<std::int64_t>(digit->count, 1);
  }
  form.offset = 0;
}

/// The layout if it can be made, and is on the places that it should be on.
std::optional<Layout> checked(LayoutSpec spec, const Layout& made) {
  Result<Layout> layout = Layout::make(std::move(spec));
  if (!layout || !same_places(layout->form(), made.form())) return std::nullopt;
  return *std::move(layout);
}

}  // namespace

std::optional<Layout> in_order_of(const Layout& operand, const Access& reads, const Access& makes,
                                  const Layout& made, std::int64_t unit) {
  if (operand.mesh() != made.mesh() || made.shape().empty()) return std::nullopt;
  const auto to = moved_dims(operand.shape(), reads, made.shape(), makes);
  if (!to) return std::nullopt;
  LayoutSpec spec = operand.spec();
  spec.padding = PaddingValue::undef();
  if (spec.dtype != made.dtype()) {
    if (spec.atom.storage != spec.dtype) return std::nullopt;
    spec.dtype = made.dtype();
    spec.atom.storage = made.dtype();
  }
  const std::int64_t together = std::max(unit, spec.atom.elements());
  spec.form.shape = made.shape();
  spec.form.fills = made.form().fills;
  spec.form.folds.clear();
  bool drops = false;
  for (const Fold& fold : operand.form().folds) {
    Fold kept = fold;
    kept.terms.clear();
    bool loses = false;
    for (const Term& term : fold.terms) {
      const auto d = static_cast<std::size_t>(term.dim);
      if ((*to)[d] >= 0) {
        kept.terms.push_back({(*to)[d], term.coef});
      } else {
        loses = loses || operand.shape()[d] > 1;
      }
    }
    if (!loses) {
      spec.form.folds.push_back(std::move(kept));
      continue;
    }
    if (!kept.terms.empty()) return std::nullopt;  // the line of several dims, of which one is gone
    drops = true;
    kept.start = 0;
    std::erase_if(kept.cuts, [&](const Cut& cut) {
      return !cut.target.is_memory() || cut.stride >= together;
    });
    for (Cut& cut : kept.cuts) cut.cause = Cause::kSynthetic;
    if (!kept.cuts.empty()) spec.form.folds.push_back(std::move(kept));
  }
  for (Fold& fold : spec.form.folds) {
    sort_stably(fold.terms, [](const Term& a, const Term& b) { return a.dim < b.dim; });
  }
  bool moves = false;
  for (std::size_t e = 0; e < to->size(); ++e) moves = moves || (*to)[e] != static_cast<int>(e);
  if (moves) {
    if (together == 1 && is_row_major(operand.form())) return std::nullopt;
    sort_stably(spec.form.folds, [](const Fold& a, const Fold& b) {
      return !a.terms.empty() && (b.terms.empty() || a.terms[0].dim < b.terms[0].dim);
    });
  }
  if (drops) {
    close_gaps(spec.form);
    spec.slots.reset();
  }
  return checked(std::move(spec), made);
}

std::optional<Layout> in_tiles(const Layout& made, const Atom& tile) {
  const std::size_t rank = made.shape().rank();
  if (rank < 2 || made.shape().empty()) return std::nullopt;
  LayoutSpec spec = made.spec();
  spec.atom = tile;
  spec.slots.reset();
  spec.form.offset = 0;
  std::vector<Cut*> inside;   // of a tile: rows, then columns
  std::vector<Cut*> outside;  // all other digits in memory, outermost first
  for (std::size_t last : {rank - 2, rank - 1}) {
    const std::int64_t width = last + 1 == rank ? tile.cols : tile.rows;
    const auto found = std::ranges::find_if(spec.form.folds, [&](const Fold& fold) {
      return fold.terms == std::vector<Term>{{static_cast<int>(last), 1}};
    });
    if (found == spec.form.folds.end()) return std::nullopt;
    std::vector<Cut>& cuts = found->cuts;
    const bool in_rows = cuts.back().width == 1 && cuts.back().target.is_memory();
    if (!in_rows) return std::nullopt;
    Cut& tiles = cuts.back();
    tiles.width = width;
    tiles.count = ceil_div(tiles.count, width);
    tiles.cause = Cause::kTile;
    if (width > 1) cuts.push_back({1, width, Target::memory(), 1, Cause::kTile});
  }
  for (Fold& fold : spec.form.folds) {
    for (Cut& cut : fold.cuts) {
      const bool is_last = &cut == &fold.cuts.back();
      const bool of_tile = fold.terms.size() == 1 && is_last &&
                           static_cast<std::size_t>(fold.terms[0].dim) + 2 >= rank;
      if (cut.target.is_memory()) (of_tile ? inside : outside).push_back(&cut);
    }
  }
  if (tile.rows <= 1 || tile.cols <= 1) return std::nullopt;
  inside[0]->stride = tile.cols;
  inside[1]->stride = 1;
  Checked stride(tile.elements());
  for (std::size_t k = outside.size(); k-- > 0;) {
    outside[k]->stride = stride.saturated();
    stride *= std::max<std::int64_t>(outside[k]->count, 1);
  }
  return checked(std::move(spec), made);
}

}  // namespace tessera::ops
