// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/algebra/slice.h"

#include <cassert>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera {

Result<Form> slice_dim(const Form& form, int dim, std::int64_t start, std::int64_t count,
                       std::int64_t step) {
  const std::int64_t extent = form.shape[static_cast<std::size_t>(dim)];
  const Checked last = count > 0 ? Checked(start) + Checked(count - 1) * step : Checked(0);
  const bool inside = count > 0 ? start >= 0 && start < extent && !last.overflowed() &&
                                      last.raw() >= 0 && last.raw() < extent
                                : count == 0 && start >= 0 && start <= extent;
  if (!inside) {
    return Error{ErrorCode::kBadView,
                 cat("a slice of ", count, " from ", start, " by ", step, " of dim ", dim,
                     " of extent ", extent),
                 std::nullopt, "stay inside the dim"};
  }
  std::vector<std::int64_t> extents = form.shape.extents();
  extents[static_cast<std::size_t>(dim)] = count;
  Form slice = form;
  TESSERA_TRY(slice.shape, Shape::make(std::move(extents)));
  if (slice.shape.empty()) return slice;  // nothing to place, and the steps have no bound
  for (Fold& fold : slice.folds) {
    for (Term& term : fold.terms) {
      if (term.dim != dim) continue;
      fold.start += term.coef * start;
      term.coef = count > 1 ? term.coef * step : 0;
    }
    std::erase_if(fold.terms, [](const Term& term) { return term.coef == 0; });
  }
  return slice;
}

Form restrict_to(const Form& form, const Index& from, const Index& to) {
  Form part = form;
  for (std::size_t dim = 0; dim < from.size(); ++dim) {
    Result<Form> sliced = slice_dim(part, static_cast<int>(dim), from[dim], to[dim] - from[dim], 1);
    assert(sliced.ok());
    part = std::move(sliced).value();
  }
  return part;
}

}  // namespace tessera
