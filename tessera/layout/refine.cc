// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"
#include "tessera/layout/form.h"

namespace tessera {
namespace {

constexpr std::size_t kMaxPieces = std::size_t{1} << 18;
constexpr std::int64_t kStepsPerPiece = 8;

PositionPair operator+(PositionPair x, PositionPair y) { return {x.a + y.a, x.b + y.b}; }
PositionPair operator*(PositionPair x, std::int64_t n) { return {x.a * n, x.b * n}; }
PositionPair& operator+=(PositionPair& x, PositionPair y) { return x = x + y; }

/// A line of either form, with moves on both sides (one of which is zero).
struct SidedCut {
  std::int64_t width;
  PositionPair move;
};
struct SidedLine {
  std::vector<Term> terms;
  std::int64_t start;
  std::vector<SidedCut> cuts;

  std::int64_t coef(int dim) const {
    for (const Term& term : terms) {
      if (term.dim == dim) return term.coef;
    }
    return 0;
  }
};

/// A line seen from one point, along one dim: the remainder at the point, the change per step along
/// the dim, and the cuts that are still to be made.
struct Ray {
  const SidedLine* line;
  std::size_t cut;
  std::int64_t left;
  std::int64_t coef;

  const SidedCut& at() const { return line->cuts[cut]; }
  bool linear() const { return cut + 1 == line->cuts.size(); }
  /// Steps after which the digit has advanced by a whole number and the remainder is the same.
  std::int64_t period() const { return at().width / std::gcd(at().width, coef); }
  /// Whether the point is the first of its digit, seen along the dim.
  bool begins() const { return floor_div(left - coef, at().width) != floor_div(left, at().width); }
  /// Steps from the point until the digit changes.
  std::int64_t until_change() const {
    if (coef > 0) return ceil_div(at().width - floor_mod(left, at().width), coef);
    return floor_mod(left, at().width) / -coef + 1;
  }
};

/// Splits the dims of one factor into pieces.
class Splitter {
 public:
  Splitter(const Shape& shape, const std::vector<SidedLine>& lines, Factor& out)
      : shape_(shape), lines_(lines), out_(out) {
    for (const SidedLine& line : lines) starts_.push_back(line.start);
    current_.origin.assign(out.dims.size(), 0);
  }

  /// False if there are too many pieces.
  bool run() { return outer(0); }

 private:
  std::int64_t extent(std::size_t i) const {
    return shape_[static_cast<std::size_t>(out_.dims[i])];
  }

  /// Enumerates the residues of dim number i modulo its period; whole periods become a loop.
  bool outer(std::size_t i) {
    if (out_.dims.empty()) return emit(0, 1, {}, {});
    if (i + 1 == out_.dims.size()) {
      std::vector<Ray> rays;
      for (std::size_t l = 0; l < lines_.size(); ++l) {
        rays.push_back({&lines_[l], 0, starts_[l], lines_[l].coef(out_.dims[i])});
      }
      return along(rays, 0, extent(i), PositionPair{}, PositionPair{});
    }
    const int dim = out_.dims[i];
    std::int64_t period = 1;
    for (const SidedLine& line : lines_) {
      const std::int64_t coef = line.coef(dim);
      if (coef == 0 || line.cuts.size() == 1) continue;
      period = saturating_lcm(period, line.cuts[0].width / std::gcd(line.cuts[0].width, coef));
    }
    const std::int64_t periods = extent(i) / period;
    std::int64_t done = 0;
    if (periods >= 2) {
      Loop loop{dim, periods, period, {}};
      for (const SidedLine& line : lines_) {
        const std::int64_t coef = line.coef(dim);
        if (coef == 0) continue;
        // coef · period / width is an integer; dividing first keeps it within 64 bits.
        const std::int64_t g = std::gcd(line.cuts[0].width, coef);
        loop.move += line.cuts[0].move * (coef / g * (period / (line.cuts[0].width / g)));
      }
      current_.loops.push_back(loop);
      for (std::int64_t x = 0; x < period; ++x) {
        if (!at(i, x)) return false;
      }
      current_.loops.pop_back();
      done = periods * period;
    }
    for (std::int64_t x = done; x < extent(i); ++x) {
      if (!at(i, x)) return false;
    }
    return true;
  }

  bool at(std::size_t i, std::int64_t x) {
    const std::vector<std::int64_t> saved = starts_;
    for (std::size_t l = 0; l < lines_.size(); ++l) {
      starts_[l] += lines_[l].coef(out_.dims[i]) * x;
    }
    current_.origin[i] = x;
    const bool fine = outer(i + 1);
    starts_ = saved;
    current_.origin[i] = 0;
    return fine;
  }

