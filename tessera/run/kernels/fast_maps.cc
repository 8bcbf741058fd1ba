// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tessera/graph/op.h"
#include "tessera/run/kernels/scalar_functions.h"
#include "tessera/run/kernels/strided_loops.h"
#include "tessera/run/kernels/vectors.h"

namespace tessera::run::kernels {
namespace {

/// The operands of an elementwise task; null where an input is left out.
template <typename W>
struct MapOperands {
  Elements<W> to;
  std::array<Elements<const W>, kMostRows> from;
  std::array<const Operand*, kMostOperands> all{};
  std::size_t count = 1;  ///< in `all`

  MapOperands(const Task& task, std::size_t inputs) : to(output_of<W>(task, 0)) {
    all[0] = &to.at;
    for (std::size_t i = 0; i < inputs; ++i, ++count) {
      from[i] = input_of<W>(task, i);
      if (from[i].data != nullptr) all[count] = &from[i].at;
    }
  }
  MapOperands(const MapOperands&) = delete;
  MapOperands& operator=(const MapOperands&) = delete;

  std::span<const Operand* const> list() const { return {all.data(), count}; }
};

/// The loops of a block, the last of which is a row; none where rows are not dense.
std::optional<std::vector<StridedLoop>> loops_with_rows(const Box& block, const Factors& passes,
                                                        std::span<const Operand* const> operands) {
  std::vector<StridedLoop> loops = strided_loops(block, passes, operands);
  if (loops.empty()) loops.push_back({1, {1}});
  const PerOperand& steps = loops.back().steps;
  const bool is_dense = steps[0] == 1 && std::ranges::all_of(steps, [](std::int64_t step) {
                          return step == 0 || step == 1;
                        });
  if (!is_dense) return std::nullopt;
  return loops;
}

template <typename W>
bool map_vectors_of(const Task& task) {
  const graph::Call& call = *task.call;
  const Numbers numbers = numbers_of(call);
  const RowConstants constants{numbers.alpha, numbers.beta};
  const std::optional<RowMapOfOp> map = row_map_of<W>(call.op().name(), numbers.first != 0);
  if (!map || !reads_inputs(task, map->inputs)) return false;
  const MapOperands<W> operands(task, map->inputs);
  if (operands.to.data == nullptr || !is_regular(task, operands.list())) return false;
  const Factors passes = factors_of(*task.loops, ops::FactorKind::kPass);
  std::vector<std::vector<StridedLoop>> loops;
  for (const Box& block : task.blocks) {
    auto found = loops_with_rows(block, passes, operands.list());
    if (!found) return false;
    loops.push_back(std::move(*found));
  }
  // What clip does without a bound.
  const std::array<W, 3> absent = {W{}, -std::numeric_limits<W>::infinity(),
                                   std::numeric_limits<W>::infinity()};
  for (std::size_t b = 0; b < loops.size(); ++b) {
    const StridedLoop& row = loops[b].back();
    const PerOperand first = first_offsets(task.blocks[b], operands.list());
    each_iteration(
        std::span(loops[b]).first(loops[b].size() - 1), first, [&](const PerOperand& at) {
          RowInputs<W> rows;
          for (std::size_t i = 0; i < map->inputs; ++i) {
            const bool is_there = operands.from[i].data != nullptr;
            rows.rows[i] =
                is_there ? operands.from[i].data + at[i + 1] : &absent[i % absent.size()];
            rows.steps[i] = is_there ? row.steps[i + 1] : 0;
          }
          map_row(map->map, constants, rows, operands.to.data + at[0], row.count);
        });
  }
  return true;
}

bool map_vectors(const Task& task) {
  if (computes_in(task, DType::kF32)) return map_vectors_of<float>(task);
  return computes_in(task, DType::kF64) && map_vectors_of<double>(task);
}

}  // namespace

std::vector<FastEntry> vector_map_kernels() {
  std::vector<FastEntry> list;
  for (const graph::OpRule& rule : graph::all_ops()) {
    if (row_map_of<float>(rule.name, false)) list.push_back({rule.name, "vectors", map_vectors});
  }
  return list;
}

}  // namespace tessera::run::kernels
