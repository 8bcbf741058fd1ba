// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "tessera/ops/loops.h"
#include "tessera/ops/work_map.h"
#include "tessera/run/kernels/kernel.h"

/// What the kernels share: loops over iterations, and where the element of an iteration is.
namespace tessera::run::kernels {

using Factors = std::vector<std::size_t>;

/// The factors of one kind, in order.
Factors factors_of(const ops::Loops& loops, ops::FactorKind kind);
/// Those of `factors` that the access has, or has not.
Factors those_in(const ops::Access& access, const Factors& factors);
Factors those_not_in(const ops::Access& access, const Factors& factors);
Factors joined(Factors a, const Factors& b);
/// Without one of them.
Factors without(Factors factors, std::size_t factor);

/// Calls `visit` for every setting of these factors inside a block, the last one fastest. The other
/// numbers of `f` stay.
template <typename Visit>
void each_setting(const Box& block, std::span<const std::size_t> factors, Index& f,
                  const Visit& visit) {
  for (const std::size_t k : factors) {
    if (block.from[k] >= block.to[k]) return;
    f[k] = block.from[k];
  }
  while (true) {
    visit();
    std::size_t n = factors.size();
    while (n > 0 && ++f[factors[n - 1]] == block.to[factors[n - 1]]) {
      --n;
      f[factors[n]] = block.from[factors[n]];
    }
    if (n == 0) return;
  }
}

/// Where an operand has the element of an iteration: an offset in its tile that is a sum over the
/// factors, and bounds on the iterations that read inside the operand.
class Operand {
 public:
  /// An operand that no iteration touches.
  Operand() = default;
  Operand(const ops::Access& access, const Tile& tile, const Shape& shape, const ops::Loops& loops);

  std::int64_t offset(const Index& f) const {
    std::int64_t at = base_;
    for (std::size_t k = 0; k < slopes_.size(); ++k) at += slopes_[k] * f[k];
    return at;
  }
  std::int64_t slope(std::size_t factor) const { return slopes_.empty() ? 0 : slopes_[factor]; }
  bool inside(const Index& f) const;
  /// Those values of one factor, of a range, for which the iteration is inside.
  ops::Range inside(const Index& f, std::size_t factor, ops::Range range) const;
  /// An iteration is inside if 0 <= start + Σ terms < extent for each of these.
  struct Bound {
    std::int64_t start = 0;
    std::vector<Term> terms;
    std::int64_t extent = 0;
  };
  const std::vector<Bound>& bounds() const { return bounds_; }

 private:
  bool touched_ = false;
  std::int64_t base_ = 0;
  std::vector<std::int64_t> slopes_;  ///< per factor
  std::vector<Bound> bounds_;         ///< of dims whose index may leave the operand
};

/// An operand with its elements.
template <typename W>
struct Elements {
  Operand at;
  W* data = nullptr;

  W& operator()(const Index& f) const { return data[at.offset(f)]; }
};
template <typename W>
Elements<const W> input_of(const Task& task, std::size_t i) {
  if (i >= task.inputs.size() || !task.loops->inputs[i] || task.inputs[i].data == nullptr) {
    return {};
  }
  return {Operand(*task.loops->inputs[i], task.inputs[i], task.call->shape(i), *task.loops),
          reinterpret_cast<const W*>(task.inputs[i].data)};
}
template <typename W>
Elements<W> output_of(const Task& task, std::size_t o) {
  if (task.results[o].data == nullptr) return {};
  return {Operand(task.loops->outputs[o], task.results[o], (*task.outputs)[o].shape, *task.loops),
          reinterpret_cast<W*>(task.results[o].data)};
}

/// An iteration with the first value of every factor.
inline Index first_of(const Box& block) { return block.from; }

/// The factor among these along which `operand` moves by single elements, or else the longest one
/// in the block. There is at least one.
std::size_t fastest(const Factors& factors, const Operand& operand, const Box& block);

/// Calls visit(range, inner, step) for rows of settings of these factors: the factor `inner` runs
/// over `range`, for which `to` has elements, `step` apart; f is at the first of them.
template <typename W, typename Visit>
void each_row(const Box& block, const Factors& factors, const Elements<W>& to, Index& f,
              const Visit& visit) {
  if (factors.empty()) {
    if (to.at.inside(f)) visit(ops::Range{0, 1}, std::size_t{0}, std::int64_t{0});
    return;
  }
  const std::size_t inner = fastest(factors, to.at, block);
  const ops::Range all{block.from[inner], block.to[inner]};
  if (all.empty()) return;
  each_setting(block, without(factors, inner), f, [&] {
    const ops::Range range = to.at.inside(f, inner, all);
    if (range.empty()) return;
    f[inner] = range.from;
    visit(range, inner, to.at.slope(inner));
    f[inner] = all.from;
  });
}

/// Sets what the blocks contribute to.
template <typename W>
void set_all(const Task& task, std::size_t output, W value) {
  const Elements<W> to = output_of<W>(task, output);
  const ops::Access& access = task.loops->outputs[output];
  Factors factors;
  for (std::size_t k = 0; k < task.loops->factors.size(); ++k) {
    if (access.has(static_cast<int>(k))) factors.push_back(k);
  }
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    each_row(block, factors, to, f, [&](ops::Range range, std::size_t, std::int64_t step) {
      W* const row = &to(f);
      const std::int64_t count = range.to - range.from;
      if (step == 1) {
        std::fill_n(row, count, value);
      } else {
        for (std::int64_t n = 0; n < count; ++n) row[n * step] = value;
      }
    });
  }
}

