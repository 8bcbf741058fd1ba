// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/layout/form.h"

namespace tessera {
namespace {

/// Smallest and largest value of a sum of terms.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

Range range_of(const std::vector<Term>& terms, const Shape& shape) {
  Range range;
  for (const Term& term : terms) {
    const std::int64_t reach = term.coef * (shape[static_cast<std::size_t>(term.dim)] - 1);
    (reach < 0 ? range.low : range.high) += reach;
  }
  return range;
}

/// Reduces lines to canonical form and collects constants.
class Canonicaliser {
 public:
  Canonicaliser(const Shape& shape, Lines& out) : shape_(shape), out_(out) {}

  void add(Line line) {
    std::erase_if(line.terms, [&](const Term& term) {
      return shape_[static_cast<std::size_t>(term.dim)] == 1;
    });
    std::sort(line.terms.begin(), line.terms.end(), [](const Term& a, const Term& b) {
      return std::abs(a.coef) != std::abs(b.coef) ? std::abs(a.coef) > std::abs(b.coef)
                                                  : a.dim < b.dim;
    });
    simplify(line);
    if (line.terms.empty() || moves_nothing(line)) return;
    if (line.cuts.size() == 1) {  // linear: each term is a line of its own
      for (const Term& term : line.terms) {
        keep(Line{{Term{term.dim, 1}}, 0, {LineCut{1, line.cuts[0].move * term.coef}}});
      }
      return;
    }
    if (auto halves = un_collapse(line)) {
      add(std::move(halves->first));
      add(std::move(halves->second));
      return;
    }
    if (divide_by_common_factor(line)) {
      add(std::move(line));  // widths may have become 1, and digits constant
      return;
    }
    keep(std::move(line));
  }

  /// Joins lines of one dim into one chain if their widths interleave as divisors.
  void finish() {
    for (std::size_t i = 0; i < out_.lines.size(); ++i) {
      for (std::size_t j = i + 1; j < out_.lines.size();) {
        if (std::optional<Line> joined = join(out_.lines[i], out_.lines[j])) {
          out_.lines.erase(out_.lines.begin() + static_cast<std::ptrdiff_t>(j));
          simplify(*joined);
          out_.lines[i] = *std::move(joined);
          j = i + 1;
        } else {
          ++j;
        }
      }
    }
    std::erase_if(out_.lines, moves_nothing);
    std::sort(out_.lines.begin(), out_.lines.end(), [](const Line& a, const Line& b) {
      const auto key = [](const Line& line) {
        std::vector<std::int64_t> dims;
        for (const Term& term : line.terms) {
          dims.push_back(term.dim);
          dims.push_back(term.coef);
        }
        return dims;
      };
      const auto key_a = key(a);
      const auto key_b = key(b);
      return std::tie(key_a, a.start, a.cuts) < std::tie(key_b, b.start, b.cuts);
    });
  }

 private:
  static bool moves_nothing(const Line& line) {
    return std::all_of(line.cuts.begin(), line.cuts.end(),
                       [](const LineCut& cut) { return cut.move.is_zero(); });
  }

  void keep(Line line) { out_.lines.push_back(std::move(line)); }

