// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/layout/algebra/entangle.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxWork = std::int64_t{1} << 24;  // elements times digits
constexpr std::int64_t kSteps = 4;                        // of `Work`, for a digit of an element

/// One digit of a line, and whether the position determines its value.
struct Digit {
  std::size_t line;
  std::int64_t count;
  std::int64_t width;
  Position move;
  bool known;
};

/// Deduces which digits and dims a position determines. If it determines all dims, the form is
/// injective; the remaining dims are searched.
class Deduction {
 public:
  Deduction(const Form& form, const Lines& lines) : form_(form), lines_(lines) {
    known_dim_.assign(lines.shape.rank(), false);
    for (std::size_t dim = 0; dim < lines.shape.rank(); ++dim) {
      known_dim_[dim] = lines.shape[dim] <= 1;
    }
    for (std::size_t l = 0; l < lines.lines.size(); ++l) {
      first_digit_.push_back(digits_.size());
      std::int64_t left = 1 + lines.lines[l].start;
      for (const Term& term : lines.lines[l].terms) {
        left += std::max<std::int64_t>(0, term.coef * (extent(term.dim) - 1));
      }
      for (const LineCut& cut : lines.lines[l].cuts) {
        const std::int64_t count = lines.lines[l].cuts.size() == 1
                                       ? extent(lines.lines[l].terms[0].dim)
                                       : ceil_div(left, cut.width);
        digits_.push_back({l, count, cut.width, cut.move, count <= 1});
        left = std::min(left, cut.width);
      }
    }
    first_digit_.push_back(digits_.size());
    const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
    for (const Fill& fill : form.fills) {
      if (fill.kind == Fill::Kind::kFixed || fill.count == 1) continue;
      fills_.push_back(
          {fill.count, {fill.stride * strides[static_cast<std::size_t>(fill.axis)], 0}});
    }
  }

