// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/run/kernels/nest.h"

namespace tessera::run::kernels {
namespace {

using ops::FactorKind;
using ops::Range;

/// to[n] += scale·x[n] along a row.
template <typename W>
void add_scaled(W* to, std::int64_t to_step, W scale, const W* x, std::int64_t x_step,
                std::int64_t count) {
  if (to_step == 1 && x_step == 1) {
    for (std::int64_t n = 0; n < count; ++n) to[n] = plus(to[n], times(scale, x[n]));
    return;
  }
  for (std::int64_t n = 0; n < count; ++n) {
    to[n * to_step] = plus(to[n * to_step], times(scale, x[n * x_step]));
  }
}

/// Σ a[n]·b[n], in eight sums that are added at the end.
template <typename W>
W inner_product(const W* a, std::int64_t a_step, const W* b, std::int64_t b_step,
                std::int64_t count) {
  constexpr std::int64_t kSums = 8;
  std::array<W, kSums> sums{};
  std::int64_t n = 0;
  for (; n + kSums <= count; n += kSums) {
    for (std::int64_t s = 0; s < kSums; ++s) {
      W& sum = sums[static_cast<std::size_t>(s)];
      sum = plus(sum, times(a[(n + s) * a_step], b[(n + s) * b_step]));
    }
  }
  W rest{};
  for (; n < count; ++n) rest = plus(rest, times(a[n * a_step], b[n * b_step]));
  for (const W sum : sums) rest = plus(rest, sum);
  return rest;
}

/// One block of a product of two operands. Rows run along a factor that passes, or that is summed
/// where no factor that passes has several values.
template <typename W>
void add_product(const Task& task, const Box& block, const Elements<const W>& a,
                 const Elements<const W>& b, const Elements<W>& to, W alpha) {
  const Factors passes = factors_of(*task.loops, FactorKind::kPass);
  const Factors sums = factors_of(*task.loops, FactorKind::kReduce);
  const auto length = [&](std::size_t k) { return block.to[k] - block.from[k]; };
  if (passes.empty() && sums.empty()) {
    Index f = first_of(block);
    to(f) = plus(to(f), times(alpha, times(a(f), b(f))));
    return;
  }
  constexpr std::int64_t kShort = 8;  // rows shorter than this are not worth their beginning
  std::size_t inner = 0;
  bool is_sum = passes.empty();
  if (!passes.empty()) inner = fastest(passes, to.at, block);
  if (!sums.empty()) {
    const std::size_t longest = fastest(sums, a.at, block);
    is_sum = is_sum || (length(inner) < kShort && length(longest) > length(inner));
    if (is_sum) inner = longest;
  }
  Index f = first_of(block);
  const Range all{block.from[inner], block.to[inner]};
  each_setting(block, without(joined(passes, sums), inner), f, [&] {
    const Range range = b.at.inside(f, inner, a.at.inside(f, inner, all));
    if (range.empty()) return;
    f[inner] = range.from;
    const W* const x = &a(f);
    const W* const y = &b(f);
    W* const out = &to(f);
    const std::int64_t step_x = a.at.slope(inner);
    const std::int64_t step_y = b.at.slope(inner);
    const std::int64_t count = range.to - range.from;
    if (is_sum) {
      *out = plus(*out, times(alpha, inner_product(x, step_x, y, step_y, count)));
    } else if (step_x == 0) {
      add_scaled(out, to.at.slope(inner), times(alpha, *x), y, step_y, count);
    } else if (step_y == 0) {
      add_scaled(out, to.at.slope(inner), times(alpha, *y), x, step_x, count);
    } else {
      for (std::int64_t n = 0; n < count; ++n) {
        W& element = out[n * to.at.slope(inner)];
        element = plus(element, times(alpha, times(x[n * step_x], y[n * step_y])));
      }
    }
    f[inner] = all.from;
  });
}

/// The same for any number of operands, one iteration after the other.
template <typename W>
void add_products(const Task& task, const Box& block,
                  const std::vector<Elements<const W>>& operands, const Elements<W>& to) {
  const Factors all = joined(factors_of(*task.loops, FactorKind::kPass),
                             factors_of(*task.loops, FactorKind::kReduce));
  Index f = first_of(block);
  each_setting(block, all, f, [&] {
    W product{1};
    for (const Elements<const W>& operand : operands) product = times(product, operand(f));
    to(f) = plus(to(f), product);
  });
}

template <typename W>
Status contract(const Task& task, W alpha, W beta) {
  const Elements<W> to = output_of<W>(task, 0);
  if (to.data == nullptr) return ok_status();
  set_all<W>(task, 0, W{});
  std::vector<Elements<const W>> operands;
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    if (!task.loops->inputs[i] || task.loops->inputs[i]->once) continue;
    operands.push_back(input_of<W>(task, i));
  }
  for (const Box& block : task.blocks) {
    if (operands.size() == 2) {
      add_product(task, block, operands[0], operands[1], to, alpha);
    } else {
      add_products(task, block, operands, to);
    }
  }
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    if (task.loops->inputs[i] && task.loops->inputs[i]->once) add_once(task, i, to, beta);
  }
  return ok_status();
}

