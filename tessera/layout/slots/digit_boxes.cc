// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/slots/digit_boxes.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"

namespace tessera {
namespace {

constexpr std::size_t kMaxPoints = std::size_t{1} << 20;

}  // namespace

DigitBoxes::DigitBoxes(const Fold& fold, const Shape& shape)
    : fold_(&fold), extent_(fold.extent(shape)) {
  const std::vector<std::int64_t> needed = fold.needed(shape);
  for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
    const Cut& cut = fold.cuts[k];
    // An unplaced digit takes no memory, so values that it never takes are ignored.
    ranges_.push_back(
        {0, cut.target.is_nothing() ? std::max<std::int64_t>(needed[k], 1) : cut.count});
  }
}

std::int64_t DigitBoxes::settings() const {
  std::int64_t product = 1;
  for (const DigitRange& range : ranges_) product *= range.count();
  return product;
}

std::int64_t DigitBoxes::below(std::size_t cut, std::int64_t limit) const {
  // From the innermost cut outwards: `full[k]` is the number of settings of the digits from k on
  // that pass their tests.
  const std::size_t n = cuts();
  std::vector<std::int64_t> full(n + 1, 1);
  const auto count_from = [&](std::size_t k, std::int64_t bound) {
    std::int64_t total = 0;
    for (; k < n; ++k) {
      if (bound <= 0) return total;
      const std::int64_t quotient = bound / fold_->cuts[k].width;
      const DigitRange& range = ranges_[k];
      total += std::max<std::int64_t>(0, std::min(quotient, range.to) - range.from) * full[k + 1];
      if (quotient < range.from || quotient >= range.to) return total;
      bound -= quotient * fold_->cuts[k].width;
    }
    return total + (bound > 0 ? 1 : 0);
  };
  for (std::size_t k = n; k-- > cut + 1;) full[k] = count_from(k, fold_->cuts[k - 1].width);
  return count_from(cut, limit);
}

std::int64_t DigitBoxes::failures(std::size_t cut) const {
  std::int64_t outer = 1;
  for (std::size_t k = 0; k < cut; ++k) outer *= ranges_[k].count();
  const std::int64_t inner = cut + 1 == cuts() ? 1 : below(cut + 1, fold_->cuts[cut].width);
  return outer * (ranges_[cut].count() * inner - below(cut, limit(cut)));
}

bool DigitBoxes::between(std::size_t cut, std::int64_t from, std::int64_t to,
                         std::vector<DigitRange>& box, const Visit& visit) const {
  if (from >= to) return true;
  if (cut == cuts()) return from > 0 ? true : visit(box);
  const std::int64_t width = fold_->cuts[cut].width;
  const DigitRange& range = ranges_[cut];
  const auto piece = [&](std::int64_t first, std::int64_t last, std::int64_t low,
                         std::int64_t high) {
    const DigitRange clipped{std::max(first, range.from), std::min(last, range.to)};
    if (clipped.count() == 0) return true;
    box[cut] = clipped;
    return between(cut + 1, low, high, box, visit);
  };
  std::int64_t first = from / width;
  const std::int64_t last = (to - 1) / width;  // the last digit that begins below `to`
  const std::int64_t last_high = to - last * width;
  if (first == last)
    return piece(first, first + 1, from - first * width, std::min(last_high, width));
  if (from % width != 0) {
    if (!piece(first, first + 1, from % width, width)) return false;
    ++first;
  }
  const std::int64_t full_end = last_high >= width ? last + 1 : last;
  if (first < full_end && !piece(first, full_end, 0, width)) return false;
  return full_end > last || piece(last, last + 1, 0, last_high);
}

bool DigitBoxes::points(std::int64_t from, std::int64_t to, const Visit& visit) const {
  std::vector<DigitRange> box = ranges_;
  return between(0, from, to, box, visit);
}

bool DigitBoxes::overshoots(std::size_t cut, const Visit& visit) const {
  for (std::size_t k = 0; k < cut; ++k) {
    if (ranges_[k].count() == 0) return true;
  }
  std::vector<DigitRange> box = ranges_;
  return between(cut, limit(cut), INT64_MAX, box, visit);
}

