// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/touched.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::ops {

Range interval_of(const DimAccess& dim, const Box& iterations) {
  Range range{dim.start, dim.start + 1};
  for (const Term& term : dim.terms) {
    const auto f = static_cast<std::size_t>(term.dim);
    const std::int64_t first = term.coef * iterations.from[f];
    const std::int64_t last = term.coef * (iterations.to[f] - 1);
    range.from += std::min(first, last);
    range.to += std::max(first, last);
  }
  return range;
}

std::int64_t distinct_indices(const DimAccess& dim, const Box& iterations, std::int64_t extent) {
  struct Steps {
    std::int64_t step;
    std::int64_t count;
  };
  std::vector<Steps> sums;
  std::int64_t first = dim.start;
  for (const Term& term : dim.terms) {
    const auto f = static_cast<std::size_t>(term.dim);
    const std::int64_t count = iterations.to[f] - iterations.from[f];
    first += term.coef * (term.coef > 0 ? iterations.from[f] : iterations.to[f] - 1);
    if (count > 1) sums.push_back({std::abs(term.coef), count});
  }
  std::ranges::sort(sums, {}, &Steps::step);
  std::int64_t run = 1;   // the indices of each contiguous run
  std::int64_t runs = 1;  // how many there are, `reach` from the first to the end of the last
  std::int64_t reach = 1;
  bool is_exact = true;
  for (const Steps& sum : sums) {
    if (runs == 1 && sum.step <= run) {
      run += sum.step * (sum.count - 1);
      reach = run;
      continue;
    }
    is_exact = is_exact && sum.step >= reach;  // copies of what is there side by side
    runs *= sum.count;
    reach += sum.step * (sum.count - 1);
  }
  const Range inside{std::max<std::int64_t>(first, 0), std::min(first + reach, extent)};
  const std::int64_t length = std::max<std::int64_t>(inside.to - inside.from, 0);
  if (!is_exact || runs == 1) return length;
  if (length == reach) return run * runs;
  if (sums.size() > 1 || sums.empty()) return length;
  // One stride that is cut off: indices first + step·k inside.
  const std::int64_t step = sums[0].step;
  return floor_div(inside.to - 1 - first, step) - floor_div(inside.from - 1 - first, step);
}

std::optional<Touched> TouchedOperand::touched(Box iterations) const {
  for (std::size_t f = 0; f < reading.size(); ++f) {
    iterations.from[f] = std::max(iterations.from[f], reading[f].from);
    iterations.to[f] = std::min(iterations.to[f], reading[f].to);
    if (iterations.from[f] >= iterations.to[f]) return std::nullopt;
  }
  Touched all;
  for (std::size_t d = 0; d < access->dims.size(); ++d) {
    const Range range = interval_of(access->dims[d], iterations);
    all.box.from.push_back(std::max<std::int64_t>(range.from, 0));
    all.box.to.push_back(std::min(range.to, type->shape[d]));
    if (all.box.from[d] >= all.box.to[d]) return std::nullopt;
    all.elements *= distinct_indices(access->dims[d], iterations, type->shape[d]);
  }
  return all;
}

}  // namespace tessera::ops
