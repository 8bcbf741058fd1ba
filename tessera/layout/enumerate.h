// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"

namespace tessera {

/// Elements that differ only along the fastest dim: element i of the row is at `base + offsets[i]`.
struct Row {
  const Index& index;  ///< of the row's first element
  int dim;             ///< the dim along which the row runs, or -1 for rank 0
  Position base;
  std::span<const Position> offsets;
};

/// Visits every element, row by row, with the dims nested in `order` (slowest first). Offsets along
/// a row are computed once for all rows if the dims of the layout are independent, else by carrying
/// digits. There is no division per element. Long dims are split into rows of at most 64 Ki
/// elements.
/// Error kTooLarge, before any row is visited, if the budget of `Work` has too few steps left.
/// Law: the rows visit each index exactly once, in order, each at canonical(form).position(index).
Status for_each_row(const Form& form, const std::vector<int>& order,
                    const std::function<void(const Row&)>& visit);

/// The same in row-major order.
Status for_each_row(const Form& form, const std::function<void(const Row&)>& visit);

/// For each replica of an element: the row-major number of its place, less that of the first place.
/// Positions of rows are in the first place; these offsets lead to the others.
std::vector<std::int64_t> replica_offsets(const Form& form);

}  // namespace tessera
