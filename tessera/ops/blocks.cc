// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/blocks.h"

#include <algorithm>
#include <vector>

namespace tessera::ops {

Range Blocks::of(std::int64_t c, std::int64_t extent) const {
  const std::int64_t from = c * width - start;
  return {std::clamp<std::int64_t>(from, 0, extent),
          std::clamp<std::int64_t>(from + width, 0, extent)};
}

HowDivided division_of(const Form& form, int dim, Blocks& blocks) {
  HowDivided division = HowDivided::kNot;
  for (std::size_t f = 0; f < form.folds.size(); ++f) {
    const Fold& fold = form.folds[f];
    if (std::ranges::find(fold.terms, dim, &Term::dim) == fold.terms.end()) continue;
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    std::int64_t left = fold.extent(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Cut& cut = fold.cuts[k];
      const bool outermost = left > cut.width && left == fold.extent(form.shape);
      left = std::min(left, cut.width);
      if (!cut.target.is_mesh() || needed[k] <= 1) continue;
      const bool plain = fold.terms.size() == 1 && fold.terms[0].coef == 1;
      if (division != HowDivided::kNot || !plain || !outermost) return HowDivided::kOtherwise;
      blocks = {f, cut.target.axis(), cut.stride, fold.start, cut.width};
      division = HowDivided::kBlocks;
    }
  }
  return division;
}

void keep_off_mesh(Form& form, const Blocks& blocks) {
  for (Cut& cut : form.folds[blocks.fold].cuts) {
    if (cut.target.is_mesh()) cut.target = Target::nothing();
  }
  form.fills.push_back(Fill::fixed(blocks.axis, 0));
}

}  // namespace tessera::ops