  /// Drops digits that never change, joins neighbouring digits that act as one, and moves the
  /// constant part of the outermost digit into the base.
  void simplify(Line& line) {
    const Range terms = range_of(line.terms, shape_);
    for (bool changed = true; changed;) {
      changed = false;
      while (line.cuts.size() > 1) {
        const LineCut& outer = line.cuts.front();
        const std::int64_t first = floor_div(line.start + terms.low, outer.width);
        const std::int64_t last = floor_div(line.start + terms.high, outer.width);
        out_.base += outer.move * first;
        line.start -= first * outer.width;
        if (first != last) break;
        line.cuts.erase(line.cuts.begin());
        changed = true;
      }
      std::int64_t left = line.start + terms.high + 1;  // values below this reach the next cut
      for (std::size_t k = 0; k + 1 < line.cuts.size();) {
        left = std::min(left, line.cuts[k].width);
        const bool always_zero = line.cuts[k + 1].width >= left;
        if (always_zero && (line.cuts[k + 1].width > 1 || line.cuts[k].width == 1)) {
          line.cuts.erase(line.cuts.begin() + static_cast<std::ptrdiff_t>(k) + 1);
          changed = true;
        } else {
          ++k;
        }
      }
      for (std::size_t k = 0; k + 1 < line.cuts.size();) {
        const LineCut& outer = line.cuts[k];
        const LineCut& inner = line.cuts[k + 1];
        if (outer.width % inner.width == 0 &&
            outer.move == inner.move * (outer.width / inner.width)) {
          line.cuts.erase(line.cuts.begin() + static_cast<std::ptrdiff_t>(k));
          changed = true;
        } else {
          ++k;
        }
      }
    }
    if (line.cuts.size() == 1) {
      out_.base += line.cuts[0].move * line.start;
      line.start = 0;
      if (line.terms.size() == 1) {
        line.cuts[0].move = line.cuts[0].move * line.terms[0].coef;
        line.terms[0].coef = 1;
      }
    }
  }

  /// p = a·B + y with 0 <= y < a. If the outer widths are multiples of a, and the last of them is a
  /// or the next width divides a, then the outer digits depend only on B and the inner digits only
  /// on y, so the line is two lines.
  std::optional<std::pair<Line, Line>> un_collapse(const Line& line) const {
    std::int64_t a = 0;
    for (std::size_t split = 1; split < line.terms.size(); ++split) {
      a = std::gcd(a, line.terms[split - 1].coef);
      const std::vector<Term> inner(line.terms.begin() + static_cast<std::ptrdiff_t>(split),
                                    line.terms.end());
      const Range y = range_of(inner, shape_);
      const std::int64_t inner_start = floor_mod(line.start + y.low, a) - y.low;
      if (inner_start + y.high >= a) continue;
      std::size_t k = 0;
      while (k < line.cuts.size() && line.cuts[k].width % a == 0) ++k;
      const bool cut_at_a = k > 0 && line.cuts[k - 1].width == a;  // the remainder is y
      if (k == line.cuts.size() || (!cut_at_a && a % line.cuts[k].width != 0)) continue;
      Line high;
      for (std::size_t i = 0; i < split; ++i) {
        high.terms.push_back({line.terms[i].dim, line.terms[i].coef / a});
      }
      high.start = (line.start - inner_start) / a;
      for (std::size_t i = 0; i < k; ++i) {
        high.cuts.push_back({line.cuts[i].width / a, line.cuts[i].move});
      }
      if (!cut_at_a) high.cuts.push_back({1, line.cuts[k].move * (a / line.cuts[k].width)});
      Line low{inner,
               inner_start,
               {line.cuts.begin() + static_cast<std::ptrdiff_t>(k), line.cuts.end()}};
      return std::pair{std::move(high), std::move(low)};
    }
    return std::nullopt;
  }

  /// If g divides all coefficients and every width except the last, all of them can be divided by
  /// g.
  bool divide_by_common_factor(Line& line) {
    std::int64_t g = 0;
    for (const Term& term : line.terms) g = std::gcd(g, term.coef);
    for (std::size_t k = 0; k + 1 < line.cuts.size(); ++k) {
      if (line.cuts[k].width % g != 0) return false;
    }
    if (g == 1) return false;
    const std::int64_t rest = floor_mod(line.start, g);
    for (Term& term : line.terms) term.coef /= g;
    line.start = (line.start - rest) / g;
    for (std::size_t k = 0; k + 1 < line.cuts.size(); ++k) line.cuts[k].width /= g;
    out_.base += line.cuts.back().move * rest;
    line.cuts.back().move = line.cuts.back().move * g;
    return true;
  }