/// Calls `work(W{})` with the type of elements in tiles of `dtype`.
template <typename Work>
auto with_type(DType dtype, const Work& work) {
  switch (compute_type(dtype)) {
    case DType::kF64:
      return work(double{});
    case DType::kI64:
      return work(std::int64_t{});
    case DType::kU64:
      return work(std::uint64_t{});
    default:
      return work(float{});
  }
}
/// The same for ops that have only floats.
template <typename Work>
auto with_float(DType dtype, const Work& work) {
  return compute_type(dtype) == DType::kF64 ? work(double{}) : work(float{});
}

template <typename W>
bool is_nan(W x) {
  if constexpr (std::is_floating_point_v<W>) {
    return std::isnan(x);
  } else {
    return false;
  }
}

// Arithmetic that wraps around for integers.
template <typename W>
W plus(W a, W b) {
  if constexpr (std::is_integral_v<W>) {
    return static_cast<W>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
template <typename W>
W times(W a, W b) {
  if constexpr (std::is_integral_v<W>) {
    return static_cast<W>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

/// Adds beta times input i, which is read once, to the shares that read it.
template <typename W>
void add_once(const Task& task, std::size_t i, const Elements<W>& to, W beta) {
  const Elements<const W> from = input_of<W>(task, i);
  if (from.data == nullptr) return;
  const Factors passes = factors_of(*task.loops, ops::FactorKind::kPass);
  const Factors sums = factors_of(*task.loops, ops::FactorKind::kReduce);
  for (const Box& block : task.blocks) {
    const bool is_first =
        std::ranges::all_of(sums, [&](std::size_t k) { return block.from[k] == 0; });
    if (!is_first) continue;
    Index f = first_of(block);
    each_row(block, passes, to, f, [&](ops::Range range, std::size_t inner, std::int64_t step) {
      W* const row = &to(f);
      const W* const x = &from(f);
      const std::int64_t x_step = passes.empty() ? 0 : from.at.slope(inner);
      for (std::int64_t n = 0; n < range.to - range.from; ++n) {
        row[n * step] = plus(row[n * step], times(beta, x[n * x_step]));
      }
    });
  }
}

/// The kernels, by family. Each performs a task of an op that its list names.
using Kernel = Status (*)(const Task& task);
struct Entry {
  std::string_view op;
  Kernel kernel;
};
std::vector<Entry> elementwise_kernels();
std::vector<Entry> contraction_kernels();
std::vector<Entry> reduction_kernels();
std::vector<Entry> line_kernels();  ///< ops along an axis
std::vector<Entry> norm_kernels();
std::vector<Entry> move_kernels();
std::vector<Entry> gather_kernels();  ///< and scatter, one_hot
std::vector<Entry> window_kernels();
std::vector<Entry> creation_kernels();

/// Faster kernels, which are tried first. One that does not take a task returns false, and has
/// written nothing then.
using FastKernel = bool (*)(const Task& task);
struct FastEntry {
  std::string_view op;
  std::string_view name;
  FastKernel kernel;
};
std::vector<FastEntry> vector_map_kernels();
std::vector<FastEntry> vector_line_kernels();
std::vector<FastEntry> panel_product_kernels();
std::vector<FastEntry> attention_kernels();

}  // namespace tessera::run::kernels
