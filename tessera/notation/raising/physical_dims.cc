// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/physical_dims.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::notation {

Result<SplitDim> split_dim(const TiledDim& dim, std::int64_t by, Cause cause) {
  SplitDim parts{dim, dim};
  parts.outer.count = ceil_div(dim.count, by);
  parts.outer.splits.push_back(0);
  parts.inner.count = by;
  parts.inner.cause = cause;
  parts.inner.splits.push_back(1);
  if (by == 1) parts.inner.line = -1;
  if (parts.outer.count == 1 && by > 1) {
    parts.outer.line = -1;
    parts.outer.width = 1;
  } else {
    TESSERA_TRY(parts.outer.width, (Checked(dim.width) * by).value("the size of tiles in tiles"));
  }
  return parts;
}

Result<Layout> lower_physical(const Shape& shape, DType dtype,
                              const std::vector<std::vector<Term>>& lines,
                              const std::vector<TiledDim>& dims) {
  LayoutSpec spec;
  spec.form.shape = shape;
  spec.dtype = dtype;
  spec.atom = Atom::scalar(dtype);
  struct Digit {
    const TiledDim* dim;
    Cut cut;
  };
  std::vector<std::vector<Digit>> digits(lines.size());
  Checked stride = 1;
  for (const TiledDim& dim : std::views::reverse(dims)) {
    TESSERA_TRY(const std::int64_t step, stride.value("the number of slots"));
    const Cut cut{dim.width, dim.count, Target::memory(), std::max<std::int64_t>(step, 1),
                  dim.cause};
    if (dim.line >= 0) {
      digits[static_cast<std::size_t>(dim.line)].push_back({&dim, cut});
    } else if (dim.count != 1) {
      Fold padding;
      padding.cuts = {cut};
      padding.cuts.front().width = 1;
      spec.form.folds.push_back(std::move(padding));
    }
    stride *= std::max<std::int64_t>(dim.count, 1);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::sort(digits[i].begin(), digits[i].end(),
              [](const Digit& a, const Digit& b) { return a.dim->splits < b.dim->splits; });
    Fold fold;
    fold.terms = lines[i];
    for (const Digit& digit : digits[i]) fold.cuts.push_back(digit.cut);
    if (fold.cuts.empty() || fold.cuts.back().width != 1) {
      fold.cuts.push_back({1, 1, Target::nothing(), 0, Cause::kAlignment});
    }
    spec.form.folds.push_back(std::move(fold));
  }
  return Layout::make(std::move(spec));
}

}  // namespace tessera::notation
