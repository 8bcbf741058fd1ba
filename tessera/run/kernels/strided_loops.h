// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/run/kernels/nest.h"

namespace tessera::run::kernels {

/// A number for each operand of a vector kernel: its result first, then what it reads.
constexpr std::size_t kMostOperands = 6;
using PerOperand = std::array<std::int64_t, kMostOperands>;

/// A loop over iterations: how many, and by how much each operand moves.
struct StridedLoop {
  std::int64_t count = 1;
  PerOperand steps{};
};

/// The loops over these factors of a block, outermost first, as few as possible: by falling steps
/// of the first operand, without loops of one iteration, and joined where two are one for all
/// operands. Example: [4, 8] with row-major tiles for both operands: one loop of 32; with a result
/// whose rows are 10 apart: loops of 4 (10, 8) and of 8 (1, 1).
std::vector<StridedLoop> strided_loops(const Box& block, const Factors& factors,
                                       std::span<const Operand* const> operands);

/// Where each operand is at the first iteration of a block.
PerOperand first_offsets(const Box& block, std::span<const Operand* const> operands);

/// Calls visit(at) for every iteration of these loops, the last one fastest.
template <typename Visit>
void each_iteration(std::span<const StridedLoop> loops, PerOperand at, const Visit& visit) {
  if (loops.empty()) {
    visit(at);
    return;
  }
  for (std::int64_t n = 0; n < loops[0].count; ++n) {
    each_iteration(loops.subspan(1), at, visit);
    for (std::size_t i = 0; i < kMostOperands; ++i) at[i] += loops[0].steps[i];
  }
}

/// Sets what the blocks contribute to of output 0, of which no iteration is outside.
void fill_results(const Task& task, const Elements<float>& to, float value);

/// Whether all inputs and outputs of a call are computed in this type.
bool computes_in(const Task& task, DType compute);

/// Whether the first inputs, as many as `count`, have elements where they are given.
bool reads_inputs(const Task& task, std::size_t count);

/// Whether a block has iterations, and no operand leaves its tensor.
bool is_regular(const Task& task, std::span<const Operand* const> operands);

}  // namespace tessera::run::kernels
