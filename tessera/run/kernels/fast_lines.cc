// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/run/kernels/strided_loops.h"
#include "tessera/run/kernels/vectors.h"

namespace tessera::run::kernels {
namespace {

using ops::FactorKind;
using Loops = std::vector<StridedLoop>;

/// The loops around lines and those along them, of one block.
struct LineLoops {
  Loops around;
  Loops along;
  PerOperand first{};
};

/// Of every block; the lines of each are made of rows of which all operands have neighbouring
/// elements, or one for all. None where they are not.
std::optional<std::vector<LineLoops>> line_loops(const Task& task,
                                                 std::span<const Operand* const> operands,
                                                 std::size_t along) {
  if (!is_regular(task, operands)) return std::nullopt;
  const Factors passes = factors_of(*task.loops, FactorKind::kPass);
  const Factors wholes =
      those_in(*task.loops->inputs[0], factors_of(*task.loops, FactorKind::kWhole));
  std::vector<LineLoops> list;
  for (const Box& block : task.blocks) {
    LineLoops loops;
    loops.around = strided_loops(block, passes, operands);
    loops.along = strided_loops(block, wholes, operands.first(along));
    loops.first = first_offsets(block, operands);
    if (loops.along.empty()) loops.along.push_back({1, {1, 1}});
    const PerOperand& steps = loops.along.back().steps;
    const bool is_dense =
        steps[0] == 1 && steps[1] == 1 &&
        std::ranges::all_of(steps, [](std::int64_t s) { return s == 0 || s == 1; });
    if (!is_dense) return std::nullopt;
    list.push_back(std::move(loops));
  }
  return list;
}

/// Softmax and its logarithm along one axis.
bool fast_softmax(const Task& task) {
  if (!computes_in(task, DType::kF32) || !reads_inputs(task, 3)) return false;
  const Elements<const float> from = input_of<float>(task, 0);
  const Elements<float> to = output_of<float>(task, 0);
  if (to.data == nullptr) return false;
  const std::array<const Operand*, 2> operands = {&to.at, &from.at};
  const auto all = line_loops(task, operands, 2);
  if (!all) return false;
  for (const LineLoops& loops : *all) {
    if (loops.along.size() != 1) return false;
  }
  const bool logarithm = task.call->op().is("log_softmax");
  for (const LineLoops& loops : *all) {
    each_iteration(loops.around, loops.first, [&](const PerOperand& at) {
      softmax_row(from.data + at[1], to.data + at[0], loops.along[0].count, logarithm);
    });
  }
  return true;
}

/// What the norms read and write.
struct NormOperands {
  Elements<float> to;
  Elements<const float> from;
  Elements<const float> scale;
  Elements<const float> bias;
  std::array<Elements<float>, 2> statistics;  ///< mean and reciprocal deviation, where asked for
  std::array<const Operand*, 6> all{};
  float one = 1;
  float zero = 0;

