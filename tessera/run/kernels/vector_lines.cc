// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tessera/run/kernels/vectors.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/run/kernels/vector_lines.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "tessera/run/kernels/vector_math.inc"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace tessera::run::kernels::HWY_NAMESPACE {
namespace {

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;
constexpr std::size_t kMostLanes = hn::MaxLanes(F32());

// Sums of f32 in f64, where the processor has vectors of f64.
#if HWY_HAVE_FLOAT64
using F64 = hn::ScalableTag<double>;
using V64 = hn::Vec<F64>;
using Narrow = hn::Rebind<float, F64>;  // as many f32

struct Itself {
  HWY_INLINE V64 operator()(V64 x) const { return x; }
  HWY_INLINE double operator()(double x) const { return x; }
};
struct Size {
  HWY_INLINE V64 operator()(V64 x) const { return hn::Abs(x); }
  HWY_INLINE double operator()(double x) const { return std::fabs(x); }
};
struct Square {
  HWY_INLINE V64 operator()(V64 x) const { return hn::Mul(x, x); }
  HWY_INLINE double operator()(double x) const { return x * x; }
};
struct SquareAround {
  double middle;
  HWY_INLINE V64 operator()(V64 x) const {
    const V64 apart = hn::Sub(x, hn::Set(F64(), middle));
    return hn::Mul(apart, apart);
  }
  HWY_INLINE double operator()(double x) const { return (x - middle) * (x - middle); }
};

/// In four sums of vectors, so that additions overlap.
template <class Term>
double sum_of(const Term& term, const float* x, std::int64_t count) {
  const F64 d;
  const Narrow narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V64 a = hn::Zero(d);
  V64 b = hn::Zero(d);
  V64 c = hn::Zero(d);
  V64 e = hn::Zero(d);
  const auto at = [&](std::int64_t n)
                      HWY_ATTR { return term(hn::PromoteTo(d, hn::LoadU(narrow, x + n))); };
  std::int64_t n = 0;
  for (; n + 4 * lanes <= count; n += 4 * lanes) {
    a = hn::Add(a, at(n));
    b = hn::Add(b, at(n + lanes));
    c = hn::Add(c, at(n + 2 * lanes));
    e = hn::Add(e, at(n + 3 * lanes));
  }
  for (; n + lanes <= count; n += lanes) a = hn::Add(a, at(n));
  double rest = 0;
  for (; n < count; ++n) rest += term(static_cast<double>(x[n]));
  return rest + hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

template <class Term>
void add_of(const Term& term, const float* x, double* sums, std::int64_t count) {
  const F64 d;
  const Narrow narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t n = 0;
  for (; n + lanes <= count; n += lanes) {
    const V64 value = term(hn::PromoteTo(d, hn::LoadU(narrow, x + n)));
    hn::StoreU(hn::Add(hn::LoadU(d, sums + n), value), d, sums + n);
  }
  for (; n < count; ++n) sums[n] += term(static_cast<double>(x[n]));
}
#else
struct Itself {
  double operator()(double x) const { return x; }
};
struct Size {
  double operator()(double x) const { return std::fabs(x); }
};
struct Square {
  double operator()(double x) const { return x * x; }
};
struct SquareAround {
  double middle;
  double operator()(double x) const { return (x - middle) * (x - middle); }
};

template <class Term>
double sum_of(const Term& term, const float* x, std::int64_t count) {
  double sum = 0;
  for (std::int64_t n = 0; n < count; ++n) sum += term(static_cast<double>(x[n]));
  return sum;
}

template <class Term>
void add_of(const Term& term, const float* x, double* sums, std::int64_t count) {
  for (std::int64_t n = 0; n < count; ++n) sums[n] += term(static_cast<double>(x[n]));
}
#endif

double SumRow(RowSum sum, const float* x, std::int64_t count) {
  switch (sum) {
    case RowSum::kAbsolute:
      return sum_of(Size(), x, count);
    case RowSum::kSquares:
      return sum_of(Square(), x, count);
    default:
      return sum_of(Itself(), x, count);
  }
}

double SquaresAround(double middle, const float* x, std::int64_t count) {
  return sum_of(SquareAround{middle}, x, count);
}

void AddRow(RowSum sum, const float* x, double* sums, std::int64_t count) {
  switch (sum) {
    case RowSum::kAbsolute:
      return add_of(Size(), x, sums, count);
    case RowSum::kSquares:
      return add_of(Square(), x, sums, count);
    default:
      return add_of(Itself(), x, sums, count);
  }
}

template <bool kLargest>
HWY_INLINE V32 extreme(V32 known, V32 x) {
  const auto better = kLargest ? hn::Gt(x, known) : hn::Lt(x, known);
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), better), x, known);
}
template <bool kLargest>
HWY_INLINE float extreme_number(float known, float x) {
  return std::isnan(x) || (kLargest ? x > known : x < known) ? x : known;
}

