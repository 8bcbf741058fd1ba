// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/kernels/strided_loops.h"

#include <algorithm>
#include <array>

#include "tessera/base/sort_stably.h"

namespace tessera::run::kernels {

std::vector<StridedLoop> strided_loops(const Box& block, const Factors& factors,
                                       std::span<const Operand* const> operands) {
  std::vector<StridedLoop> loops;
  for (const std::size_t k : factors) {
    StridedLoop loop;
    loop.count = block.to[k] - block.from[k];
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] != nullptr) loop.steps[i] = operands[i]->slope(k);
    }
    if (loop.count != 1) loops.push_back(loop);
  }
  sort_stably(loops,
              [](const StridedLoop& a, const StridedLoop& b) { return a.steps[0] > b.steps[0]; });
  std::vector<StridedLoop> joined;
  for (const StridedLoop& loop : loops) {
    bool is_same = !joined.empty();
    for (std::size_t i = 0; is_same && i < operands.size(); ++i) {
      is_same = joined.back().steps[i] == loop.steps[i] * loop.count;
    }
    if (is_same) {
      joined.back() = {joined.back().count * loop.count, loop.steps};
    } else {
      joined.push_back(loop);
    }
  }
  return joined;
}

PerOperand first_offsets(const Box& block, std::span<const Operand* const> operands) {
  PerOperand at{};
  const Index f = first_of(block);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] != nullptr) at[i] = operands[i]->offset(f);
  }
  return at;
}

void fill_results(const Task& task, const Elements<float>& to, float value) {
  const std::array<const Operand*, 1> operands = {&to.at};
  Factors factors;
  for (std::size_t k = 0; k < task.loops->factors.size(); ++k) {
    if (task.loops->outputs[0].has(static_cast<int>(k))) factors.push_back(k);
  }
  for (const Box& block : task.blocks) {
    std::vector<StridedLoop> loops = strided_loops(block, factors, operands);
    if (loops.empty() || loops.back().steps[0] != 1) loops.push_back({1, {1}});
    const std::int64_t count = loops.back().count;
    loops.pop_back();
    each_iteration(loops, first_offsets(block, operands),
                   [&](const PerOperand& at) { std::fill_n(to.data + at[0], count, value); });
  }
}

bool computes_in(const Task& task, DType compute) {
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    if (task.call->has(i) && compute_type(task.call->dtype(i)) != compute) return false;
  }
  return std::ranges::all_of(*task.outputs, [&](const graph::TensorType& type) {
    return compute_type(type.dtype) == compute;
  });
}

bool reads_inputs(const Task& task, std::size_t count) {
  for (std::size_t i = 0; i < std::min(count, task.inputs.size()); ++i) {
    if (task.call->has(i) && task.inputs[i].data == nullptr) return false;
  }
  return true;
}

bool is_regular(const Task& task, std::span<const Operand* const> operands) {
  const bool has_all =
      std::ranges::all_of(task.blocks, [](const Box& block) { return block.elements() > 0; });
  return has_all && std::ranges::all_of(operands, [](const Operand* operand) {
           return operand == nullptr || operand->bounds().empty();
         });
}

}  // namespace tessera::run::kernels
