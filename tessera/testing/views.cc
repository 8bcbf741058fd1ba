// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/views.h"

#include <utility>
#include <vector>

namespace tessera::test {
namespace {

struct Step {
  Result<View> view;
  IndexMap map;
};

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Step transpose_step(Dice& dice, const View& view) {
  std::vector<int> perm;
  for (const std::size_t dim : dice.order(view.shape().rank())) {
    perm.push_back(static_cast<int>(dim));
  }
  return {view.transpose(perm), [perm](const Index& y) {
            Index m(y.size(), 0);
            for (std::size_t i = 0; i < perm.size(); ++i) m[at(perm[i])] = y[i];
            return m;
          }};
}

Step slice_step(Dice& dice, const View& view, int dim) {
  const std::int64_t extent = view.shape()[at(dim)];
  const std::int64_t start = dice.below(extent);
  const std::int64_t step = dice.between(-3, 3);
  std::int64_t most = step == 0 ? 3 : 0;
  for (std::int64_t i = start; step != 0 && i >= 0 && i < extent; i += step) ++most;
  const std::int64_t count = extent == 0 ? 0 : dice.below(most + 1);
  return {view.slice(dim, start, count, step), [=](const Index& y) {
            Index m = y;
            m[at(dim)] = start + step * y[at(dim)];
            return m;
          }};
}

Step broadcast_step(Dice& dice, const View& view) {
  const auto rank = static_cast<std::int64_t>(view.shape().rank());
  const int dim = static_cast<int>(dice.below(rank + 1));
  return {view.broadcast(dim, dice.between(1, 3)), [dim](const Index& y) {
            Index m = y;
            m.erase(m.begin() + dim);
            return m;
          }};
}

Step split_step(Dice& dice, const View& view, int dim) {
  const std::int64_t extent = view.shape()[at(dim)];
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= extent; ++d) {
    if (extent % d == 0) divisors.push_back(d);
  }
  const std::int64_t inner =
      divisors.empty() ? 1 : divisors[at(dice.below(static_cast<std::int64_t>(divisors.size())))];
  return {view.split(dim, {extent / inner, inner}), [=](const Index& y) {
            Index m = y;
            m[at(dim)] = y[at(dim)] * inner + y[at(dim) + 1];
            m.erase(m.begin() + dim + 1);
            return m;
          }};
}

Step merge_step(Dice& dice, const View& view, int dim) {
  const auto rank = static_cast<std::int64_t>(view.shape().rank());
  const std::int64_t count = dice.between(1, rank - dim);
  std::vector<std::int64_t> extents;
  for (std::int64_t i = 0; i < count; ++i) extents.push_back(view.shape()[at(dim + i)]);
  const Shape merged = *Shape::make(extents);
  return {view.merge(dim, static_cast<int>(count)), [=](const Index& y) {
            Index m = y;
            const Index inner = merged.delinear(y[at(dim)]);
            m.erase(m.begin() + dim);
            m.insert(m.begin() + dim, inner.begin(), inner.end());
            return m;
          }};
}

Step any_step(Dice& dice, const View& view) {
  const auto rank = static_cast<std::int64_t>(view.shape().rank());
  const std::int64_t kind = rank == 0 ? dice.below(2) : dice.below(5);
  if (kind == 0) return transpose_step(dice, view);
  if (kind == 1) return broadcast_step(dice, view);
  const int dim = static_cast<int>(dice.below(rank));
  if (kind == 2) return slice_step(dice, view, dim);
  if (kind == 3) return split_step(dice, view, dim);
  return merge_step(dice, view, dim);
}

}  // namespace

MappedView random_view(Dice& dice, const Layout& base, std::int64_t steps) {
  MappedView mapped{View::of(base), [](const Index& y) { return y; }};
  for (std::int64_t i = 0; i < steps; ++i) {
    Step step = any_step(dice, mapped.view);
    if (!step.view.ok()) continue;
    if (step.view->shape().elements() > 2000) continue;
    mapped.view = *std::move(step.view);
    mapped.map = [outer = mapped.map, inner = std::move(step.map)](const Index& y) {
      return outer(inner(y));
    };
    ++mapped.operations;
  }
  return mapped;
}

}  // namespace tessera::test