  explicit NormOperands(const Task& task)
      : to(output_of<float>(task, 0)),
        from(input_of<float>(task, 0)),
        scale(input_of<float>(task, 1)),
        bias(input_of<float>(task, 2)) {
    all = {&to.at, &from.at, scale.data != nullptr ? &scale.at : nullptr,
           bias.data != nullptr ? &bias.at : nullptr};
    for (std::size_t o = 1; o < task.results.size() && o <= statistics.size(); ++o) {
      statistics[o - 1] = output_of<float>(task, o);
      if (statistics[o - 1].data != nullptr) all[o + 3] = &statistics[o - 1].at;
    }
  }
  NormOperands(const NormOperands&) = delete;
  NormOperands& operator=(const NormOperands&) = delete;
};

/// One line: its moments in f64, then its elements row by row.
void norm_line(const NormOperands& operands, std::span<const StridedLoop> along,
               const PerOperand& first, bool rms, double epsilon) {
  const StridedLoop& row = along.back();
  const std::span<const StridedLoop> rows = along.first(along.size() - 1);
  double count = 1;
  for (const StridedLoop& loop : along) count *= static_cast<double>(loop.count);
  const auto sum_rows = [&](const auto& of) {
    double sum = 0;
    each_iteration(rows, first,
                   [&](const PerOperand& at) { sum += of(operands.from.data + at[1]); });
    return sum / count;
  };
  double mean = 0;
  double spread = 0;
  if (rms) {
    spread = sum_rows([&](const float* x) { return sum_row(RowSum::kSquares, x, row.count); });
  } else {
    mean = sum_rows([&](const float* x) { return sum_row(RowSum::kPlain, x, row.count); });
    spread = sum_rows([&](const float* x) { return squares_around(mean, x, row.count); });
  }
  const auto middle = static_cast<float>(mean);
  const auto factor = static_cast<float>(1 / std::sqrt(spread + epsilon));
  const RowConstants constants{middle, factor};
  each_iteration(rows, first, [&](const PerOperand& at) {
    RowInputs<float> inputs;
    const bool scales = operands.scale.data != nullptr;
    const bool shifts = operands.bias.data != nullptr;
    inputs.rows = {operands.from.data + at[1], scales ? operands.scale.data + at[2] : &operands.one,
                   shifts ? operands.bias.data + at[3] : &operands.zero};
    inputs.steps = {row.steps[1], scales ? row.steps[2] : 0, shifts ? row.steps[3] : 0};
    map_row(RowMap::kScaleAndShift, constants, inputs, operands.to.data + at[0], row.count);
  });
  const std::array<float, 2> statistics = {middle, factor};
  for (std::size_t s = 0; s < statistics.size(); ++s) {
    if (operands.statistics[s].data == nullptr) continue;
    operands.statistics[s].data[first[s + 4]] = statistics[s];
  }
}

bool fast_norm(const Task& task) {
  if (!computes_in(task, DType::kF32) || !reads_inputs(task, 3)) return false;
  const NormOperands operands(task);
  if (operands.to.data == nullptr) return false;
  const auto all = line_loops(task, operands.all, 4);
  if (!all) return false;
  const bool rms = task.call->op().is("rms_norm");
  const double epsilon = task.call->real("epsilon");
  for (const LineLoops& loops : *all) {
    each_iteration(loops.around, loops.first, [&](const PerOperand& at) {
      norm_line(operands, loops.along, at, rms, epsilon);
    });
  }
  return true;
}

/// A reduction: sums in f64 that are scaled at the end, or an extreme.
struct Reducer {
  std::optional<RowSum> sum;
  double scale = 1;
  bool largest = false;
};

std::optional<Reducer> reducer_of(const Task& task) {
  const graph::Op op = task.call->op();
  if (op.is("reduce_sum")) return Reducer{RowSum::kPlain};
  if (op.is("reduce_l1")) return Reducer{RowSum::kAbsolute};
  if (op.is("reduce_sum_square")) return Reducer{RowSum::kSquares};
  if (op.is("reduce_max") || op.is("global_max_pool")) return Reducer{std::nullopt, 1, true};
  if (op.is("reduce_min")) return Reducer{std::nullopt, 1, false};
  if (!op.is("reduce_mean") && !op.is("global_average_pool")) return std::nullopt;
  double count = 1;
  for (const ops::Factor& factor : task.loops->factors) {
    if (factor.kind == FactorKind::kReduce) count *= static_cast<double>(factor.extent);
  }
  return Reducer{RowSum::kPlain, 1 / count};
}

/// The loops of one block: `passes` move both operands, `sums` only what is read.
struct ReductionLoops {
  Loops passes;
  Loops sums;          ///< steps of the input are at 0
  bool by_row = true;  ///< rows are reduced, rather than added to each other
  std::int64_t to = 0;
  std::int64_t from = 0;
};

std::optional<ReductionLoops> reduction_loops(const Task& task, const Box& block, const Operand& to,
                                              const Operand& from) {
  constexpr std::int64_t kShort = 16;  // rows shorter than this are better added to each other
  ReductionLoops loops;
  const std::array<const Operand*, 2> both = {&to, &from};
  const std::array<const Operand*, 1> one = {&from};
  loops.passes = strided_loops(block, factors_of(*task.loops, FactorKind::kPass), both);
  loops.sums = strided_loops(block, factors_of(*task.loops, FactorKind::kReduce), one);
  if (loops.sums.empty()) loops.sums.push_back({1, {1}});
  const bool rows = loops.sums.back().steps[0] == 1;
  const bool columns = !loops.passes.empty() && loops.passes.back().steps[0] == 1 &&
                       loops.passes.back().steps[1] == 1;
  if (!rows && !columns) return std::nullopt;
  loops.by_row = rows && (!columns || loops.sums.back().count >= kShort);
  const PerOperand first = first_offsets(block, both);
  loops.to = first[0];
  loops.from = first[1];
  return loops;
}

/// One result from all rows that belong to it.
void reduce_rows(const Reducer& reducer, const Loops& sums, const float* x, float& to) {
  const std::int64_t count = sums.back().count;
  double sum = 0;
  each_iteration(std::span(sums).first(sums.size() - 1), {}, [&](const PerOperand& at) {
    if (reducer.sum) {
      sum += sum_row(*reducer.sum, x + at[0], count);
    } else {
      to = extreme_row(reducer.largest, to, x + at[0], count);
    }
  });
  if (reducer.sum) to += static_cast<float>(sum * reducer.scale);
}

/// A row of results from rows of as many elements.
void reduce_columns(const Reducer& reducer, const Loops& sums, const float* x, float* to,
                    std::int64_t count) {
  constexpr std::int64_t kChunk = 2048;  // sums that stay in the first-level cache
  std::array<double, kChunk> totals{};
  for (std::int64_t done = 0; done < count; done += kChunk) {
    const std::int64_t width = std::min(kChunk, count - done);
    if (reducer.sum) std::fill_n(totals.begin(), width, 0.0);
    each_iteration(sums, {}, [&](const PerOperand& at) {
      if (reducer.sum) {
        add_row(*reducer.sum, x + done + at[0], totals.data(), width);
      } else {
        extreme_rows(reducer.largest, x + done + at[0], to + done, width);
      }
    });
    for (std::int64_t n = 0; reducer.sum && n < width; ++n) {
      to[done + n] += static_cast<float>(totals[static_cast<std::size_t>(n)] * reducer.scale);
    }
  }
}

bool fast_reduction(const Task& task) {
  const std::optional<Reducer> reducer = reducer_of(task);
  if (!reducer || !computes_in(task, DType::kF32) || !reads_inputs(task, 1)) return false;
  if (!factors_of(*task.loops, FactorKind::kWhole).empty()) return false;
  const Elements<const float> from = input_of<float>(task, 0);
  const Elements<float> to = output_of<float>(task, 0);
  const std::array<const Operand*, 2> operands = {&to.at, &from.at};
  if (to.data == nullptr || !is_regular(task, operands)) return false;
  std::vector<ReductionLoops> all;
  for (const Box& block : task.blocks) {
    auto loops = reduction_loops(task, block, to.at, from.at);
    if (!loops) return false;
    all.push_back(std::move(*loops));
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  fill_results(task, to, reducer->sum ? 0 : reducer->largest ? -kInfinity : kInfinity);
  for (const ReductionLoops& loops : all) {
    const PerOperand first = {loops.to, loops.from};
    if (loops.by_row) {
      each_iteration(loops.passes, first, [&](const PerOperand& at) {
        reduce_rows(*reducer, loops.sums, from.data + at[1], to.data[at[0]]);
      });
      continue;
    }
    const std::span<const StridedLoop> outer =
        std::span(loops.passes).first(loops.passes.size() - 1);
    each_iteration(outer, first, [&](const PerOperand& at) {
      reduce_columns(*reducer, loops.sums, from.data + at[1], to.data + at[0],
                     loops.passes.back().count);
    });
  }
  return true;
}

}  // namespace

std::vector<FastEntry> vector_line_kernels() {
  std::vector<FastEntry> list = {
      {"softmax", "vectors", fast_softmax},    {"log_softmax", "vectors", fast_softmax},
      {"layer_norm", "vectors", fast_norm},    {"rms_norm", "vectors", fast_norm},
      {"instance_norm", "vectors", fast_norm}, {"group_norm", "vectors", fast_norm}};
  for (const std::string_view op :
       {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_l1", "reduce_sum_square",
        "global_max_pool", "global_average_pool"}) {
    list.push_back({op, "vectors", fast_reduction});
  }
  return list;
}

}  // namespace tessera::run::kernels
