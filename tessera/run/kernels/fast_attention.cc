// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/run/kernels/panel_product.h"
#include "tessera/run/kernels/strided_loops.h"
#include "tessera/run/kernels/vectors.h"

namespace tessera::run::kernels {
namespace {

std::size_t factor_of(const ops::Access& access, std::size_t dim) {
  return static_cast<std::size_t>(access.dims[dim].terms[0].dim);
}

/// 0, step, 2·step, ..
std::vector<std::int64_t> multiples(std::int64_t step, std::int64_t count) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(count));
  for (std::int64_t n = 0; n < count; ++n) list[static_cast<std::size_t>(n)] = n * step;
  return list;
}

/// softmax(scale·q·k + mask)·v, a chunk of queries at a time: both products are in panels.
class Attention {
 public:
  explicit Attention(const Task& task)
      : task_(task),
        q_(input_of<float>(task, 0)),
        k_(input_of<float>(task, 1)),
        v_(input_of<float>(task, 2)),
        mask_(input_of<float>(task, 3)),
        to_(output_of<float>(task, 0)) {
    const ops::Loops& loops = *task.loops;
    const std::size_t rank = task.call->shape(0).rank();
    s_ = factor_of(*loops.inputs[0], rank - 2);
    d_ = factor_of(*loops.inputs[0], rank - 1);
    t_ = factor_of(*loops.inputs[1], rank - 2);
    e_ = factor_of(*loops.inputs[2], rank - 1);
    keys_ = loops.factors[t_].extent;
    const auto width = static_cast<float>(loops.factors[d_].extent);
    scale_ = task.call->given("scale") ? static_cast<float>(task.call->real("scale"))
                                       : 1 / std::sqrt(width);
    causal_ = task.call->integer("causal") != 0;
  }

  bool suits() const {
    const std::array<const Operand*, 5> operands = {
        &q_.at, &k_.at, &v_.at, mask_.data != nullptr ? &mask_.at : nullptr, &to_.at};
    return to_.data != nullptr && q_.data != nullptr && k_.data != nullptr && v_.data != nullptr &&
           (!task_.call->has(3) || mask_.data != nullptr) && is_regular(task_, operands) &&
           (!causal_ || is_finite());
  }

  void run() {
    for (const Box& block : task_.blocks) {
      Index f = first_of(block);
      each_batch(block, f, [&] {
        for (std::int64_t s = block.from[s_]; s < block.to[s_]; s += kQueries) {
          f[s_] = s;
          attend(block, f, std::min(kQueries, block.to[s_] - s));
        }
        f[s_] = block.from[s_];
      });
    }
  }

 private:
  static constexpr std::int64_t kQueries = 64;

  template <typename Visit>
  void each_batch(const Box& block, Index& f, const Visit& visit) const {
    const Factors passes = factors_of(*task_.loops, ops::FactorKind::kPass);
    each_setting(block, without(without(passes, s_), e_), f, visit);
  }

  /// Weights of keys that are not visible are 0, and 0 times a value that is not finite is none.
  bool is_finite() const {
    bool finite = true;
    for (const Box& block : task_.blocks) {
      Index f = first_of(block);
      each_batch(block, f, [&] {
        for (f[t_] = 0; f[t_] < keys_; ++f[t_]) {
          const float* const row = &v_(f);
          for (std::int64_t n = 0; n < block.to[e_] - block.from[e_]; ++n) {
            finite = finite && std::isfinite(row[n * v_.at.slope(e_)]);
          }
        }
        f[t_] = 0;
      });
    }
    return finite;
  }

  std::int64_t visible_to(std::int64_t query) const {
    if (!causal_) return keys_;
    const std::int64_t ahead = keys_ - task_.loops->factors[s_].extent;
    return std::clamp<std::int64_t>(query + ahead + 1, 0, keys_);
  }

  /// Queries from f[s_] on.
  void attend(const Box& block, Index& f, std::int64_t queries) {
    const std::int64_t width = task_.loops->factors[d_].extent;
    const std::int64_t seen = visible_to(f[s_] + queries - 1);
    const std::int64_t columns = block.to[e_] - block.from[e_];
    const std::vector<std::int64_t> to_rows = multiples(to_.at.slope(s_), queries);
    const std::vector<std::int64_t> to_columns = multiples(to_.at.slope(e_), columns);
    float* const to = &to_(f);
    for (const std::int64_t row : to_rows) {
      for (const std::int64_t column : to_columns) to[row + column] = 0;
    }
    scores_.assign(static_cast<std::size_t>(queries * seen), 0);
    const ProductSide query{
        &q_(f), multiples(q_.at.slope(s_), queries), multiples(q_.at.slope(d_), width), {}};
    const ProductSide key{
        &k_(f), multiples(k_.at.slope(t_), seen), multiples(k_.at.slope(d_), width), {}};
    const ProductSide weight{scores_.data(), multiples(seen, queries), multiples(1, seen), {}};
    add_panel_product(scale_, query, key, scores_.data(), weight.rows, weight.terms);
    const std::int64_t first = f[s_];
    for (std::int64_t i = 0; i < queries; ++i) {
      float* const row = scores_.data() + i * seen;
      f[s_] = first + i;
      const std::int64_t visible = visible_to(f[s_]);
      if (mask_.data != nullptr) {
        const float* const masks = &mask_(f);
        for (std::int64_t n = 0; n < visible; ++n) row[n] += masks[n * mask_.at.slope(t_)];
      }
      // A query that sees nothing has no answer.
      if (visible == 0) {
        for (const std::int64_t column : to_columns) {
          to[to_rows[static_cast<std::size_t>(i)] + column] =
              std::numeric_limits<float>::quiet_NaN();
        }
      }
      if (visible > 0) softmax_row(row, row, visible, /*logarithm=*/false);
      std::fill(row + visible, row + seen, 0.0F);
    }
    f[s_] = first;
    const ProductSide value{
        &v_(f), multiples(v_.at.slope(e_), columns), multiples(v_.at.slope(t_), seen), {}};
    add_panel_product(1, weight, value, to, to_rows, to_columns);
  }

  const Task& task_;
  Elements<const float> q_;
  Elements<const float> k_;
  Elements<const float> v_;
  Elements<const float> mask_;
  Elements<float> to_;
  std::size_t s_ = 0;  ///< factors: queries, their width, keys, and the width of values
  std::size_t d_ = 0;
  std::size_t t_ = 0;
  std::size_t e_ = 0;
  std::int64_t keys_ = 0;
  float scale_ = 1;
  bool causal_ = false;
  std::vector<float> scores_;
};

bool fast_attention(const Task& task) {
  if (!computes_in(task, DType::kF32)) return false;
  Attention one(task);
  if (!one.suits()) return false;
  one.run();
  return true;
}

}  // namespace

std::vector<FastEntry> attention_kernels() { return {{"attention", "panels", fast_attention}}; }

}  // namespace tessera::run::kernels