  /// Splits [x, x + n) of the last dim. `rays` are at x; `at` and `slope` collect what is already
  /// linear over the whole interval.
  bool along(const std::vector<Ray>& rays, std::int64_t x, std::int64_t n, PositionPair at,
             PositionPair slope) {
    // Resolve every digit that does not change inside the interval.
    std::vector<Ray> active;
    for (Ray ray : rays) {
      while (!ray.linear()) {
        const std::int64_t first = floor_div(ray.left, ray.at().width);
        const std::int64_t last = floor_div(ray.left + ray.coef * (n - 1), ray.at().width);
        if (first != last) break;
        at += ray.at().move * first;
        ray.left -= first * ray.at().width;
        ++ray.cut;
      }
      if (ray.linear()) {
        at += ray.at().move * ray.left;
        slope += ray.at().move * ray.coef;
      } else {
        active.push_back(ray);
      }
    }
    if (active.empty()) return emit(x, n, at, slope);
    std::int64_t period = 1;
    const Ray* longest = &active.front();
    for (const Ray& ray : active) {
      period = saturating_lcm(period, ray.period());
      if (ray.at().width / std::abs(ray.coef) > longest->at().width / std::abs(longest->coef)) {
        longest = &ray;
      }
    }
    if (n / period >= 2) {
      // Periods must begin where some digit begins, or their ends would split segments.
      std::int64_t head = n;
      for (const Ray& ray : active) head = std::min(head, ray.begins() ? 0 : ray.until_change());
      if (head == 0) return periodic(active, x, n, at, slope, period);
      std::vector<Ray> rest = active;
      for (Ray& ray : rest) ray.left += ray.coef * head;
      return along(active, x, head, at, slope) &&
             along(rest, x + head, n - head, at + slope * head, slope);
    }
    // No period fits twice: cut where the longest pieces end.
    for (std::int64_t done = 0; done < n;) {
      std::vector<Ray> here = active;
      Ray guide = *longest;
      for (Ray& ray : here) ray.left += ray.coef * done;
      guide.left += guide.coef * done;
      const std::int64_t length = std::min(n - done, guide.until_change());
      if (!along(here, x + done, length, at + slope * done, slope)) return false;
      done += length;
    }
    return true;
  }

  bool periodic(const std::vector<Ray>& active, std::int64_t x, std::int64_t n, PositionPair at,
                PositionPair slope, std::int64_t period) {
    const std::int64_t periods = n / period;
    PositionPair move = slope * period;
    for (const Ray& ray : active) {
      const std::int64_t g = std::gcd(ray.at().width, ray.coef);
      move += ray.at().move * (ray.coef / g * (period / (ray.at().width / g)));
    }
    current_.loops.push_back({out_.dims.back(), periods, period, move});
    if (!along(active, x, period, at, slope)) return false;
    current_.loops.pop_back();
    const std::int64_t done = periods * period;
    if (done == n) return true;
    std::vector<Ray> rest = active;
    for (Ray& ray : rest) ray.left += ray.coef * done;
    return along(rest, x + done, n - done, at + slope * done, slope);
  }

  bool emit(std::int64_t x, std::int64_t n, PositionPair at, PositionPair slope) {
    if (out_.pieces.size() == kMaxPieces || !Work::spend(kStepsPerPiece)) return false;
    Piece piece = current_;
    if (!piece.origin.empty()) piece.origin.back() = x;
    piece.at = at;
    if (n > 1) piece.loops.push_back({out_.dims.back(), n, 1, slope});
    out_.pieces.push_back(std::move(piece));
    return true;
  }

