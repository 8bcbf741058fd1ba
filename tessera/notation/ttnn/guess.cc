// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/ttnn/guess.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/layout/form.h"
#include "tessera/notation/ttnn/rule.h"

namespace tessera::notation {
namespace {

using Memory = TtnnLayout::Memory;

constexpr std::size_t kMaxColumns = 64;

/// The moves of digits and unit indices, in atoms, largest first, without moves inside an atom or
/// to the next atom.
std::vector<std::int64_t> atom_steps(const Layout& layout) {
  std::vector<std::int64_t> steps;
  const auto add = [&](std::int64_t slots) {
    const std::int64_t atoms = slots / layout.atom().elements();
    if (slots % layout.atom().elements() == 0 && atoms > 1) steps.push_back(atoms);
  };
  if (const Result<Lines> lines = canonical(layout.form())) {
    for (const Line& line : lines->lines) {
      for (const LineCut& cut : line.cuts) add(cut.move.slot);
    }
  }
  Index index(layout.shape().rank(), 0);
  for (std::size_t dim = 0; dim < index.size(); ++dim) {
    if (layout.shape()[dim] < 2) continue;
    Place place;
    std::int64_t slot = 0;
    index[dim] = 1;
    layout.form().evaluate(index, place, slot);
    index[dim] = 0;
    add(slot);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

/// Possible numbers of atoms in a row of a place: first that of TTNN's own map, then those that the
/// strides of the layout suggest, then everything in one row or one column.
std::vector<std::int64_t> column_guesses(const Layout& layout, const TtnnLayout& words,
                                         std::int64_t atoms) {
  std::vector<std::int64_t> guesses;
  const auto add = [&](std::int64_t cols) {
    if (cols > 0 && atoms % cols == 0 && guesses.size() < kMaxColumns &&
        std::find(guesses.begin(), guesses.end(), cols) == guesses.end()) {
      guesses.push_back(cols);
    }
  };
  TtnnLayout own = words;
  if (Result<AffineMap> map = ttnn_collapse(layout.shape(), layout.atom())) {
    own.linear = *std::move(map);
    if (const Result<TtnnNumbers> numbers = ttnn_numbers(own, layout.shape())) {
      add(words.is_sharded() ? numbers->memref.back() : numbers->atoms.back());
    }
  }
  const std::vector<std::int64_t> steps = atom_steps(layout);
  std::int64_t common = atoms;
  for (const std::int64_t step : steps) {
    add(step);
    common = std::gcd(common, step);
  }
  add(atoms);
  add(common);
  add(1);
  return guesses;
}

/// A row and a column of the physical tensor.
struct Position {
  std::int64_t row = 0;
  std::int64_t col = 0;
};

/// Computes positions in a layout whose places have `cols` atom columns.
class Reader {
 public:
  Reader(const Layout& layout, Memory memory, std::int64_t cols)
      : layout_(layout),
        memory_(memory),
        cols_(cols),
        rows_(layout.slots() / layout.atom().elements() / cols) {}

  std::int64_t rows() const { return rows_; }

  /// Where an element is in the physical tensor; nullopt on overflow.
  std::optional<Position> position(const Index& index) const {
    const Atom& atom = layout_.atom();
    Place place;
    std::int64_t slot = 0;
    layout_.form().evaluate(index, place, slot);
    const std::int64_t tile = slot / atom.elements();
    const std::int64_t inner = slot % atom.elements();
    Checked row = Checked(tile / cols_) * atom.rows + inner / atom.cols;
    Checked col = Checked(tile % cols_) * atom.cols + inner % atom.cols;
    const Checked height = Checked(rows_) * atom.rows;
    const Checked width = Checked(cols_) * atom.cols;
    const std::int64_t number = layout_.mesh().linear(place);
    if (memory_ == Memory::kBlockSharded) {
      row += height * place[0];
      col += width * place[1];
    } else if (memory_ == Memory::kHeightSharded) {
      row += height * number;
    } else if (memory_ == Memory::kWidthSharded) {
      col += width * number;
    }
    if (row.overflowed() || col.overflowed()) return std::nullopt;
    return Position{row.raw(), col.raw()};
  }

 private:
  const Layout& layout_;
  Memory memory_;
  std::int64_t cols_;
  std::int64_t rows_;
};

void add_term(AffineResult& result, std::size_t dim, std::int64_t coef) {
  if (coef < 1) return;
  const Term term{static_cast<int>(dim), coef};
  const auto after = std::find_if(result.terms.begin(), result.terms.end(),
                                  [&](const Term& other) { return other.dim > term.dim; });
  result.terms.insert(after, term);
}

/// The map that gives every unit index its position in the layout, without dims of one element.
std::optional<AffineMap> map_of_units(const Shape& shape, const Reader& reader) {
  AffineMap map{static_cast<int>(shape.rank()), {AffineResult{}, AffineResult{}}};
  Index index(shape.rank(), 0);
  const std::optional<Position> origin = reader.position(index);
  if (!origin || origin->row != 0 || origin->col != 0) return std::nullopt;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] < 2) continue;
    index[dim] = 1;
    const std::optional<Position> there = reader.position(index);
    index[dim] = 0;
    if (!there) return std::nullopt;
    add_term(map.results[0], dim, there->row);
    add_term(map.results[1], dim, there->col);
  }
  return map;
}

/// Gives dims of one element the steps of TTNN's own map: the product of all dims below them.
void add_own_steps(AffineMap& map, const Shape& shape, const Shape& padded) {
  const std::size_t rank = shape.rank();
  Checked below = 1;
  for (std::size_t dim = rank; dim-- > 0;) {
    if (shape[dim] < 2)
      add_term(map.results[dim + 1 == rank ? 1 : 0], dim, dim + 1 == rank ? 1 : below.saturated());
    for (const Term& term : map.results[0].terms) {
      if (static_cast<std::size_t>(term.dim) != dim) continue;
      const Checked room = Checked(term.coef) * padded[dim];
      if (room.saturated() > below.saturated()) below = room;
    }
  }
}

/// Gives a padded dim of one element a step that makes its line as long as the allocation.
void stretch(AffineResult& line, const Shape& shape, const Shape& padded, std::size_t dim,
             Checked length) {
  if (shape[dim] != 1 || padded[dim] < 2 || length.overflowed()) return;
  Checked base = 1;
  for (const Term& term : line.terms) {
    base += Checked(term.coef) * (padded[static_cast<std::size_t>(term.dim)] - 1);
  }
  const std::int64_t left = (length - base).overflowed() ? 0 : (length - base).raw();
  add_term(line, dim, left / (padded[dim] - 1));
}

}  // namespace