  /// One chain that replaces two over the same single dim, if every width of one is a multiple or a
  /// divisor of every width of the other.
  std::optional<Line> join(const Line& a, const Line& b) {
    if (a.terms.size() != 1 || b.terms.size() != 1 || a.terms[0].dim != b.terms[0].dim) {
      return std::nullopt;
    }
    const bool a_linear = a.cuts.size() == 1;
    const bool b_linear = b.cuts.size() == 1;
    if (a_linear && !b_linear) return join(b, a);
    if (!b_linear && (a.terms != b.terms || a.start != b.start)) return std::nullopt;
    if (b_linear && !a_linear && a.terms[0].coef != 1) return std::nullopt;
    if (b_linear) out_.base += b.cuts[0].move * -a.start;  // b counts p, which is x + start
    std::vector<std::int64_t> widths;
    for (const LineCut& cut : a.cuts) widths.push_back(cut.width);
    for (const LineCut& cut : b.cuts) widths.push_back(cut.width);
    std::sort(widths.begin(), widths.end(), std::greater<>());
    widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
    const auto divide = [](const std::vector<std::int64_t>& chain) {
      for (std::size_t k = 1; k < chain.size(); ++k) {
        if (chain[k - 1] % chain[k] != 0) return false;
      }
      return true;
    };
    // A linear line moves each digit in proportion to its width, so it joins any chain.
    if (!b_linear && !divide(widths)) return std::nullopt;
    Line joined{a.terms, a.start, {}};
    if (b_linear) {
      joined.cuts = a.cuts;
      for (LineCut& cut : joined.cuts) cut.move += b.cuts[0].move * cut.width;
      return joined;
    }
    const auto move_at = [](const Line& line, std::int64_t width) {
      for (const LineCut& cut : line.cuts) {
        if (cut.width <= width) return cut.move * (width / cut.width);
      }
      return Position{};
    };
    for (const std::int64_t width : widths) {
      joined.cuts.push_back({width, move_at(a, width) + move_at(b, width)});
    }
    return joined;
  }

  const Shape& shape_;
  Lines& out_;
};

}  // namespace

bool Lines::separable() const {
  return std::all_of(lines.begin(), lines.end(),
                     [](const Line& line) { return line.terms.size() == 1; });
}

Position Lines::position(const Index& index) const {
  Position sum = base;
  for (const Line& line : lines) {
    std::int64_t left = line.start;
    for (const Term& term : line.terms) {
      left += term.coef * index[static_cast<std::size_t>(term.dim)];
    }
    for (const LineCut& cut : line.cuts) {
      if (cut.width == 1) {
        sum += cut.move * left;
      } else {
        sum += cut.move * (left / cut.width);
        left %= cut.width;
      }
    }
  }
  return sum;
}

Result<Lines> canonical(const Form& form, const Shape& mesh) {
  if (mesh.rank() != form.mesh.rank()) {
    return Error{ErrorCode::kMeshMismatch, cat("a mesh of rank ", mesh.rank(),
                                               " for a form on a mesh of rank ", form.mesh.rank())};
  }
  Lines lines;
  lines.shape = form.shape;
  lines.mesh = mesh;
  if (form.shape.empty()) return lines;
  const std::vector<std::int64_t> place_strides = mesh.row_major_strides();
  lines.base.slot = form.offset;
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kFixed) continue;
    lines.base.place += fill.value * place_strides[static_cast<std::size_t>(fill.axis)];
  }
  Canonicaliser canonicaliser(lines.shape, lines);
  for (const Fold& fold : form.folds) {
    Line line{fold.terms, fold.start, {}};
    for (const Cut& cut : fold.cuts) {
      Position move;
      if (cut.target.is_memory()) move.slot = cut.stride;
      if (cut.target.is_mesh()) {
        move.place = cut.stride * place_strides[static_cast<std::size_t>(cut.target.axis())];
      }
      line.cuts.push_back({cut.width, move});
    }
    canonicaliser.add(std::move(line));
  }
  canonicaliser.finish();
  return lines;
}

}  // namespace tessera
