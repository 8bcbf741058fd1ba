// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tessera/base/sort_stably.h"
#include "tessera/run/kernels/nest.h"
#include "tessera/run/kernels/panel_product.h"
#include "tessera/run/kernels/strided_loops.h"

namespace tessera::run::kernels {
namespace {

using Bound = Operand::Bound;
using Offsets = std::vector<std::int64_t>;

/// The products of two operands in one block, each of which makes rows x columns results; one for
/// every setting of the factors `batch`, which both operands and the result have.
struct PanelTask {
  const Box* block = nullptr;
  Elements<const float> a;
  Elements<const float> b;
  Factors batch;
  ProductSide rows;     ///< of a
  ProductSide columns;  ///< of b
  Offsets to_rows;
  Offsets to_columns;
};

std::int64_t length(const Box& block, std::size_t k) { return block.to[k] - block.from[k]; }

std::int64_t settings(const Box& block, const Factors& factors) {
  std::int64_t count = 1;
  for (const std::size_t k : factors) count *= length(block, k);
  return count;
}

/// Σ slope·(f - from) for all settings of these factors, the last one fastest.
template <typename Slope>
Offsets offsets_of(const Box& block, const Factors& factors, const Slope& slope) {
  Offsets offsets = {0};
  for (const std::size_t k : factors) {
    Offsets more;
    more.reserve(offsets.size() * static_cast<std::size_t>(length(block, k)));
    for (const std::int64_t offset : offsets) {
      for (std::int64_t n = 0; n < length(block, k); ++n) more.push_back(offset + n * slope(k));
    }
    offsets = std::move(more);
  }
  return offsets;
}

void sort_by_slope(Factors& factors, const Operand& operand) {
  sort_stably(factors,
              [&](std::size_t j, std::size_t k) { return operand.slope(j) > operand.slope(k); });
}

bool moves_by_one(const Factors& factors, const Operand& operand) {
  return !factors.empty() && operand.slope(factors.back()) == 1;
}

std::int64_t coefficient(const Bound& bound, std::size_t factor) {
  std::int64_t sum = 0;
  for (const Term& term : bound.terms) {
    if (static_cast<std::size_t>(term.dim) == factor) sum += term.coef;
  }
  return sum;
}

ProductSide side_of(const Box& block, const Operand& operand, const Factors& rows,
                    const Factors& terms) {
  ProductSide side;
  const auto slope = [&](std::size_t k) { return operand.slope(k); };
  side.rows = offsets_of(block, rows, slope);
  side.terms = offsets_of(block, terms, slope);
  for (const Bound& bound : operand.bounds()) {
    const auto by = [&](std::size_t k) { return coefficient(bound, k); };
    side.bounds.push_back(
        {0, bound.extent, offsets_of(block, rows, by), offsets_of(block, terms, by)});
  }
  return side;
}

/// Moves a side to the iteration f.
void move_to(const Elements<const float>& operand, const Index& f, ProductSide& side) {
  side.data = operand.data + operand.at.offset(f);
  for (std::size_t n = 0; n < side.bounds.size(); ++n) {
    const Bound& bound = operand.at.bounds()[n];
    side.bounds[n].start = bound.start;
    for (const Term& term : bound.terms) {
      side.bounds[n].start += term.coef * f[static_cast<std::size_t>(term.dim)];
    }
  }
}

bool is_finite(const ProductSide& side) {
  return std::ranges::all_of(side.rows, [&](std::int64_t row) {
    return std::ranges::all_of(
        side.terms, [&](std::int64_t term) { return std::isfinite(side.data[row + term]); });
  });
}

/// Calls visit() with the sides of every product.
template <typename Visit>
void each_product(PanelTask& task, const Visit& visit) {
  Index f = first_of(*task.block);
  each_setting(*task.block, task.batch, f, [&] {
    move_to(task.a, f, task.rows);
    move_to(task.b, f, task.columns);
    visit(f);
  });
}

/// A block as products in panels, where these are worth their beginning. Where an operand ends
/// inside the window of a convolution, the panels have zeros; times a weight that is not finite
/// they would be NaN, so such weights have none.
std::optional<PanelTask> panel_task(const Task& task, const Box& block,
                                    const std::array<std::size_t, 2>& inputs,
                                    const Elements<float>& to) {
  constexpr std::int64_t kFewest = 512;  // multiplications
  constexpr std::int64_t kFewRows = 4;
  std::array<Elements<const float>, 2> operands = {input_of<float>(task, inputs[0]),
                                                   input_of<float>(task, inputs[1])};
  const ops::Access& first = *task.loops->inputs[inputs[0]];
  const ops::Access& second = *task.loops->inputs[inputs[1]];
  const ops::Access& out = task.loops->outputs[0];
  PanelTask made;
  made.block = &block;
  std::array<Factors, 2> own;  // of each operand and the result
  Factors terms;
  for (std::size_t k = 0; k < task.loops->factors.size(); ++k) {
    const auto factor = static_cast<int>(k);
    if (length(block, k) == 1) continue;
    if (!out.has(factor)) {
      terms.push_back(k);
    } else if (first.has(factor) && second.has(factor)) {
      made.batch.push_back(k);
    } else {
      own[first.has(factor) ? 0 : 1].push_back(k);
    }
  }
  for (Factors& factors : own) sort_by_slope(factors, to.at);
  // Columns are neighbours in the result, if that is possible. Few rows do not repay that the other
  // operand is copied, which it need not be if its own neighbours are columns.
  const bool is_other = moves_by_one(own[0], to.at) && !moves_by_one(own[1], to.at);
  const bool copies = settings(block, own[0]) < 2 * kFewRows &&
                      settings(block, own[0]) < settings(block, own[1]) &&
                      operands[1].at.bounds().empty() && !moves_by_one(own[1], operands[1].at);
  if (is_other || copies) {
    std::swap(own[0], own[1]);
    std::swap(operands[0], operands[1]);
  }
  sort_by_slope(terms, operands[0].at);
  const std::int64_t rows = settings(block, own[0]);
  if (rows * settings(block, own[1]) * settings(block, terms) < kFewest) return std::nullopt;
  const bool bounded = !operands[0].at.bounds().empty() || !operands[1].at.bounds().empty();
  if (bounded && rows < kFewRows) return std::nullopt;
  made.a = operands[0];
  made.b = operands[1];
  made.rows = side_of(block, made.a.at, own[0], terms);
  made.columns = side_of(block, made.b.at, own[1], terms);
  const auto slope = [&](std::size_t k) { return to.at.slope(k); };
  made.to_rows = offsets_of(block, own[0], slope);
  made.to_columns = offsets_of(block, own[1], slope);
  if (!bounded) return made;
  if (!made.rows.bounds.empty() && !made.columns.bounds.empty()) return std::nullopt;
  bool finite = true;
  each_product(made, [&](const Index&) {
    finite = finite && is_finite(made.rows.bounds.empty() ? made.rows : made.columns);
  });
  if (!finite) return std::nullopt;
  return made;
}

/// Products of two operands, and a third that is added once.
bool product_in_panels(const Task& task) {
  if (!computes_in(task, DType::kF32)) return false;
  const Elements<float> to = output_of<float>(task, 0);
  if (to.data == nullptr || !to.at.bounds().empty()) return false;
  std::vector<std::size_t> factors;  // inputs
  std::vector<std::size_t> added;
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    if (!task.call->has(i)) continue;
    (task.loops->inputs[i]->once ? added : factors).push_back(i);
  }
  const auto is_read = [&](std::size_t i) { return task.inputs[i].data != nullptr; };
  if (factors.size() != 2 || !std::ranges::all_of(factors, is_read)) return false;
  std::vector<PanelTask> all;
  for (const Box& block : task.blocks) {
    if (block.elements() == 0) return false;
    std::optional<PanelTask> made = panel_task(task, block, {factors[0], factors[1]}, to);
    if (!made) return false;
    all.push_back(std::move(*made));
  }
  const bool is_gemm = task.call->op().is("gemm");
  const float alpha = is_gemm ? static_cast<float>(task.call->real("alpha")) : 1;
  const float beta = is_gemm ? static_cast<float>(task.call->real("beta")) : 1;
  fill_results(task, to, 0);
  for (PanelTask& made : all) {
    each_product(made, [&](const Index& f) {
      add_panel_product(alpha, made.rows, made.columns, &to(f), made.to_rows, made.to_columns);
    });
  }
  for (const std::size_t i : added) add_once<float>(task, i, to, beta);
  return true;
}

}  // namespace

std::vector<FastEntry> panel_product_kernels() {
  return {{"matmul", "panels", product_in_panels},
          {"gemm", "panels", product_in_panels},
          {"einsum", "panels", product_in_panels},
          {"conv", "panels", product_in_panels}};
}

}  // namespace tessera::run::kernels
