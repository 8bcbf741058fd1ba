// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/model/candidates.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"

namespace tessera::plan {
namespace {

constexpr std::size_t kMostFactors = 4;
constexpr std::size_t kFreeAxes = 2;  ///< the innermost ones, which divide factors independently

/// The longest factors that may be divided.
std::vector<int> divisible_factors(const ops::Loops& loops) {
  std::vector<int> factors;
  for (std::size_t f = 0; f < loops.factors.size(); ++f) {
    const ops::Factor& factor = loops.factors[f];
    if (factor.kind != ops::FactorKind::kWhole && factor.extent > 1) {
      factors.push_back(static_cast<int>(f));
    }
  }
  const auto extent = [&](int f) { return loops.factors[static_cast<std::size_t>(f)].extent; };
  sort_stably(factors, [&](int a, int b) { return extent(a) > extent(b); });
  if (factors.size() > kMostFactors) factors.resize(kMostFactors);
  std::ranges::sort(factors);
  return factors;
}

/// Every choice of a factor, or nothing, for each axis.
std::vector<std::vector<int>> patterns(const std::vector<int>& factors, const Shape& mesh) {
  std::vector<std::vector<int>> list = {{}};
  const std::size_t outer = mesh.rank() > kFreeAxes ? mesh.rank() - kFreeAxes : 0;
  for (std::size_t a = 0; a < mesh.rank(); ++a) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& pattern : list) {
      if (a > 0 && a < outer) {
        longer.push_back(pattern);
        longer.back().push_back(pattern.front());
        continue;
      }
      longer.push_back(pattern);
      longer.back().push_back(-1);
      if (mesh[a] <= 1) continue;
      for (const int f : factors) {
        longer.push_back(pattern);
        longer.back().push_back(f);
      }
    }
    list = std::move(longer);
  }
  return list;
}

/// A pattern with up to `most` places along each axis.
Division divide(const std::vector<int>& pattern, const ops::Loops& loops, const Shape& mesh,
                std::int64_t most) {
  Division division;
  std::vector<std::int64_t> blocks;
  for (const ops::Factor& factor : loops.factors) blocks.push_back(factor.extent);
  for (std::size_t a = 0; a < pattern.size(); ++a) {
    AxisWork work;
    if (pattern[a] >= 0) {
      std::int64_t& block = blocks[static_cast<std::size_t>(pattern[a])];
      const std::int64_t places = std::min({most, block, mesh[a]});
      const std::int64_t width = ceil_div(block, places);
      work.places = ceil_div(block, width);
      block = width;
      if (work.places > 1) work.factor = pattern[a];
    }
    division.push_back(work);
  }
  return division;
}

std::int64_t places_of(const Division& division) {
  Checked places(1);
  for (const AxisWork& axis : division) places *= axis.places;
  return places.saturated();
}

/// How many axes divide a factor that is reduced: their shares have to be combined.
std::int64_t reduced_axes(const Division& division, const ops::Loops& loops) {
  return std::ranges::count_if(division, [&](const AxisWork& axis) {
    return axis.factor >= 0 &&
           loops.factors[static_cast<std::size_t>(axis.factor)].kind == ops::FactorKind::kReduce;
  });
}

}  // namespace

Result<ops::WorkMap> work_map(const ops::Loops& loops, const Division& division) {
  Form form;
  TESSERA_TRY(form.shape, loops.iterations());
  std::vector<std::int64_t> extents;
  for (const AxisWork& axis : division) extents.push_back(axis.places);
  TESSERA_TRY(form.mesh, Shape::make(std::move(extents)));
  for (std::size_t f = 0; f < loops.factors.size(); ++f) {
    Fold fold{{Term{static_cast<int>(f), 1}}, 0, {}};
    std::int64_t block = loops.factors[f].extent;
    for (std::size_t a = 0; a < division.size(); ++a) {
      if (division[a].factor != static_cast<int>(f)) continue;
      const std::int64_t width = ceil_div(block, division[a].places);
      fold.cuts.push_back(
          {width, ceil_div(block, width), Target::mesh(static_cast<int>(a)), 1, Cause::kGrid});
      block = width;
    }
    if (fold.cuts.empty()) continue;
    if (block > 1) fold.cuts.push_back({1, block, Target::nothing(), 1, Cause::kAlignment});
    form.folds.push_back(std::move(fold));
  }
  return ops::WorkMap::make(loops, std::move(form));
}

