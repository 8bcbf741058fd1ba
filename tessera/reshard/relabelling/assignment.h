// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/result.h"

namespace tessera::reshard {

/// What it is worth when `row` has `column`; pairs that are not listed are worth nothing.
struct Worth {
  std::int32_t row = 0;
  std::int32_t column = 0;
  std::int64_t weight = 0;
};

/// A column for every row, none twice.
struct Assignment {
  std::vector<std::int32_t> column_of;  ///< one a row
  std::int64_t weight = 0;              ///< Σ of the listed weights that were taken
  bool optimal = true;                  ///< no assignment has more weight
};

/// The assignment of the largest weight, and among those the one with most rows r on column r.
///
/// There are at least as many columns as rows; weights are positive and each pair is listed once.
/// Shortest augmenting paths with potentials over the listed pairs: a row after the other finds the
/// cheapest way to a free column, or to a row that is best left without one; rows left over have
/// the free columns in rising order, their own where it is free. Deterministic. After `most_steps`
/// pairs have been looked at the search ends with what it has, and says so.
/// Error kOverflow for weights beyond 2^60.
Result<Assignment> assign(std::size_t rows, std::size_t columns, const std::vector<Worth>& worths,
                          std::int64_t most_steps = std::int64_t{1} << 28);

}  // namespace tessera::reshard