Status product(const Task& task) {
  return with_type(task.call->dtype(0),
                   [&](auto zero) { return contract<decltype(zero)>(task, 1, 1); });
}

Status gemm(const Task& task) {
  return with_type(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    return contract<W>(task, static_cast<W>(task.call->real("alpha")),
                       static_cast<W>(task.call->real("beta")));
  });
}

/// softmax(scale·q·k + mask)·v for each query. Where keys have fewer heads than queries, the loops
/// say which they share. A causal query sees keys up to its own position, counted from the end.
template <typename W>
Status attend(const Task& task) {
  const ops::Loops& loops = *task.loops;
  const Elements<const W> q = input_of<W>(task, 0);
  const Elements<const W> k = input_of<W>(task, 1);
  const Elements<const W> v = input_of<W>(task, 2);
  const Elements<const W> mask = input_of<W>(task, 3);
  const Elements<W> to = output_of<W>(task, 0);
  if (to.data == nullptr) return ok_status();
  const std::size_t rank = task.call->shape(0).rank();
  const auto factor_at = [](const ops::Access& access, std::size_t dim) {
    return static_cast<std::size_t>(access.dims[dim].terms[0].dim);
  };
  const std::size_t s = factor_at(*loops.inputs[0], rank - 2);
  const std::size_t d = factor_at(*loops.inputs[0], rank - 1);
  const std::size_t t = factor_at(*loops.inputs[1], rank - 2);
  const std::size_t e = factor_at(*loops.inputs[2], rank - 1);
  const std::int64_t width = loops.factors[d].extent;
  const std::int64_t keys = loops.factors[t].extent;
  const W scale = task.call->given("scale") ? static_cast<W>(task.call->real("scale"))
                                            : 1 / std::sqrt(static_cast<W>(width));
  const bool causal = task.call->integer("causal") != 0;
  const std::int64_t ahead = keys - loops.factors[s].extent;
  std::vector<W> weights(static_cast<std::size_t>(keys));
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    each_setting(block, without(factors_of(loops, FactorKind::kPass), e), f, [&] {
      f[e] = block.from[e];
      f[d] = 0;
      const std::int64_t visible =
          causal ? std::clamp<std::int64_t>(f[s] + ahead + 1, 0, keys) : keys;
      W most = -std::numeric_limits<W>::infinity();
      for (f[t] = 0; f[t] < visible; ++f[t]) {
        W score = scale * inner_product(&q(f), q.at.slope(d), &k(f), k.at.slope(d), width);
        if (mask.data != nullptr) score += mask(f);
        weights[static_cast<std::size_t>(f[t])] = score;
        most = std::max(most, score);
      }
      W sum = 0;
      for (std::int64_t n = 0; n < visible; ++n) {
        W& weight = weights[static_cast<std::size_t>(n)];
        weight = std::exp(weight - most);
        sum += weight;
      }
      f[t] = 0;
      const std::int64_t count = block.to[e] - block.from[e];
      W* const out = &to(f);
      const std::int64_t step = to.at.slope(e);
      for (std::int64_t n = 0; n < count; ++n) out[n * step] = 0;
      for (f[t] = 0; f[t] < visible; ++f[t]) {
        add_scaled(out, step, weights[static_cast<std::size_t>(f[t])], &v(f), v.at.slope(e), count);
      }
      for (std::int64_t n = 0; n < count; ++n) out[n * step] /= sum;
      f[t] = 0;
    });
  }
  return ok_status();
}

Status attention(const Task& task) {
  return with_float(task.call->dtype(0), [&](auto zero) { return attend<decltype(zero)>(task); });
}

}  // namespace

std::vector<Entry> contraction_kernels() {
  return {{"matmul", product},
          {"gemm", gemm},
          {"einsum", product},
          {"conv", product},
          {"attention", attention}};
}

}  // namespace tessera::run::kernels