  Result<Injectivity> run() {
    if (std::optional<std::pair<Index, Index>> pair = dim_without_line()) return found(*pair);
    while (settle()) {
    }
    if (all_known()) return Injectivity{};
    if (work() <= kMaxWork / 256) return enumerate();
    if (auto pair = unplaced_digit()) return found(*pair);
    // The remaining digits may still be distinguishable together.
    std::vector<BoxDigit> box;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      if (digits_[i].known || digits_[i].move.is_zero()) continue;
      box.push_back({digits_[i].count, digits_[i].move});
      which.push_back(i);
    }
    const std::size_t free = box.size();
    box.insert(box.end(), fills_.begin(), fills_.end());
    const auto collision = box_collision(box, free);
    if (collision.ok() && !collision->has_value()) {
      for (const std::size_t i : which) digits_[i].known = true;
      while (settle()) {
      }
      if (all_known()) return Injectivity{};
    } else if (collision.ok()) {
      if (auto pair = realise(**collision, which)) return found(*pair);
    }
    if (work() <= kMaxWork) return enumerate();
    return Error{ErrorCode::kTooLarge,
                 "strides are too entangled to decide whether two elements share a slot",
                 std::nullopt, "use strides that nest: each a multiple of what is below it"};
  }

 private:
  std::int64_t extent(int dim) const { return lines_.shape[static_cast<std::size_t>(dim)]; }
  bool is_known(int dim) const { return known_dim_[static_cast<std::size_t>(dim)]; }
  bool all_known() const {
    return std::all_of(known_dim_.begin(), known_dim_.end(), [](bool known) { return known; });
  }

  static Injectivity found(std::pair<Index, Index> pair) {
    if (pair.second < pair.first) std::swap(pair.first, pair.second);
    return {false, std::move(pair)};
  }

  std::optional<std::pair<Index, Index>> dim_without_line() const {
    std::set<int> seen;
    for (const Line& line : lines_.lines) {
      for (const Term& term : line.terms) seen.insert(term.dim);
    }
    for (int dim = 0; dim < static_cast<int>(lines_.shape.rank()); ++dim) {
      if (extent(dim) <= 1 || seen.count(dim) > 0) continue;
      std::pair<Index, Index> pair{Index(lines_.shape.rank(), 0), Index(lines_.shape.rank(), 0)};
      pair.second[static_cast<std::size_t>(dim)] = 1;
      return pair;
    }
    return std::nullopt;
  }

  /// Two indices that differ only in a digit that moves nothing.
  std::optional<std::pair<Index, Index>> unplaced_digit() const {
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      if (digits_[i].count <= 1 || !digits_[i].move.is_zero()) continue;
      std::vector<std::int64_t> delta(1 + fills_.size(), 0);
      delta[0] = 1;
      if (auto pair = realise(delta, {i})) return pair;
    }
    return std::nullopt;
  }

  /// One round of deduction; false if it deduces nothing new.
  bool settle() {
    bool learned = settle_target([](const Position& move) { return move.slot; }, false);
    learned |= settle_target([](const Position& move) { return move.place; }, true);
    for (std::size_t l = 0; l < lines_.lines.size(); ++l) learned |= settle_line(l);
    return learned;
  }

  /// Unknown digits in memory (or on the mesh) whose strides nest are determined by the sum.
  template <typename Part>
  bool settle_target(Part part, bool with_fills) {
    std::vector<std::pair<std::int64_t, std::int64_t>> weights;  // stride, count
    for (const Digit& digit : digits_) {
      if (!digit.known && part(digit.move) != 0) {
        weights.emplace_back(std::abs(part(digit.move)), digit.count);
      }
    }
    if (weights.empty()) return false;
    if (with_fills) {
      for (const BoxDigit& fill : fills_) weights.emplace_back(fill.move.place, fill.count);
    }
    std::sort(weights.begin(), weights.end());
    Checked below = 0;
    for (const auto& [stride, count] : weights) {
      if (stride <= below.saturated()) return false;
      below += Checked(count - 1) * stride;
    }
    for (Digit& digit : digits_) {
      if (part(digit.move) != 0) digit.known = true;
    }
    return true;
  }

  /// If all digits of a line are known, the line is known; its dims are known if their coefficients
  /// nest. Conversely, if all its dims are known, its digits are known.
  bool settle_line(std::size_t l) {
    const Line& line = lines_.lines[l];
    const bool dims_known = std::all_of(line.terms.begin(), line.terms.end(),
                                        [&](const Term& term) { return is_known(term.dim); });
    const auto first = digits_.begin() + static_cast<std::ptrdiff_t>(first_digit_[l]);
    const auto last = digits_.begin() + static_cast<std::ptrdiff_t>(first_digit_[l + 1]);
    const bool digits_known =
        std::all_of(first, last, [](const Digit& digit) { return digit.known; });
    if (dims_known == digits_known && dims_known) return false;
    if (dims_known) {
      for (auto digit = first; digit != last; ++digit) digit->known = true;
      return true;
    }
    if (!digits_known) return false;
    std::vector<std::pair<std::int64_t, std::int64_t>> weights;
    for (const Term& term : line.terms) {
      if (!is_known(term.dim)) weights.emplace_back(std::abs(term.coef), extent(term.dim));
    }
    std::sort(weights.begin(), weights.end());
    Checked below = 0;
    for (const auto& [coef, count] : weights) {
      if (coef <= below.saturated()) return false;
      below += Checked(count - 1) * coef;
    }
    for (const Term& term : line.terms) known_dim_[static_cast<std::size_t>(term.dim)] = true;
    return true;
  }

  /// Dims that could matter to a collision: unknown ones, and known ones that share a line with
  /// them.
  std::vector<int> dims_to_try() const {
    std::set<int> dims;
    for (const Line& line : lines_.lines) {
      const bool matters = std::any_of(line.terms.begin(), line.terms.end(),
                                       [&](const Term& term) { return !is_known(term.dim); });
      if (!matters) continue;
      for (const Term& term : line.terms) dims.insert(term.dim);
    }
    return {dims.begin(), dims.end()};
  }

  /// The cost of enumeration.
  std::int64_t work() const {
    Checked product = Checked(form_.replicas()) * static_cast<std::int64_t>(digits_.size() + 1);
    for (const int dim : dims_to_try()) product *= extent(dim);
    return product.saturated();
  }

  Result<Injectivity> enumerate() const {
    const std::vector<int> dims = dims_to_try();
    std::vector<std::int64_t> extents;
    for (const int dim : dims) extents.push_back(extent(dim));
    TESSERA_TRY(const Shape box, Shape::make(extents));
    if (!Work::reserve((Checked(work()) * kSteps).saturated())) {
      return Work::too_large("comparing the slots of all elements");
    }
    std::vector<Position> copies = {Position{}};
    for (const BoxDigit& fill : fills_) {
      std::vector<Position> more;
      for (const Position& copy : copies) {
        for (std::int64_t i = 0; i < fill.count; ++i) more.push_back(copy + fill.move * i);
      }
      copies = std::move(more);
    }
    std::vector<std::pair<Position, std::int64_t>> taken;
    taken.reserve(static_cast<std::size_t>(box.elements()) * copies.size());
    const auto widen = [&](std::int64_t number) {
      Index index(lines_.shape.rank(), 0);
      const Index inner = box.delinear(number);
      for (std::size_t d = 0; d < dims.size(); ++d) {
        index[static_cast<std::size_t>(dims[d])] = inner[d];
      }
      return index;
    };
    for (std::int64_t number = 0; number < box.elements(); ++number) {
      const Position position = lines_.position(widen(number));
      for (const Position& copy : copies) taken.emplace_back(position + copy, number);
    }
    std::sort(taken.begin(), taken.end());
    for (std::size_t i = 1; i < taken.size(); ++i) {
      if (taken[i].first == taken[i - 1].first && taken[i].second != taken[i - 1].second) {
        return found({widen(taken[i - 1].second), widen(taken[i].second)});
      }
    }
    return Injectivity{};
  }

  /// Two indices whose digits differ by `delta`, if the smallest such digits belong to indices.
  std::optional<std::pair<Index, Index>> realise(const std::vector<std::int64_t>& delta,
                                                 const std::vector<std::size_t>& which) const {
    std::vector<std::int64_t> minus(lines_.lines.size(), 0);
    std::vector<std::int64_t> plus(lines_.lines.size(), 0);
    for (std::size_t i = 0; i < which.size(); ++i) {
      const Digit& digit = digits_[which[i]];
      minus[digit.line] += std::max<std::int64_t>(0, -delta[i]) * digit.width;
      plus[digit.line] += std::max<std::int64_t>(0, delta[i]) * digit.width;
    }
    std::pair<Index, Index> pair{Index(lines_.shape.rank(), 0), Index(lines_.shape.rank(), 0)};
    for (std::size_t l = 0; l < lines_.lines.size(); ++l) {
      const Line& line = lines_.lines[l];
      if (line.terms.size() != 1 || minus[l] == plus[l]) continue;
      const Term& term = line.terms[0];
      for (auto [value, index] : {std::pair{minus[l], &pair.first}, {plus[l], &pair.second}}) {
        const std::int64_t x = (value - line.start) / term.coef;
        if (x < 0 || x >= extent(term.dim)) return std::nullopt;
        (*index)[static_cast<std::size_t>(term.dim)] = x;
      }
    }
    Position gap = lines_.position(pair.first) - lines_.position(pair.second);
    if (pair.first == pair.second) return std::nullopt;
    for (std::size_t f = 0; f < fills_.size(); ++f) {
      gap += fills_[f].move * -delta[which.size() + f];
    }
    if (!gap.is_zero()) return std::nullopt;
    return pair;
  }

  const Form& form_;
  const Lines& lines_;
  std::vector<bool> known_dim_;
  std::vector<Digit> digits_;             // of all lines, in order
  std::vector<std::size_t> first_digit_;  // of each line, and one past the last
  std::vector<BoxDigit> fills_;
};

}  // namespace

Result<Injectivity> is_injective(const Form& form) {
  if (form.shape.elements() <= 1) return Injectivity{};
  TESSERA_TRY(const Lines lines, canonical(form));
  return Deduction(form, lines).run();
}

Status check_writable(const Form& form) {
  TESSERA_TRY(const Injectivity found, is_injective(form));
  if (found.injective) return ok_status();
  return Error{ErrorCode::kNotInjective,
               cat("elements ", bracketed(found.collision->first), " and ",
                   bracketed(found.collision->second), " share a slot of the destination"),
               std::nullopt, "write to a layout in which every element has a separate slot"};
}

}  // namespace tessera
