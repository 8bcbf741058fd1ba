// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/graph/data.h"
#include "tessera/run/kernels/lines.h"
#include "tessera/run/kernels/nest.h"

namespace tessera::run::kernels {
namespace {

using ops::FactorKind;

/// to = combine(to, element(x)) for every iteration. Rows of sums of floats are added in double.
template <typename W, typename Element, typename Combine>
void fold_blocks(const Task& task, W neutral, Element element, Combine combine) {
  set_all<W>(task, 0, neutral);
  const Elements<const W> from = input_of<W>(task, 0);
  const Elements<W> to = output_of<W>(task, 0);
  if (to.data == nullptr || from.data == nullptr) return;
  const Factors passes = factors_of(*task.loops, FactorKind::kPass);
  const Factors sums = factors_of(*task.loops, FactorKind::kReduce);
  const Factors all = joined(passes, sums);
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    if (all.empty()) {
      to(f) = combine(to(f), element(from(f)));
      continue;
    }
    const std::size_t inner = fastest(all, from.at, block);
    const std::int64_t count = block.to[inner] - block.from[inner];
    const std::int64_t step = from.at.slope(inner);
    const std::int64_t out_step = to.at.slope(inner);
    each_setting(block, without(all, inner), f, [&] {
      const W* const x = &from(f);
      W* const out = &to(f);
      if (out_step != 0) {
        for (std::int64_t n = 0; n < count; ++n) {
          out[n * out_step] = combine(out[n * out_step], element(x[n * step]));
        }
        return;
      }
      W row = *out;
      for (std::int64_t n = 0; n < count; ++n) row = combine(row, element(x[n * step]));
      *out = row;
    });
  }
}

template <typename W>
W sum_of(W a, W b) {
  return plus(a, b);
}

/// Sums of floats: every row in double, so that long ones lose nothing.
template <typename W, typename Element>
void add_blocks(const Task& task, Element element, double scale) {
  if constexpr (std::is_integral_v<W>) {
    fold_blocks<W>(task, W{}, element, sum_of<W>);
  } else {
    set_all<W>(task, 0, W{});
    const Elements<const W> from = input_of<W>(task, 0);
    const Elements<W> to = output_of<W>(task, 0);
    if (to.data == nullptr || from.data == nullptr) return;
    const Factors passes = factors_of(*task.loops, FactorKind::kPass);
    const Factors sums = factors_of(*task.loops, FactorKind::kReduce);
    for (const Box& block : task.blocks) {
      Index f = first_of(block);
      each_setting(block, passes, f, [&] {
        double sum = 0;
        each_setting(block, sums, f, [&] { sum += static_cast<double>(element(from(f))); });
        for (const std::size_t k : sums) f[k] = block.from[k];
        to(f) += static_cast<W>(sum * scale);
      });
    }
  }
}

/// How many elements each result of a mean has.
double count_of(const Task& task) {
  double count = 1;
  for (const ops::Factor& factor : task.loops->factors) {
    if (factor.kind == FactorKind::kReduce) count *= static_cast<double>(factor.extent);
  }
  return count;
}

Status shared(const Task& task) {
  const graph::Op op = task.call->op();
  return with_type(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    const auto same = [](W x) { return x; };
    const auto larger = [](W a, W b) { return is_nan(b) || b > a ? b : a; };
    const auto smaller = [](W a, W b) { return is_nan(b) || b < a ? b : a; };
    constexpr bool kFloat = std::is_floating_point_v<W>;
    using Limits = std::numeric_limits<W>;
    if (op.is("reduce_sum")) add_blocks<W>(task, same, 1);
    if (op.is("reduce_l1")) {
      add_blocks<W>(task, [](W x) { return x < W{0} ? times(x, static_cast<W>(-1)) : x; }, 1);
    }
    if (op.is("reduce_sum_square")) add_blocks<W>(task, [](W x) { return times(x, x); }, 1);
    if (op.is("reduce_mean") || op.is("global_average_pool")) {
      add_blocks<W>(task, same, 1 / count_of(task));
    }
    if (op.is("reduce_prod")) fold_blocks<W>(task, W{1}, same, times<W>);
    if (op.is("reduce_max") || op.is("global_max_pool")) {
      fold_blocks<W>(task, kFloat ? -Limits::infinity() : Limits::lowest(), same, larger);
    }
    if (op.is("reduce_min")) {
      fold_blocks<W>(task, kFloat ? Limits::infinity() : Limits::max(), same, smaller);
    }
    return ok_status();
  });
}

/// Reductions whose shares do not combine: a place has all elements of a result.
template <typename W>
W reduced(const graph::Op op, const std::vector<W>& line) {
  if constexpr (std::is_integral_v<W>) {
    W sum{};
    for (const W x : line) sum = plus(sum, x);
    if (op.is("reduce_mean") || op.is("global_average_pool")) {
      return line.empty() ? W{} : sum / static_cast<W>(line.size());
    }
    if (op.is("reduce_log_sum")) return static_cast<W>(std::log(static_cast<double>(sum)));
    double total = 0;
    for (const W x : line) {
      const auto value = static_cast<double>(x);
      total += op.is("reduce_l2") ? value * value : std::exp(value);
    }
    return static_cast<W>(op.is("reduce_l2") ? std::sqrt(total) : std::log(total));
  } else {
    double total = 0;
    if (op.is("reduce_log_sum_exp")) {
      const W most = line.empty() ? W{} : *std::ranges::max_element(line);
      if (!std::isfinite(most)) return most;
      for (const W x : line) total += std::exp(static_cast<double>(x) - static_cast<double>(most));
      return static_cast<W>(static_cast<double>(most) + std::log(total));
    }
    for (const W x : line) {
      const auto value = static_cast<double>(x);
      total += op.is("reduce_l2") ? value * value : value;
    }
    if (op.is("reduce_log_sum")) return static_cast<W>(std::log(total));
    if (op.is("reduce_l2")) return static_cast<W>(std::sqrt(total));
    return static_cast<W>(total / static_cast<double>(line.size()));
  }
}

Status whole(const Task& task) {
  return with_type(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    const Elements<W> to = output_of<W>(task, 0);
    each_line<W>(task, [&](const Index& f, const std::vector<W>& line) {
      to(f) = reduced(task.call->op(), line);
    });
    return ok_status();
  });
}

/// By its loops: shares combine where factors are reduced, and nothing is shared where they are
/// whole.
Status reduce(const Task& task) {
  const bool has_whole = !factors_of(*task.loops, FactorKind::kWhole).empty();
  const graph::Op op = task.call->op();
  const bool never_shared =
      op.is("reduce_l2") || op.is("reduce_log_sum") || op.is("reduce_log_sum_exp");
  const bool is_mean = op.is("reduce_mean") || op.is("global_average_pool");
  const bool whole_mean = is_mean && !graph::is_float(task.call->dtype(0));
  return has_whole || never_shared || whole_mean ? whole(task) : shared(task);
}

}  // namespace

std::vector<Entry> reduction_kernels() {
  std::vector<Entry> list;
  for (const std::string_view op :
       {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_l1",
        "reduce_sum_square", "reduce_l2", "reduce_log_sum", "reduce_log_sum_exp", "global_max_pool",
        "global_average_pool"}) {
    list.push_back({op, reduce});
  }
  return list;
}

}  // namespace tessera::run::kernels
