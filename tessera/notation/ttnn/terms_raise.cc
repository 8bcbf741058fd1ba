// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/raising/plain_memory.h"
#include "tessera/notation/ttnn/terms.h"

/// Guess and check, as for the attribute: the cuts on the mesh show where shards end, unit indices
/// show the strides, and lowering the guess shows whether it expresses the layout.
namespace tessera::notation {
namespace {

constexpr std::size_t kMaxGuesses = 16;
constexpr std::int64_t kNoEnd = 0;   ///< no shard ends where there is data
constexpr std::int64_t kWhole = -1;  ///< shards end with their last atom

constexpr std::string_view kName = "ttnn<>";

Status check_sayable(const LayoutSpec& spec) {
  if (spec.form.mesh.rank() != 2 && spec.form.mesh.elements() != 1) {
    return cannot_express(
        kName, mesh_rank(cat("a mesh of rank ", spec.form.mesh.rank()), spec.form.mesh, 2, 2));
  }
  for (const Fill& fill : spec.form.fills) {
    if (fill.kind == Fill::Kind::kReplicate && fill.count > 1) {
      return cannot_express(kName, replicated(fill));
    }
  }
  LayoutSpec plain = spec;
  plain.atom = Atom::scalar(spec.atom.storage);  // tiles are expressed
  if (const auto what = beyond_plain_storage(plain, spec.dtype)) {
    return cannot_express(kName, *what);
  }
  return ok_status();
}

/// The number of rows per step along a dim when rows are packed; 0 for the last dim.
std::int64_t packed_rows(const Shape& shape, std::size_t dim) {
  Checked rows = dim + 1 < shape.rank() ? 1 : 0;
  for (std::size_t below = dim + 1; below + 1 < shape.rank(); ++below) rows *= shape[below];
  return rows.saturated();
}

/// Where shards may end along the line of a mesh axis, in rows or in columns: the widths of the
/// cuts on it, in the given folds and in the canonical lines.
std::vector<std::int64_t> shard_guesses(const Form& form, int axis) {
  std::vector<std::int64_t> guesses;
  const auto add = [&](Checked width) {
    if (!width.overflowed() && width.raw() > 0 && guesses.size() < kMaxGuesses &&
        std::find(guesses.begin(), guesses.end(), width.raw()) == guesses.end()) {
      guesses.push_back(width.raw());
    }
  };
  const auto add_cut = [&](const std::vector<Term>& terms, std::int64_t width) {
    add(width);
    if (terms.size() != 1 || terms[0].coef < 1) return;
    if (axis != 0) return add(width / terms[0].coef);
    const std::int64_t rows = packed_rows(form.shape, static_cast<std::size_t>(terms[0].dim));
    add(Checked(width / terms[0].coef) * rows);
  };
  for (const Fold& fold : form.folds) {
    for (const Cut& cut : fold.cuts) {
      if (cut.target == Target::mesh(axis)) add_cut(fold.terms, cut.width);
    }
  }
  const std::int64_t step = axis == 0 ? form.mesh[1] : 1;
  if (const Result<Lines> lines = canonical(form)) {
    for (const Line& line : lines->lines) {
      for (const LineCut& cut : line.cuts) {
        if (cut.move.place == step) add_cut(line.terms, cut.width);
      }
    }
  }
  return guesses;
}

/// A guess for the structure of a place: where shards end (0 for not at all) and its atoms.
struct Guess {
  std::array<std::int64_t, 2> shard{};
  std::array<std::int64_t, 2> atoms{};
};

/// Possible numbers of atoms in a row of a place if no shard ends: what the last dim needs, what
/// the strides suggest, all of them, or one.
std::vector<std::int64_t> column_guesses(const Layout& layout, std::int64_t atoms) {
  const Atom& atom = layout.atom();
  const Shape& shape = layout.shape();
  std::vector<std::int64_t> guesses;
  if (shape.rank() > 0) guesses.push_back(ceil_div(shape.extents().back(), atom.cols));
  // A row of atoms divides every step along rows; their greatest common divisor is a candidate,
  // too.
  std::int64_t rows = atoms;
  if (const Result<Lines> lines = canonical(layout.form())) {
    for (const Line& line : lines->lines) {
      const bool columns = std::any_of(line.terms.begin(), line.terms.end(), [&](const Term& term) {
        return static_cast<std::size_t>(term.dim) + 1 == shape.rank();
      });
      for (const LineCut& cut : line.cuts) {
        if (columns || cut.move.slot % atom.elements() != 0) continue;
        guesses.push_back(cut.move.slot / atom.elements());
        rows = std::gcd(rows, guesses.back());
      }
    }
  }
  for (const std::int64_t last : {rows, atoms, std::int64_t{1}}) guesses.push_back(last);
  guesses.resize(std::min(guesses.size(), kMaxGuesses));
  return guesses;
}

std::vector<Guess> guesses_of(const Layout& layout) {
  const Atom& atom = layout.atom();
  const std::int64_t atoms = layout.slots() / atom.elements();
  const bool grid = layout.mesh().rank() == 2;
  std::vector<std::int64_t> row_ends;
  std::vector<std::int64_t> col_ends;
  if (grid && layout.mesh()[0] > 1) row_ends = shard_guesses(layout.form(), 0);
  if (grid && layout.mesh()[1] > 1) col_ends = shard_guesses(layout.form(), 1);
  // Data that stay on the first places do not show where shards end. If a dim steps over a whole
  // shard, its cut does not show it either.
  for (std::vector<std::int64_t>* ends : {&row_ends, &col_ends}) {
    ends->push_back(kNoEnd);
    ends->push_back(kWhole);
  }
  std::vector<Guess> guesses;
  const auto end_of = [](std::int64_t end, std::int64_t atoms_along, std::int64_t tile) {
    return end == kWhole ? (Checked(atoms_along) * tile).saturated() : end;
  };
  const auto add = [&](std::int64_t row_end, std::int64_t col_end, std::int64_t cols) {
    if (cols < 1 || atoms % cols != 0) return;
    const std::int64_t rows = atoms / cols;
    if (row_end > 0 && ceil_div(row_end, atom.rows) != rows) return;
    guesses.push_back(
        {{end_of(row_end, rows, atom.rows), end_of(col_end, cols, atom.cols)}, {rows, cols}});
  };
  const std::vector<std::int64_t> cols = column_guesses(layout, atoms);
  for (const std::int64_t row_end : row_ends) {
    for (const std::int64_t col_end : col_ends) {
      if (col_end > 0) {
        add(row_end, col_end, ceil_div(col_end, atom.cols));
      } else if (row_end > 0) {
        add(row_end, col_end, atoms / ceil_div(row_end, atom.rows));
      } else {
        for (const std::int64_t each : cols) add(row_end, col_end, each);
      }
    }
  }
  return guesses;
}

/// Rows that a unit step moves, if the guess is right. Columns must not change.
std::optional<std::int64_t> rows_of_step(const Layout& layout, const Guess& guess,
                                         std::size_t dim) {
  Index index(layout.shape().rank(), 0);
  index[dim] = 1;
  Place place;
  std::int64_t slot = 0;
  layout.form().evaluate(index, place, slot);
  const Atom& atom = layout.atom();
  const std::int64_t tile = slot / atom.elements();
  const std::int64_t inner = slot % atom.elements();
  if (tile % guess.atoms[1] != 0 || inner % atom.cols != 0) return std::nullopt;
  Checked row = Checked(tile / guess.atoms[1]) * atom.rows + inner / atom.cols;
  if (guess.shard[0] > 0 && !place.empty()) row += Checked(place[0]) * guess.shard[0];
  if (row.overflowed() || row.raw() < 1) return std::nullopt;
  return row.raw();
}

std::optional<TtnnTerms> words_of(const Layout& layout, const Guess& guess) {
  const Shape& shape = layout.shape();
  const Atom& atom = layout.atom();
  std::vector<std::int64_t> steps;
  Checked rows = 1;
  Checked below = 1;
  bool no_rows = false;
  for (std::size_t dim = shape.rank(); dim-- > 0;) {
    if (dim + 1 == shape.rank()) continue;
    std::int64_t step = below.saturated();
    if (shape[dim] > 1 && !shape.empty()) {
      const std::optional<std::int64_t> found = rows_of_step(layout, guess, dim);
      if (!found) return std::nullopt;
      step = *found;
    }
    const std::int64_t extent = std::max<std::int64_t>(shape[dim], 1);
    steps.insert(steps.begin(), step);
    rows += Checked(step) * (extent - 1);
    below = Checked(step) * extent;
    no_rows = no_rows || shape[dim] == 0;
  }
  if (no_rows) rows = 1;  // any number is correct
  TtnnTerms words;
  const std::int64_t last = shape.rank() == 0 ? 1 : shape.extents().back();
  std::array<Checked, 2> physical = {rows, std::max<std::int64_t>(last, 1)};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t needed = physical[i].saturated();
    const std::int64_t tile = i == 0 ? atom.rows : atom.cols;
    const std::int64_t grid = layout.mesh().rank() == 2 ? layout.mesh()[i] : 1;
    const bool tight = ceil_div(needed, tile) == guess.atoms[i];
    const std::int64_t whole = (Checked(guess.atoms[i]) * tile).saturated();
    words.shard_shape[i] = guess.shard[i] > 0 ? guess.shard[i] : tight ? needed : whole;
    const Checked least = Checked(grid - 1) * words.shard_shape[i] + 1;  // as many shards as given
    if (least.saturated() > needed) physical[i] = least;
  }
  if (atom.is_tile()) words.tile_shape = {atom.rows, atom.cols};
  const Checked volume = physical[0] * physical[1];
  words.stride.push_back(volume.saturated());
  for (const std::int64_t step : steps) {
    words.stride.push_back((Checked(step) * physical[1]).saturated());
  }
  if (shape.rank() > 0) words.stride.push_back(1);
  return words;
}

bool says(const TtnnTerms& words, const Layout& layout) {
  const Result<Layout> again = lower(words, layout.shape(), layout.dtype());
  if (!again || again->slots() != layout.slots()) return false;
  if (layout.mesh().rank() == 2 && again->mesh() != layout.mesh()) return false;
  const Result<Comparison> same = same_function(*again, layout);
  return same && same->equal;
}

}  // namespace

Result<TtnnTerms> raise_ttnn_terms(const Layout& layout) {
  TESSERA_CHECK_OK(check_sayable(layout.spec()));
  if (layout.slots() == 0) {
    return cannot_express(
        kName, obstacle(why::kEmptyTensor, "an allocation of {slots} slots", {fact("slots", 0)}));
  }
  for (const Guess& guess : guesses_of(layout)) {
    const std::optional<TtnnTerms> words = words_of(layout, guess);
    if (words && says(*words, layout)) return *words;
  }
  return cannot_express(
      kName,
      obstacle(why::kDigitOrder,
               "this function: it cuts rows of the last dim, and all other dims as one line"));
}

}  // namespace tessera::notation