LinePoints::LinePoints(const Fold& fold, const Shape& shape) : extent_(fold.extent(shape)) {
  if (extent_ == 0) return;
  first_ = fold.first(shape);
  for (const Term& term : fold.terms) {
    const std::int64_t extent = shape[static_cast<std::size_t>(term.dim)];
    weights_.push_back({term.dim, extent, std::abs(term.coef), term.coef < 0, 0});
  }
  std::sort(weights_.begin(), weights_.end(), [](const Weight& a, const Weight& b) {
    return a.coef != b.coef ? a.coef > b.coef : a.dim < b.dim;
  });
  std::int64_t below = 0;
  for (std::size_t i = weights_.size(); i-- > 0;) {
    weights_[i].below = below;
    if (weights_[i].extent > 1 && weights_[i].coef <= below) nested_ = false;
    below += weights_[i].coef * (weights_[i].extent - 1);
  }
}

std::optional<std::int64_t> LinePoints::count() const {
  if (extent_ == 0) return 0;
  if (nested_) {
    std::int64_t product = 1;
    for (const Weight& weight : weights_) product *= weight.extent;
    return product;
  }
  std::int64_t total = 0;
  bool too_large = false;
  runs(
      [&](std::int64_t from, std::int64_t to) {
        total += to - from;
        return true;
      },
      too_large);
  if (too_large) return std::nullopt;
  return total;
}

bool LinePoints::ungapped() const {
  const std::optional<std::int64_t> points = count();
  return points && *points == extent_;
}

bool LinePoints::runs(const std::function<bool(std::int64_t, std::int64_t)>& visit,
                      bool& too_large) const {
  if (extent_ == 0) return true;
  if (nested_) {
    // The innermost terms that continue each other form one run; the others count like an odometer,
    // in increasing order because coefficients decrease.
    std::size_t outer = weights_.size();
    std::int64_t length = 1;
    while (outer > 0 && (weights_[outer - 1].extent == 1 || weights_[outer - 1].coef == length)) {
      length *= weights_[--outer].extent;
    }
    std::vector<std::int64_t> digit(outer, 0);
    std::int64_t at = first_;
    for (std::size_t steps = 0;; ++steps) {
      if (steps > kMaxPoints || !Work::spend(8)) {
        too_large = true;
        return false;
      }
      if (!visit(at, at + length)) return false;
      std::size_t i = outer;
      while (i-- > 0) {
        at += weights_[i].coef;
        if (++digit[i] < weights_[i].extent) break;
        at -= weights_[i].coef * digit[i];
        digit[i] = 0;
      }
      if (i == SIZE_MAX) return true;
    }
  }
  // Overlapping sums: collect runs of points term by term, innermost first.
  using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  Runs points = {{0, 1}};
  for (std::size_t i = weights_.size(); i-- > 0;) {
    Runs more;
    if ((Checked(static_cast<std::int64_t>(points.size())) * weights_[i].extent).saturated() >
        static_cast<std::int64_t>(kMaxPoints)) {
      too_large = true;
      return false;
    }
    if (!Work::reserve(8 * static_cast<std::int64_t>(points.size()) * weights_[i].extent)) {
      too_large = true;
      return false;
    }
    for (std::int64_t x = 0; x < weights_[i].extent; ++x) {
      for (const auto& [from, to] : points) {
        more.emplace_back(from + x * weights_[i].coef, to + x * weights_[i].coef);
      }
    }
    std::sort(more.begin(), more.end());
    points.clear();
    for (const auto& [from, to] : more) {
      if (!points.empty() && from <= points.back().second) {
        points.back().second = std::max(points.back().second, to);
      } else {
        points.emplace_back(from, to);
      }
    }
  }
  for (const auto& [from, to] : points) {
    if (!visit(first_ + from, first_ + to)) return false;
  }
  return true;
}

}  // namespace tessera
