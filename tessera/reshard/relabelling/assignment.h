// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/result.h"

namespace tessera::reshard {

/// The weight of assigning `column` to `row`; pairs that are not listed have weight 0.
struct Worth {
  std::int32_t row = 0;
  std::int32_t column = 0;
  std::int64_t weight = 0;
};

/// A column for every row; no column is used twice.
struct Assignment {
  std::vector<std::int32_t> column_of;  ///< one per row
  std::int64_t weight = 0;              ///< Σ of the listed weights that are used
  bool optimal = true;                  ///< no assignment has more weight
};

/// The assignment with the largest weight; on a tie, the one with the most rows r on column r.
///
/// Requires at least as many columns as rows. Weights are positive, and each pair is listed once.
/// Uses shortest augmenting paths with potentials over the listed pairs. One row after the other
/// finds the cheapest path to a free column, or to a row that is best left without one. Rows that
/// are left over get the free columns in ascending order, and row r gets column r if it is free.
/// Deterministic. After `most_steps` pairs the search stops with the best so far, and `optimal` is
/// false.
/// Error kOverflow for weights beyond 2^60.
Result<Assignment> assign(std::size_t rows, std::size_t columns, const std::vector<Worth>& worths,
                          std::int64_t most_steps = std::int64_t{1} << 28);

}  // namespace tessera::reshard
