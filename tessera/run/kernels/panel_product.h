// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::run::kernels {

/// A condition on where an operand has elements: `start` + rows[i] + terms[k] from 0 up to
/// `extent`.
struct ProductBound {
  std::int64_t start = 0;
  std::int64_t extent = 0;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> terms;
};

/// One operand of a product: element (i, k) is data[rows[i] + terms[k]], or 0 where a bound says
/// that there is none.
struct ProductSide {
  const float* data = nullptr;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> terms;
  std::vector<ProductBound> bounds;
};

/// to[rows[i] + columns[j]] += alpha·Σ a(i, k)·b(j, k), where k runs over the terms, of which both
/// sides have equally many; i and j run over the rows of a and of b.
///
/// b is copied in panels as wide as a few vectors, of as many terms as the second-level cache
/// keeps; for each panel a few rows of a at a time give a block of results that stays in registers.
/// Sums are in f32, in the order of the terms.
void add_panel_product(float alpha, const ProductSide& a, const ProductSide& b, float* to,
                       std::span<const std::int64_t> to_rows,
                       std::span<const std::int64_t> to_columns);

}  // namespace tessera::run::kernels
