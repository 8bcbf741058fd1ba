// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/along_dim.h"

#include <algorithm>
#include <cstdlib>

#include "tessera/base/checked.h"
#include "tessera/notation/raising/plain_memory.h"

namespace tessera::notation {
namespace {

constexpr std::size_t kMaxRuns = std::size_t{1} << 16;

/// The next element after `x` of a piece that may be on another place. Only the cuts from the
/// outermost to the last one on the mesh matter.
std::optional<std::int64_t> next_change(const Form& form, int dim, std::int64_t x) {
  std::optional<std::int64_t> next;
  for (const Fold& fold : form.folds) {
    const Term* term = term_of(fold, dim);
    if (term == nullptr) continue;
    std::size_t last = fold.cuts.size();
    while (last > 0 && !fold.cuts[last - 1].target.is_mesh()) --last;
    std::int64_t left = fold.start + term->coef * x;
    for (std::size_t k = 0; k < last; ++k) {
      const std::int64_t width = fold.cuts[k].width;
      const std::int64_t away = term->coef > 0 ? width - left % width : left % width + 1;
      const std::int64_t steps = ceil_div(away, std::abs(term->coef));
      next = std::min(next.value_or(INT64_MAX), (Checked(x) + steps).saturated());
      left %= width;
    }
  }
  return next;
}

}  // namespace

Place place_along(const Placement& placement, int dim, std::int64_t x) {
  Index index(placement.shape().rank(), 0);
  if (!index.empty()) index[static_cast<std::size_t>(dim)] = x;
  const auto [form, inner] = placement.form_at(index);
  Place place;
  std::int64_t slot = 0;
  form->evaluate(inner, place, slot);
  return place;
}

std::vector<FormPiece> pieces_along(const Placement& placement, int along_dim) {
  const auto dim = static_cast<std::size_t>(along_dim);
  std::vector<FormPiece> along;
  for (const FormPiece& piece : form_pieces(placement)) {
    bool first = piece.box.elements() > 0;
    for (std::size_t other = 0; other < piece.box.from.size(); ++other) {
      first = first && (other == dim || piece.box.from[other] == 0);
    }
    if (first) along.push_back(piece);
  }
  std::sort(along.begin(), along.end(), [&](const FormPiece& a, const FormPiece& b) {
    return a.box.from[dim] < b.box.from[dim];
  });
  return along;
}

const Term* term_of(const Fold& fold, int dim) {
  for (const Term& term : fold.terms) {
    if (term.dim == dim) return &term;
  }
  return nullptr;
}

std::optional<std::vector<PlacedRange>> places_along(const Placement& placement, int dim) {
  std::vector<PlacedRange> out;
  const auto at = static_cast<std::size_t>(dim);
  for (const FormPiece& piece : pieces_along(placement, dim)) {
    const std::int64_t from = piece.box.from[at];
    for (std::int64_t x = from; x < piece.box.to[at];) {
      const std::int64_t to =
          std::min(piece.box.to[at],
                   (Checked(next_change(*piece.form, dim, x - from).value_or(INT64_MAX)) + from)
                       .saturated());
      if (out.size() == kMaxRuns) return std::nullopt;
      out.push_back({x, to, place_along(placement, dim, x)});
      x = to;
    }
  }
  return out;
}

bool drives(const Placement& placement, int dim, int axis) {
  const auto at = static_cast<std::size_t>(dim);
  const auto on = static_cast<std::size_t>(axis);
  const std::int64_t first = place_along(placement, 0, 0)[on];
  const auto moves = [&](std::int64_t x) { return place_along(placement, dim, x)[on] != first; };
  for (const FormPiece& piece : pieces_along(placement, dim)) {
    const std::int64_t from = piece.box.from[at];
    const std::int64_t to = piece.box.to[at];
    if (moves(from) || moves(to - 1)) return true;
    for (const Fold& fold : piece.form->folds) {
      const Term* term = term_of(fold, dim);
      if (term == nullptr) continue;
      for (const Cut& cut : fold.cuts) {
        const std::int64_t step = ceil_div(cut.width, std::abs(term->coef));
        if (step < to - from && (moves(from + step) || moves(to - 1 - step))) return true;
      }
    }
  }
  return false;
}

std::optional<Obstacle> beyond_plain_shards(const Placement& placement) {
  const auto beyond = [](const Layout& layout) {
    LayoutSpec spec = layout.spec();
    spec.form.fills.clear();
    return beyond_plain_storage(spec, spec.dtype);
  };
  if (placement.view() != nullptr) {
    return obstacle(why::kSharedSlots, "elements that share a slot");
  }
  if (placement.layout() != nullptr) return beyond(*placement.layout());
  for (const LayoutPiece& piece : placement.pieces()->pieces()) {
    if (const auto what = beyond(piece.layout)) return what;
  }
  return std::nullopt;
}

bool same_description(const Placement& a, const Placement& b) {
  const std::vector<FormPiece> of_a = form_pieces(a);
  const std::vector<FormPiece> of_b = form_pieces(b);
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                    [](const FormPiece& x, const FormPiece& y) {
                      const bool mapped_alike = x.device_map != nullptr && y.device_map != nullptr
                                                    ? *x.device_map == *y.device_map
                                                    : x.device_map == y.device_map;
                      return x.box == y.box && *x.form == *y.form && mapped_alike;
                    });
}

}  // namespace tessera::notation