template <bool kLargest>
float extreme_of(float first, const float* x, std::int64_t count) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  float best = first;
  std::int64_t n = 0;
  if (count >= 2 * lanes) {
    V32 a = hn::Set(d, first);
    V32 b = a;
    for (; n + 2 * lanes <= count; n += 2 * lanes) {
      a = extreme<kLargest>(a, hn::LoadU(d, x + n));
      b = extreme<kLargest>(b, hn::LoadU(d, x + n + lanes));
    }
    HWY_ALIGN float ends[kMostLanes];
    hn::StoreU(extreme<kLargest>(a, b), d, ends);
    for (std::int64_t i = 0; i < lanes; ++i) best = extreme_number<kLargest>(best, ends[i]);
  }
  for (; n < count; ++n) best = extreme_number<kLargest>(best, x[n]);
  return best;
}

template <bool kLargest>
void extremes_of(const float* x, float* extremes, std::int64_t count) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t n = 0;
  for (; n + lanes <= count; n += lanes) {
    hn::StoreU(extreme<kLargest>(hn::LoadU(d, extremes + n), hn::LoadU(d, x + n)), d, extremes + n);
  }
  for (; n < count; ++n) extremes[n] = extreme_number<kLargest>(extremes[n], x[n]);
}

float ExtremeRow(bool largest, float first, const float* x, std::int64_t count) {
  return largest ? extreme_of<true>(first, x, count) : extreme_of<false>(first, x, count);
}

void ExtremeRows(bool largest, const float* x, float* extremes, std::int64_t count) {
  if (largest) return extremes_of<true>(x, extremes, count);
  extremes_of<false>(x, extremes, count);
}

/// Calls visit(n, vector) for x[n] - shift, .. up to the end; the rest of the last vector is
/// `fill`.
template <class Visit>
HWY_INLINE void each_shifted(const float* x, std::int64_t count, float shift, float fill,
                             const Visit& visit) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V32 by = hn::Set(d, shift);
  std::int64_t n = 0;
  for (; n + lanes <= count; n += lanes) visit(n, hn::Sub(hn::LoadU(d, x + n), by));
  if (n == count) return;
  HWY_ALIGN float ends[kMostLanes];
  hn::StoreU(hn::Set(d, fill), d, ends);
  for (std::int64_t i = 0; n + i < count; ++i) ends[i] = x[n + i] - shift;
  visit(n, hn::LoadU(d, ends));
}

void SoftmaxRow(const float* x, float* to, std::int64_t count, bool logarithm) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  const float most = extreme_of<true>(kLeast, x, count);
  const auto store = [&](std::int64_t n, V32 value) HWY_ATTR {
    if (n + lanes <= count) return hn::StoreU(value, d, to + n);
    HWY_ALIGN float ends[kMostLanes];
    hn::StoreU(value, d, ends);
    std::copy_n(ends, count - n, to + n);
  };
  V32 sums = hn::Zero(d);
  const auto add = [&](std::int64_t n, V32 shifted) HWY_ATTR {
    const V32 power = exp_of(d, shifted);
    if (!logarithm) store(n, power);
    sums = hn::Add(sums, power);
  };
  // e^fill is 0, and counts for nothing.
  each_shifted(x, count, most, kLeast, add);
  const float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  if (logarithm) {
    const V32 by = hn::Set(d, std::log(sum));
    const auto subtract = [&](std::int64_t n, V32 shifted)
                              HWY_ATTR { store(n, hn::Sub(shifted, by)); };
    each_shifted(x, count, most, 0, subtract);
    return;
  }
  const V32 by = hn::Set(d, 1 / sum);
  const auto scale = [&](std::int64_t n, V32 power) HWY_ATTR { store(n, hn::Mul(power, by)); };
  each_shifted(to, count, 0, 0, scale);
}

}  // namespace
}  // namespace tessera::run::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::run::kernels {

HWY_EXPORT(SumRow);
HWY_EXPORT(SquaresAround);
HWY_EXPORT(AddRow);
HWY_EXPORT(ExtremeRow);
HWY_EXPORT(ExtremeRows);
HWY_EXPORT(SoftmaxRow);

double sum_row(RowSum sum, const float* x, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(SumRow)(sum, x, count);
}

double squares_around(double middle, const float* x, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(SquaresAround)(middle, x, count);
}

void add_row(RowSum sum, const float* x, double* sums, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(AddRow)(sum, x, sums, count);
}

float extreme_row(bool largest, float first, const float* x, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(ExtremeRow)(largest, first, x, count);
}

void extreme_rows(bool largest, const float* x, float* extremes, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(ExtremeRows)(largest, x, extremes, count);
}

void softmax_row(const float* x, float* to, std::int64_t count, bool logarithm) {
  HWY_DYNAMIC_DISPATCH(SoftmaxRow)(x, to, count, logarithm);
}

}  // namespace tessera::run::kernels
#endif