  const Shape& shape_;
  const std::vector<SidedLine>& lines_;
  Factor& out_;
  std::vector<std::int64_t> starts_;
  Piece current_;
};

void add_lines(const Lines& from, bool side_a, bool side_b, std::vector<SidedLine>& to) {
  for (const Line& line : from.lines) {
    SidedLine sided{line.terms, line.start, {}};
    for (const LineCut& cut : line.cuts) {
      sided.cuts.push_back(
          {cut.width, {side_a ? cut.move : Position{}, side_b ? cut.move : Position{}}});
    }
    to.push_back(std::move(sided));
  }
}

/// The lines that use one set of connected dims.
struct Group {
  std::vector<int> dims;
  std::vector<SidedLine> lines;
};

/// Groups of dims that lines of several terms connect, each with its lines. Dims are ordered from
/// the largest steps to the smallest, which is walked last.
std::vector<Group> tie_dims(const Shape& shape, std::vector<SidedLine> lines) {
  std::vector<int> parent(shape.rank());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int dim) {
    while (parent[static_cast<std::size_t>(dim)] != dim) {
      dim = parent[static_cast<std::size_t>(dim)];
    }
    return dim;
  };
  std::vector<std::int64_t> weight(shape.rank(), 0);
  for (const SidedLine& line : lines) {
    for (const Term& term : line.terms) {
      parent[static_cast<std::size_t>(root(term.dim))] = root(line.terms[0].dim);
      auto& largest = weight[static_cast<std::size_t>(term.dim)];
      if (line.terms.size() > 1) largest = std::max(largest, std::abs(term.coef));
    }
  }
  std::vector<Group> groups;
  std::vector<int> group_of(shape.rank(), -1);
  for (int dim = 0; dim < static_cast<int>(shape.rank()); ++dim) {
    if (shape[static_cast<std::size_t>(dim)] <= 1) continue;
    int& group = group_of[static_cast<std::size_t>(root(dim))];
    if (group < 0) {
      group = static_cast<int>(groups.size());
      groups.emplace_back();
    }
    groups[static_cast<std::size_t>(group)].dims.push_back(dim);
  }
  for (Group& group : groups) {
    std::sort(group.dims.begin(), group.dims.end(), [&](int a, int b) {
      const std::int64_t weight_a = weight[static_cast<std::size_t>(a)];
      const std::int64_t weight_b = weight[static_cast<std::size_t>(b)];
      return weight_a != weight_b ? weight_a > weight_b : a < b;
    });
  }
  for (SidedLine& line : lines) {
    const int group = group_of[static_cast<std::size_t>(root(line.terms[0].dim))];
    groups[static_cast<std::size_t>(group)].lines.push_back(std::move(line));
  }
  return groups;
}

Result<Refinement> refine_lines(const Lines& a, const Lines& b, bool both_sides_a) {
  std::vector<SidedLine> lines;
  add_lines(a, true, both_sides_a, lines);
  if (!both_sides_a) add_lines(b, false, true, lines);
  std::vector<Factor> factors;
  if (!a.shape.empty()) {
    for (Group& group : tie_dims(a.shape, std::move(lines))) {
      Factor factor{group.dims, {}};
      if (!Splitter(a.shape, group.lines, factor).run()) {
        if (Work::is_spent()) return Work::too_large("refining a layout");
        return Error{ErrorCode::kTooLarge,
                     cat("the common refinement along dim ", group.dims.back(), " has more than ",
                         kMaxPieces, " pieces"),
                     std::nullopt, "widths that share larger factors refine into fewer pieces"};
      }
      factors.push_back(std::move(factor));
    }
  }
  return Refinement(a.shape, a.mesh, b.mesh, PositionPair{a.base, b.base}, std::move(factors));
}

}  // namespace

std::int64_t Nest::elements() const {
  std::int64_t product = 1;
  for (const Loop& loop : loops) product *= loop.extent;
  return product;
}

Refinement::Refinement(Shape shape, Shape mesh_a, Shape mesh_b, PositionPair base,
                       std::vector<Factor> factors)
    : shape_(std::move(shape)),
      mesh_a_(std::move(mesh_a)),
      mesh_b_(std::move(mesh_b)),
      base_(base),
      factors_(std::move(factors)),
      nests_(shape_.empty() ? 0 : 1) {
  // Each nest holds an element, and the number of elements fits.
  for (const Factor& factor : factors_) {
    nests_ *= static_cast<std::int64_t>(factor.pieces.size());
  }
}

Nest Refinement::nest(std::int64_t i) const {
  assert(i >= 0 && i < nests_);
  Nest nest{Index(shape_.rank(), 0), base_, {}};
  for (std::size_t f = factors_.size(); f-- > 0;) {
    const Factor& factor = factors_[f];
    const auto count = static_cast<std::int64_t>(factor.pieces.size());
    const Piece& piece = factor.pieces[static_cast<std::size_t>(i % count)];
    i /= count;
    nest.at += piece.at;
    for (std::size_t d = 0; d < factor.dims.size(); ++d) {
      nest.origin[static_cast<std::size_t>(factor.dims[d])] = piece.origin[d];
    }
    nest.loops.insert(nest.loops.begin(), piece.loops.begin(), piece.loops.end());
  }
  return nest;
}

Result<Refinement> refine(const Lines& a, const Lines& b) {
  if (a.shape != b.shape) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("shapes [", join(a.shape.extents(), ", "), "] and [",
                     join(b.shape.extents(), ", "), "] differ"),
                 std::nullopt, "both must have the same shape"};
  }
  return refine_lines(a, b, false);
}

Result<Refinement> refine(const Form& a, const Form& b) {
  TESSERA_TRY(const Lines lines_a, canonical(a));
  TESSERA_TRY(const Lines lines_b, canonical(b));
  return refine(lines_a, lines_b);
}

Result<Refinement> refine(const Form& a) {
  TESSERA_TRY(const Lines lines, canonical(a));
  return refine_lines(lines, lines, true);
}

}  // namespace tessera
