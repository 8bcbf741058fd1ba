// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/graph/rules/window.h"
#include "tessera/run/kernels/nest.h"
#include "tessera/run/kernels/resize.h"

namespace tessera::run::kernels {
namespace {

using ops::FactorKind;

/// The element of a window that counts, and how many there are.
template <typename W>
struct Pooled {
  W most{};
  Index best;      ///< its index; empty if no element lies inside
  double sum = 0;  ///< of floats
  std::int64_t whole_sum = 0;
  std::int64_t inside = 0;
  std::int64_t padded = 0;  ///< elements and padding, but not what lies beyond the padding
};

template <typename W>
Pooled<W> pool_at(const Task& task, const graph::rules::Window& window, const Factors& kernel,
                  const Elements<const W>& from, const Box& block, Index& f) {
  const ops::Access& access = *task.loops->inputs[0];
  const Shape& shape = task.call->shape(0);
  Pooled<W> pooled;
  each_setting(block, kernel, f, [&] {
    const Index x = access.index(f);
    bool in_padding = true;
    for (std::size_t d = 2; d < x.size(); ++d) {
      in_padding = in_padding && x[d] < shape[d] + window.after[d - 2];
    }
    if (in_padding) ++pooled.padded;
    if (!shape.contains(x)) return;
    ++pooled.inside;
    const W value = from(f);
    if constexpr (std::is_integral_v<W>) {
      pooled.whole_sum = plus(pooled.whole_sum, static_cast<std::int64_t>(value));
    } else {
      pooled.sum += static_cast<double>(value);
    }
    if (pooled.best.empty() || value > pooled.most) {
      pooled.most = value;
      pooled.best = x;
    }
  });
  for (const std::size_t k : kernel) f[k] = block.from[k];
  return pooled;
}

template <typename W>
Status pool(const Task& task) {
  Result<graph::rules::Window> read =
      graph::rules::read_window(*task.call, task.call->integers("kernel"));
  if (!read) return read.error();
  const bool is_max = task.call->op().is("max_pool");
  const bool counts_padding = task.call->integer("count_include_pad") != 0;
  const bool column_major = task.call->integer("column_major") != 0;
  const Elements<const W> from = input_of<W>(task, 0);
  const Elements<W> to = output_of<W>(task, 0);
  const Elements<std::int64_t> positions =
      task.results.size() > 1 ? output_of<std::int64_t>(task, 1) : Elements<std::int64_t>{};
  const Shape& shape = task.call->shape(0);
  const Factors passes = factors_of(*task.loops, FactorKind::kPass);
  const Factors kernel = factors_of(*task.loops, FactorKind::kWhole);
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    each_setting(block, passes, f, [&] {
      const Pooled<W> pooled = pool_at(task, *read, kernel, from, block, f);
      if (!is_max) {
        const std::int64_t count = counts_padding ? pooled.padded : pooled.inside;
        if constexpr (std::is_integral_v<W>) {
          to(f) = count == 0 ? W{} : static_cast<W>(pooled.whole_sum / count);
        } else {
          to(f) = static_cast<W>(pooled.sum / static_cast<double>(count));
        }
        return;
      }
      constexpr bool kFloat = std::is_floating_point_v<W>;
      using Limits = std::numeric_limits<W>;
      const W nothing = kFloat ? -Limits::infinity() : Limits::lowest();
      if (to.data != nullptr) to(f) = pooled.best.empty() ? nothing : pooled.most;
      if (positions.data == nullptr) return;
      // In the whole tensor; column-major positions count the last two dims the other way round.
      std::int64_t position = pooled.best.empty() ? 0 : shape.linear(pooled.best);
      const std::size_t r = shape.rank() - 2;
      if (column_major && !pooled.best.empty()) {
        const std::int64_t image = shape[r] * shape[r + 1];
        position = position / image * image + pooled.best[r + 1] * shape[r] + pooled.best[r];
      }
      positions(f) = position;
    });
  }
  return ok_status();
}

Status pool_any(const Task& task) {
  return with_type(task.call->dtype(0), [&](auto zero) { return pool<decltype(zero)>(task); });
}

/// Every input element adds a kernel to the output. Its spatial dims, the kernel's and the output's
/// are whole factors; where kernels lie side by side, position and tap pass, and the output's index
/// is made of them.
template <typename W>
Status conv_transpose(const Task& task) {
  const ops::Loops& loops = *task.loops;
  Result<graph::rules::Window> window =
      graph::rules::read_window(*task.call, graph::rules::spatial_extents(task.call->shape(1)));
  if (!window) return window.error();
  const Elements<const W> x = input_of<W>(task, 0);
  const Elements<const W> w = input_of<W>(task, 1);
  const Elements<const W> bias = input_of<W>(task, 2);
  const Elements<W> to = output_of<W>(task, 0);
  if (to.data == nullptr) return ok_status();
  set_all<W>(task, 0, W{});
  const Factors passes = factors_of(loops, FactorKind::kPass);
  const Factors sums = factors_of(loops, FactorKind::kReduce);
  std::vector<std::size_t> dims;  // those of whole factors
  Factors in;
  Factors kernel;
  Factors out;
  const auto factor = [](const ops::Access& access, std::size_t d) {
    return static_cast<std::size_t>(access.dims[d + 2].terms[0].dim);
  };
  for (std::size_t d = 0; d < window->kernel.size(); ++d) {
    const std::size_t position = factor(*loops.inputs[0], d);
    if (loops.factors[position].kind == FactorKind::kPass) continue;
    dims.push_back(d);
    in.push_back(position);
    kernel.push_back(factor(*loops.inputs[1], d));
    out.push_back(factor(loops.outputs[0], d));
  }
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    if (x.data != nullptr && w.data != nullptr) {
      each_setting(block, joined(joined(passes, sums), joined(in, kernel)), f, [&] {
        for (std::size_t i = 0; i < dims.size(); ++i) {
          const std::size_t d = dims[i];
          const std::int64_t y = f[in[i]] * window->strides[d] +
                                 f[kernel[i]] * window->dilations[d] - window->before[d];
          if (y < 0 || y >= loops.factors[out[i]].extent) return;
          f[out[i]] = y;
        }
        to(f) = plus(to(f), times(x(f), w(f)));
      });
    }
    const bool is_first =
        std::ranges::all_of(sums, [&](std::size_t k) { return block.from[k] == 0; });
    if (bias.data == nullptr || !is_first) continue;
    f = first_of(block);
    each_setting(block, joined(passes, out), f, [&] { to(f) = plus(to(f), bias(f)); });
  }
  return ok_status();
}

