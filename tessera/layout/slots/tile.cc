// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"
#include "tessera/layout/algebra/mesh_digits.h"
#include "tessera/layout/algebra/slice.h"
#include "tessera/layout/form.h"
#include "tessera/layout/regions.h"
#include "tessera/layout/slots/digit_boxes.h"

namespace tessera {
namespace {

constexpr std::size_t kMaxBoxes = std::size_t{1} << 20;
constexpr std::int64_t kStepsPerBox = 8;

Error too_many_boxes() {
  if (Work::is_spent()) return Work::too_large("finding what a place holds");
  return Error{ErrorCode::kTooLarge, cat("the tile falls into more than ", kMaxBoxes, " boxes"),
               std::nullopt, "ask for single elements with element_at"};
}

/// Visits runs of points in the given boxes of digits, increasing inside each box.
bool runs_of_points(const Fold& fold, const std::vector<DigitRange>& box,
                    std::vector<std::pair<std::int64_t, std::int64_t>>& runs) {
  // Digits from `inner` on have no gaps, so they form one run.
  std::size_t inner = box.size();
  std::int64_t length = 1;
  std::int64_t first = 0;
  while (inner > 0 && (box[inner - 1].count() == 1 || fold.cuts[inner - 1].width == length)) {
    --inner;
    first += box[inner].from * fold.cuts[inner].width;
    length *= box[inner].count();
  }
  std::vector<std::int64_t> digit;
  for (std::size_t k = 0; k < inner; ++k) digit.push_back(box[k].from);
  for (bool more = true; more;) {
    std::int64_t at = first;
    for (std::size_t k = 0; k < inner; ++k) at += digit[k] * fold.cuts[k].width;
    if (runs.size() == kMaxBoxes || !Work::spend(kStepsPerBox)) return false;
    runs.emplace_back(at, at + length);
    more = false;
    for (std::size_t k = inner; k-- > 0 && !more;) {
      more = ++digit[k] < box[k].to;
      if (!more) digit[k] = box[k].from;
    }
  }
  return true;
}

/// Boxes of indices whose point on a fold's line lies in [from, to), if coefficients nest.
class IndexBoxes {
 public:
  IndexBoxes(const LinePoints& line, std::size_t rank) : line_(line) {
    box_.from.assign(rank, 0);
    box_.to.assign(rank, 0);
  }

  bool collect(std::int64_t from, std::int64_t to, std::vector<Box>& out) {
    return term(0, from - line_.first(), to - line_.first(), out);
  }

 private:
  bool term(std::size_t i, std::int64_t from, std::int64_t to, std::vector<Box>& out) {
    if (from >= to) return true;
    if (i == line_.weights().size()) {
      if (from > 0 || to <= 0) return true;
      if (out.size() == kMaxBoxes || !Work::spend(kStepsPerBox)) return false;
      out.push_back(box_);
      return true;
    }
    const LinePoints::Weight& weight = line_.weights()[i];
    // y·coef + [0, below] must intersect [from, to); the values of y with the whole range inside
    // form one box.
    const std::int64_t low =
        std::max<std::int64_t>(0, -floor_div(-(from - weight.below), weight.coef));
    const std::int64_t high = std::min(weight.extent - 1, floor_div(to - 1, weight.coef));
    const std::int64_t whole_low = std::max(low, -floor_div(-from, weight.coef));
    const std::int64_t whole_high = std::min(high, floor_div(to - 1 - weight.below, weight.coef));
    const auto cut_short = [&](std::int64_t y) {
      set(weight, y, y + 1);
      return term(i + 1, from - y * weight.coef, to - y * weight.coef, out);
    };
    if (whole_low > whole_high) {
      for (std::int64_t y = low; y <= high; ++y) {
        if (!cut_short(y)) return false;
      }
      return true;
    }
    for (std::int64_t y = low; y < whole_low; ++y) {
      if (!cut_short(y)) return false;
    }
    set(weight, whole_low, whole_high + 1);
    if (!term(i + 1, 0, weight.below + 1, out)) return false;
    for (std::int64_t y = whole_high + 1; y <= high; ++y) {
      if (!cut_short(y)) return false;
    }
    return true;
  }

  void set(const LinePoints::Weight& weight, std::int64_t from, std::int64_t to) {
    const auto dim = static_cast<std::size_t>(weight.dim);
    box_.from[dim] = weight.flipped ? weight.extent - to : from;
    box_.to[dim] = weight.flipped ? weight.extent - from : to;
  }

