// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/kernels/nest.h"

#include "tessera/base/checked.h"

namespace tessera::run::kernels {

Factors factors_of(const ops::Loops& loops, ops::FactorKind kind) {
  Factors list;
  for (std::size_t k = 0; k < loops.factors.size(); ++k) {
    if (loops.factors[k].kind == kind) list.push_back(k);
  }
  return list;
}

Factors those_in(const ops::Access& access, const Factors& factors) {
  Factors list;
  for (const std::size_t k : factors) {
    if (access.has(static_cast<int>(k))) list.push_back(k);
  }
  return list;
}

Factors those_not_in(const ops::Access& access, const Factors& factors) {
  Factors list;
  for (const std::size_t k : factors) {
    if (!access.has(static_cast<int>(k))) list.push_back(k);
  }
  return list;
}

Factors joined(Factors a, const Factors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Factors without(Factors factors, std::size_t factor) {
  std::erase(factors, factor);
  return factors;
}

Operand::Operand(const ops::Access& access, const Tile& tile, const Shape& shape,
                 const ops::Loops& loops)
    : touched_(true), slopes_(loops.factors.size()) {
  for (std::size_t d = 0; d < access.dims.size(); ++d) {
    const ops::DimAccess& dim = access.dims[d];
    base_ += (dim.start - tile.box.from[d]) * tile.strides[d];
    std::int64_t least = dim.start;
    std::int64_t most = dim.start;
    for (const Term& term : dim.terms) {
      const auto k = static_cast<std::size_t>(term.dim);
      slopes_[k] += term.coef * tile.strides[d];
      const std::int64_t reach = term.coef * std::max<std::int64_t>(loops.factors[k].extent - 1, 0);
      (reach < 0 ? least : most) += reach;
    }
    if (least < 0 || most >= shape[d]) bounds_.push_back({dim.start, dim.terms, shape[d]});
  }
}

bool Operand::inside(const Index& f) const {
  if (!touched_) return false;
  for (const Bound& bound : bounds_) {
    std::int64_t x = bound.start;
    for (const Term& term : bound.terms) x += term.coef * f[static_cast<std::size_t>(term.dim)];
    if (x < 0 || x >= bound.extent) return false;
  }
  return true;
}

ops::Range Operand::inside(const Index& f, std::size_t factor, ops::Range range) const {
  if (!touched_) return {range.from, range.from};
  for (const Bound& bound : bounds_) {
    std::int64_t x = bound.start;  // without this factor
    std::int64_t coef = 0;
    for (const Term& term : bound.terms) {
      const auto k = static_cast<std::size_t>(term.dim);
      if (k == factor) {
        coef += term.coef;
      } else {
        x += term.coef * f[k];
      }
    }
    if (coef == 0) {
      if (x < 0 || x >= bound.extent) return {range.from, range.from};
      continue;
    }
    // 0 <= x + coef·v < extent
    const std::int64_t size = coef < 0 ? -coef : coef;
    const std::int64_t low = coef > 0 ? -x : x - bound.extent + 1;
    const std::int64_t high = coef > 0 ? bound.extent - 1 - x : x;
    range.from = std::max(range.from, -floor_div(-low, size));
    range.to = std::min(range.to, floor_div(high, size) + 1);
  }
  if (range.to < range.from) range.to = range.from;
  return range;
}

std::size_t fastest(const Factors& factors, const Operand& operand, const Box& block) {
  std::size_t best = factors.front();
  const auto length = [&](std::size_t k) { return block.to[k] - block.from[k]; };
  for (const std::size_t k : factors) {
    const bool unit = operand.slope(k) == 1 && length(k) > 1;
    const bool best_unit = operand.slope(best) == 1 && length(best) > 1;
    if (unit != best_unit ? unit : length(k) > length(best)) best = k;
  }
  return best;
}

}  // namespace tessera::run::kernels