Status conv_transpose_any(const Task& task) {
  return with_type(task.call->dtype(0),
                   [&](auto zero) { return conv_transpose<decltype(zero)>(task); });
}

/// Each output element is a weighted sum of input elements, a product over the dims.
template <typename W>
Status resize(const Task& task) {
  const ops::Loops& loops = *task.loops;
  const Tile& from = task.inputs[0];
  const Elements<W> to = output_of<W>(task, 0);
  if (to.data == nullptr || from.data == nullptr) return ok_status();
  const Shape& out = (*task.outputs)[0].shape;
  const std::vector<std::vector<Taps>> taps = taps_of(*task.call, out);
  const W extrapolation = static_cast<W>(task.call->real("extrapolation"));
  const W* const data = reinterpret_cast<const W*>(from.data);
  Factors factors;
  for (std::size_t k = 0; k < loops.factors.size(); ++k) {
    if (loops.outputs[0].has(static_cast<int>(k))) factors.push_back(k);
  }
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    each_setting(block, factors, f, [&] {
      const Index y = loops.outputs[0].index(f);
      double sum = 0;
      bool outside = false;
      // One dim after the other: `partial` sums over the taps of the dims from d on.
      const auto partial = [&](const auto& self, std::size_t d, std::int64_t at,
                               double weight) -> void {
        if (d == y.size()) {
          sum += weight * static_cast<double>(data[at]);
          return;
        }
        const Taps& list = taps[d][static_cast<std::size_t>(y[d])];
        outside = outside || list.outside;
        for (const Tap& tap : list.taps) {
          self(self, d + 1, at + (tap.position - from.box.from[d]) * from.strides[d],
               weight * tap.weight);
        }
      };
      partial(partial, 0, 0, 1);
      to(f) = outside ? extrapolation : static_cast<W>(sum);
    });
  }
  return ok_status();
}

Status resize_any(const Task& task) {
  return with_type(task.call->dtype(0), [&](auto zero) { return resize<decltype(zero)>(task); });
}

}  // namespace

std::vector<Entry> window_kernels() {
  return {{"max_pool", pool_any},
          {"average_pool", pool_any},
          {"conv_transpose", conv_transpose_any},
          {"resize", resize_any}};
}

}  // namespace tessera::run::kernels