  const LinePoints& line_;
  Box box_;
};

/// Visits every index of the fold's dims one by one, if coefficients do not nest.
bool collect_one_by_one(const Fold& fold, const Shape& shape,
                        const std::vector<std::pair<std::int64_t, std::int64_t>>& runs,
                        std::vector<Box>& out) {
  std::vector<std::int64_t> extents;
  for (const Term& term : fold.terms) extents.push_back(shape[static_cast<std::size_t>(term.dim)]);
  const Result<Shape> dims = Shape::make(extents);
  if (!dims || dims->elements() > static_cast<std::int64_t>(kMaxBoxes)) return false;
  if (!Work::spend(dims->elements() * (1 + std::ssize(runs)))) return false;
  Index x(fold.terms.size(), 0);
  do {
    std::int64_t p = fold.start;
    for (std::size_t i = 0; i < x.size(); ++i) p += fold.terms[i].coef * x[i];
    const bool here = std::any_of(runs.begin(), runs.end(), [&](const auto& run) {
      return p >= run.first && p < run.second;
    });
    if (!here) continue;
    Box box{Index(shape.rank(), 0), Index(shape.rank(), 0)};
    for (std::size_t i = 0; i < x.size(); ++i) {
      box.from[static_cast<std::size_t>(fold.terms[i].dim)] = x[i];
      box.to[static_cast<std::size_t>(fold.terms[i].dim)] = x[i] + 1;
    }
    out.push_back(std::move(box));
  } while (dims->next(x));
  return true;
}

/// The largest slot of any element: in each nest, the one where every loop with a positive slot
/// step is at its end.
Result<std::int64_t> last_slot(const Form& form) {
  TESSERA_TRY(const Refinement refinement, refine(form));
  std::int64_t last = refinement.base().a.slot;
  for (const Factor& factor : refinement.factors()) {
    std::int64_t largest = INT64_MIN;
    for (const Piece& piece : factor.pieces) {
      std::int64_t slot = piece.at.a.slot;
      for (const Loop& loop : piece.loops) {
        slot += std::max<std::int64_t>(0, loop.move.a.slot * (loop.extent - 1));
      }
      largest = std::max(largest, slot);
    }
    last += largest;
  }
  return last;
}

}  // namespace

Result<Tile> tile_of(const Layout& layout, const Place& place) {
  const Form& form = layout.form();
  if (!form.mesh.contains(place)) {
    return Error{
        ErrorCode::kOutOfRange,
        cat("place ", bracketed(place), " is outside the mesh ", bracketed(form.mesh.extents())),
        std::nullopt, "one coordinate per mesh axis, counted from 0"};
  }
  Tile tile;
  tile.allocated_slots = layout.slots();
  const std::optional<MeshDigits> at = mesh_digits(form, place);
  if (!at || form.shape.empty()) return tile;

  tile.boxes = {Box::whole(form.shape)};
  for (std::size_t f = 0; f < form.folds.size(); ++f) {
    const Fold& fold = form.folds[f];
    DigitBoxes digits(fold, form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (!fold.cuts[k].target.is_mesh()) continue;
      digits.confine(k, {at->digits[f][k], at->digits[f][k] + 1});
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> runs;
    const bool listed = digits.points(0, digits.extent(), [&](const std::vector<DigitRange>& box) {
      return runs_of_points(fold, box, runs);
    });
    if (!listed) return too_many_boxes();
    const LinePoints line(fold, form.shape);
    std::vector<Box> own;
    if (line.nested()) {
      IndexBoxes boxes(line, form.shape.rank());
      for (const auto& [from, to] : runs) {
        if (!boxes.collect(from, to, own)) return too_many_boxes();
      }
    } else if (!collect_one_by_one(fold, form.shape, runs, own)) {
      return too_many_boxes();
    }
    std::vector<Box> both;
    for (const Box& before : tile.boxes) {
      if (!Work::spend(kStepsPerBox * std::ssize(own))) return too_many_boxes();
      for (const Box& box : own) {
        Box meet = before;
        for (const Term& term : fold.terms) {
          const auto dim = static_cast<std::size_t>(term.dim);
          meet.from[dim] = std::max(meet.from[dim], box.from[dim]);
          meet.to[dim] = std::min(meet.to[dim], box.to[dim]);
        }
        if (meet.elements() == 0) continue;
        if (both.size() == kMaxBoxes) return too_many_boxes();
        both.push_back(std::move(meet));
      }
    }
    tile.boxes = std::move(both);
  }
  for (const Box& box : tile.boxes) {
    tile.elements += box.elements();
    TESSERA_TRY(const std::int64_t last, last_slot(restrict_to(form, box.from, box.to)));
    tile.needed_slots = std::max(tile.needed_slots, last + 1);
  }
  return tile;
}

}  // namespace tessera