std::vector<Division> divisions_of(const ops::Loops& loops, const Machine& machine,
                                   std::size_t most) {
  const Shape mesh = machine.shape();
  const std::vector<std::vector<int>> all = patterns(divisible_factors(loops), mesh);
  std::int64_t longest = 1;
  for (std::size_t a = 0; a < mesh.rank(); ++a) longest = std::max(longest, mesh[a]);
  std::vector<std::int64_t> sizes = {longest};
  for (std::int64_t places = 4; places < longest; places *= 4) {
    sizes.insert(sizes.begin() + 1, places);
  }
  std::vector<Division> list = {Division(mesh.rank())};
  std::vector<Division> rest;
  for (const std::int64_t places : sizes) {
    std::vector<Division> level;
    for (const std::vector<int>& pattern : all) {
      Division division = divide(pattern, loops, mesh, places);
      const auto is_in = [&](const std::vector<Division>& known) {
        return std::ranges::find(known, division) != known.end();
      };
      if (!is_in(list) && !is_in(rest) && !is_in(level)) level.push_back(std::move(division));
    }
    sort_stably(level, [&](const Division& a, const Division& b) {
      const std::int64_t of_a = places_of(a);
      const std::int64_t of_b = places_of(b);
      return of_a != of_b ? of_a > of_b : reduced_axes(a, loops) < reduced_axes(b, loops);
    });
    // Half of what is left, so that grids of every size have some.
    const std::size_t left = list.size() < most ? most - list.size() : 0;
    const std::size_t taken = std::min(level.size(), (left + 1) / 2);
    const auto middle = level.begin() + static_cast<std::ptrdiff_t>(taken);
    list.insert(list.end(), level.begin(), middle);
    rest.insert(rest.end(), middle, level.end());
  }
  const std::size_t left = list.size() < most ? most - list.size() : 0;
  rest.resize(std::min(rest.size(), left));
  list.insert(list.end(), rest.begin(), rest.end());
  return list;
}

Result<ops::WorkMap> work_of_layout(const ops::Loops& loops, const Layout& iterations) {
  TESSERA_TRY(const Shape shape, loops.iterations());
  if (!(iterations.shape() == shape)) {
    return Error{ErrorCode::kShapeMismatch, cat("work of [", iterations.shape().to_string(),
                                                "] for iterations [", shape.to_string(), "]")};
  }
  Form form = iterations.form();
  form.offset = 0;
  std::vector<Fold> folds;
  for (Fold& fold : form.folds) {
    bool is_divided = false;
    for (Cut& cut : fold.cuts) {
      is_divided = is_divided || cut.target.is_mesh();
      if (!cut.target.is_memory()) continue;
      cut.target = Target::nothing();
      cut.stride = 1;
    }
    if (is_divided) folds.push_back(std::move(fold));
  }
  form.folds = std::move(folds);
  return ops::WorkMap::make(loops, std::move(form));
}

std::string work_text(const ops::Loops& loops, const ops::WorkMap& work) {
  std::string text;
  const auto add = [&](const std::string& part, int axis) {
    text += cat(text.empty() ? "" : ", ", part, " on axis ", axis);
  };
  for (const Fold& fold : work.form().folds) {
    const std::vector<std::int64_t> needed = fold.needed(work.form().shape);
    std::string line;
    for (const Term& term : fold.terms) {
      line += cat(line.empty() ? "" : "+", loops.factors[static_cast<std::size_t>(term.dim)].name);
    }
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Cut& cut = fold.cuts[k];
      if (cut.target.is_mesh() && needed[k] > 1) add(cat(line, "/", needed[k]), cut.target.axis());
    }
  }
  for (const Fill& fill : work.form().fills) {
    if (fill.kind == Fill::Kind::kReplicate && fill.count > 1) {
      add(cat("repeated ", fill.count, " times"), fill.axis);
    }
  }
  return text.empty() ? "one place" : text;
}

}  // namespace tessera::plan