std::vector<TtnnGuess> guess_ttnn_maps(const Layout& layout, const TtnnLayout& words) {
  const Shape& shape = layout.shape();
  const Atom& atom = layout.atom();
  const Result<Shape> padded = ttnn_padded(shape, atom);
  if (!padded) return {};
  std::vector<TtnnGuess> guesses;
  const std::vector<std::int64_t> pieces = ttnn_pieces(words);
  const std::size_t rank = shape.rank();
  for (const std::int64_t cols : column_guesses(layout, words, layout.slots() / atom.elements())) {
    const Reader reader(layout, words.memory, cols);
    const std::optional<AffineMap> units = map_of_units(shape, reader);
    if (!units) continue;
    AffineMap map = *units;
    add_own_steps(map, shape, *padded);
    guesses.push_back({map, cols});
    if (map == *units) continue;
    guesses.push_back({*units, cols});
    if (!atom.is_tile()) continue;
    map = *units;
    stretch(map.results[1], shape, *padded, rank - 1, Checked(cols) * atom.cols * pieces[1]);
    if (rank > 1) {
      stretch(map.results[0], shape, *padded, rank - 2,
              Checked(reader.rows()) * atom.rows * pieces[0]);
    }
    guesses.push_back({map, cols});
  }
  return guesses;
}

}  // namespace tessera::notation
