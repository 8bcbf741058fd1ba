// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numbers>
#include <utility>

#include "tessera/run/kernels/vectors.h"

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/run/kernels/vector_maps.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "tessera/run/kernels/vector_math.inc"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace tessera::run::kernels::HWY_NAMESPACE {
namespace {

template <typename T>
using Tag = hn::ScalableTag<T>;

// The maps, each with the number of rows that it reads.

struct Add {
  static constexpr std::size_t kInputs = 2;
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Add(a, b);
  }
};
struct Sub {
  static constexpr std::size_t kInputs = 2;
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Sub(a, b);
  }
};
struct Mul {
  static constexpr std::size_t kInputs = 2;
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Mul(a, b);
  }
};
struct Div {
  static constexpr std::size_t kInputs = 2;
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Div(a, b);
  }
};
/// NaN if one of them is.
struct Max {
  static constexpr std::size_t kInputs = 2;
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Gt(a, b)), a, b);
  }
};
struct Min {
  static constexpr std::size_t kInputs = 2;
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Lt(a, b)), a, b);
  }
};
struct Prelu {
  static constexpr std::size_t kInputs = 2;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V slope) const {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(slope, x), x);
  }
};
struct Relu {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElse(hn::Le(x, hn::Zero(d)), hn::Zero(d), x);
  }
};
struct Neg {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Neg(x);
  }
};
struct Abs {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Abs(x);
  }
};
struct Sqrt {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Sqrt(x);
  }
};
struct Rsqrt {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), hn::Sqrt(x));
  }
};
struct Reciprocal {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), x);
  }
};
struct Floor {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Floor(x);
  }
};
struct Ceil {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Ceil(x);
  }
};
struct Round {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Round(x);
  }
};
template <typename T>
struct LeakyRelu {
  static constexpr std::size_t kInputs = 1;
  T alpha;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(hn::Set(d, alpha), x), x);
  }
};
/// x between 0 and 1; NaN stays.
template <class D, class V>
HWY_INLINE V unit_part(D d, V x) {
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, hn::TFromD<D>{1});
  return hn::IfThenElse(hn::Lt(x, zero), zero, hn::IfThenElse(hn::Gt(x, one), one, x));
}
template <typename T>
struct HardSigmoid {
  static constexpr std::size_t kInputs = 1;
  T alpha;
  T beta;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return unit_part(d, hn::MulAdd(hn::Set(d, alpha), x, hn::Set(d, beta)));
  }
};
template <typename T>
struct HardSwish {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V sixth = hn::Add(hn::Div(x, hn::Set(d, T{6})), hn::Set(d, T{0.5}));
    return hn::Mul(x, unit_part(d, sixth));
  }
};
template <typename T>
struct Softsign {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(x, hn::Add(hn::Set(d, T{1}), hn::Abs(x)));
  }
};
template <typename T>
struct ThresholdedRelu {
  static constexpr std::size_t kInputs = 1;
  T alpha;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElseZero(hn::Gt(x, hn::Set(d, alpha)), x);
  }
};
struct Clip {
  static constexpr std::size_t kInputs = 3;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x, V low, V high) const {
    const V raised = hn::IfThenElse(hn::Lt(x, low), low, x);
    return hn::IfThenElse(hn::Gt(raised, high), high, raised);
  }
};
template <typename T>
struct BatchNorm {
  static constexpr std::size_t kInputs = 5;
  T epsilon;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V scale, V bias, V mean, V variance) const {
    const V deviation = hn::Sqrt(hn::Add(variance, hn::Set(d, epsilon)));
    return hn::Add(hn::Div(hn::Mul(scale, hn::Sub(x, mean)), deviation), bias);
  }
};
template <typename T>
struct ScaleAndShift {
  static constexpr std::size_t kInputs = 3;
  T middle;
  T factor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V scale, V bias) const {
    const V y = hn::Mul(hn::Sub(x, hn::Set(d, middle)), hn::Set(d, factor));
    return hn::Add(hn::Mul(y, scale), bias);
  }
};
struct Exp {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp_of(d, x);
  }
};
struct Erf {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return erf_of(d, x);
  }
};
struct Tanh {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return tanh_of(d, x);
  }
};
struct Sigmoid {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return sigmoid_of(d, x);
  }
};
struct Gelu {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V half = hn::Mul(hn::Set(d, 0.5F), x);
    const V part = erf_of(d, hn::Mul(x, hn::Set(d, 1 / std::numbers::sqrt2_v<float>)));
    return hn::Mul(half, hn::Add(hn::Set(d, 1.0F), part));
  }
};
struct GeluTanh {
  static constexpr std::size_t kInputs = 1;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    constexpr float kSlope = 0.7978845608F;  // sqrt(2 / pi)
    const V half = hn::Mul(hn::Set(d, 0.5F), x);
    const V cube = hn::Mul(hn::Mul(hn::Mul(hn::Set(d, 0.044715F), x), x), x);
    const V part = tanh_of(d, hn::Mul(hn::Set(d, kSlope), hn::Add(x, cube)));
    return hn::Mul(half, hn::Add(hn::Set(d, 1.0F), part));
  }
};

/// From this many bytes on, results go around the caches, which could not keep them.
constexpr std::int64_t kStreamedBytes = std::int64_t{16} << 20;

template <typename T, class Map, std::size_t... I>
HWY_INLINE void map_inputs(const Map& map, const RowInputs<T>& inputs, T* to, std::int64_t count,
                           std::index_sequence<I...>) {
  const Tag<T> d;
  constexpr std::size_t kMostLanes = hn::MaxLanes(Tag<T>());
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // A number that all elements share becomes a vector in memory that is read again and again.
  HWY_ALIGN T shared[sizeof...(I)][kMostLanes];
  const T* at[] = {inputs.rows[I]...};
  const std::int64_t steps[] = {inputs.steps[I]...};
  for (std::size_t i = 0; i < sizeof...(I); ++i) {
    if (steps[i] != 0) continue;
    hn::StoreU(hn::Set(d, *at[i]), d, shared[i]);
    at[i] = shared[i];
  }
  std::int64_t n = 0;
  const auto some = [&](std::int64_t elements) HWY_ATTR {  // fewer than a vector
    HWY_ALIGN T ends[sizeof...(I)][kMostLanes] = {};
    HWY_ALIGN T results[kMostLanes];
    for (std::size_t i = 0; i < sizeof...(I); ++i) {
      std::copy_n(at[i] + n * steps[i], elements, ends[i]);
    }
    hn::StoreU(map(d, hn::LoadU(d, ends[I])...), d, results);
    std::copy_n(results, elements, to + n);
    n += elements;
  };
  const auto bytes = static_cast<std::int64_t>(sizeof(T));
  if (count * bytes >= kStreamedBytes) {
    const auto vector = lanes * bytes;
    const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) %
                                                static_cast<std::uintptr_t>(vector));
    if (past != 0) some((vector - past) / bytes);
    for (; n + lanes <= count; n += lanes) {
      hn::Stream(map(d, hn::LoadU(d, at[I] + n * steps[I])...), d, to + n);
    }
    hwy::FlushStream();
  }
  for (; n + lanes <= count; n += lanes) {
    hn::StoreU(map(d, hn::LoadU(d, at[I] + n * steps[I])...), d, to + n);
  }
  if (n < count) some(count - n);
}

template <typename T, class Map>
void map_all(const Map& map, const RowInputs<T>& inputs, T* to, std::int64_t count) {
  map_inputs(map, inputs, to, count, std::make_index_sequence<Map::kInputs>());
}

template <typename T>
void map_any(RowMap map, const RowConstants& constants, const RowInputs<T>& x, T* to,
             std::int64_t count) {
  const auto alpha = static_cast<T>(constants.alpha);
  const auto beta = static_cast<T>(constants.beta);
  switch (map) {
    case RowMap::kAdd:
      return map_all(Add(), x, to, count);
    case RowMap::kSub:
      return map_all(Sub(), x, to, count);
    case RowMap::kMul:
      return map_all(Mul(), x, to, count);
    case RowMap::kDiv:
      return map_all(Div(), x, to, count);
    case RowMap::kMax:
      return map_all(Max(), x, to, count);
    case RowMap::kMin:
      return map_all(Min(), x, to, count);
    case RowMap::kPrelu:
      return map_all(Prelu(), x, to, count);
    case RowMap::kRelu:
      return map_all(Relu(), x, to, count);
    case RowMap::kNeg:
      return map_all(Neg(), x, to, count);
    case RowMap::kAbs:
      return map_all(Abs(), x, to, count);
    case RowMap::kSqrt:
      return map_all(Sqrt(), x, to, count);
    case RowMap::kRsqrt:
      return map_all(Rsqrt(), x, to, count);
    case RowMap::kReciprocal:
      return map_all(Reciprocal(), x, to, count);
    case RowMap::kFloor:
      return map_all(Floor(), x, to, count);
    case RowMap::kCeil:
      return map_all(Ceil(), x, to, count);
    case RowMap::kRound:
      return map_all(Round(), x, to, count);
    case RowMap::kLeakyRelu:
      return map_all(LeakyRelu<T>{alpha}, x, to, count);
    case RowMap::kHardSigmoid:
      return map_all(HardSigmoid<T>{alpha, beta}, x, to, count);
    case RowMap::kHardSwish:
      return map_all(HardSwish<T>(), x, to, count);
    case RowMap::kSoftsign:
      return map_all(Softsign<T>(), x, to, count);
    case RowMap::kThresholdedRelu:
      return map_all(ThresholdedRelu<T>{alpha}, x, to, count);
    case RowMap::kClip:
      return map_all(Clip(), x, to, count);
    case RowMap::kBatchNorm:
      return map_all(BatchNorm<T>{alpha}, x, to, count);
    case RowMap::kScaleAndShift:
      return map_all(ScaleAndShift<T>{alpha, beta}, x, to, count);
    default:
      break;
  }
  if constexpr (sizeof(T) == sizeof(float)) {
    switch (map) {
      case RowMap::kExp:
        return map_all(Exp(), x, to, count);
      case RowMap::kErf:
        return map_all(Erf(), x, to, count);
      case RowMap::kTanh:
        return map_all(Tanh(), x, to, count);
      case RowMap::kSigmoid:
        return map_all(Sigmoid(), x, to, count);
      case RowMap::kGelu:
        return map_all(Gelu(), x, to, count);
      case RowMap::kGeluTanh:
        return map_all(GeluTanh(), x, to, count);
      default:
        break;
    }
  }
}

void MapRow32(RowMap map, const RowConstants& constants, const RowInputs<float>& inputs, float* to,
              std::int64_t count) {
  map_any(map, constants, inputs, to, count);
}

void MapRow64(RowMap map, const RowConstants& constants, const RowInputs<double>& inputs,
              double* to, std::int64_t count) {
#if HWY_HAVE_FLOAT64
  map_any(map, constants, inputs, to, count);
#else
  static_cast<void>(map), static_cast<void>(constants), static_cast<void>(inputs);
  static_cast<void>(to), static_cast<void>(count);
#endif
}

}  // namespace
}  // namespace tessera::run::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::run::kernels {

HWY_EXPORT(MapRow32);
HWY_EXPORT(MapRow64);

template <typename T>
std::optional<RowMapOfOp> row_map_of(std::string_view op, bool tanh_form) {
  static const std::map<std::string_view, RowMapOfOp> table = {
      {"add", {RowMap::kAdd, 2}},
      {"sub", {RowMap::kSub, 2}},
      {"mul", {RowMap::kMul, 2}},
      {"div", {RowMap::kDiv, 2}},
      {"max", {RowMap::kMax, 2}},
      {"min", {RowMap::kMin, 2}},
      {"prelu", {RowMap::kPrelu, 2}},
      {"relu", {RowMap::kRelu}},
      {"neg", {RowMap::kNeg}},
      {"abs", {RowMap::kAbs}},
      {"sqrt", {RowMap::kSqrt}},
      {"rsqrt", {RowMap::kRsqrt}},
      {"reciprocal", {RowMap::kReciprocal}},
      {"floor", {RowMap::kFloor}},
      {"ceil", {RowMap::kCeil}},
      {"round", {RowMap::kRound}},
      {"leaky_relu", {RowMap::kLeakyRelu}},
      {"hard_sigmoid", {RowMap::kHardSigmoid}},
      {"hard_swish", {RowMap::kHardSwish}},
      {"softsign", {RowMap::kSoftsign}},
      {"thresholded_relu", {RowMap::kThresholdedRelu}},
      {"clip", {RowMap::kClip, 3}},
      {"batch_norm", {RowMap::kBatchNorm, 5}},
      {"exp", {RowMap::kExp}},
      {"erf", {RowMap::kErf}},
      {"tanh", {RowMap::kTanh}},
      {"sigmoid", {RowMap::kSigmoid}},
      {"gelu", {RowMap::kGelu}},
  };
  const auto found = table.find(op);
  if (found == table.end()) return std::nullopt;
  RowMapOfOp map = found->second;
  if (map.map == RowMap::kGelu && tanh_form) map.map = RowMap::kGeluTanh;
  if (sizeof(T) == sizeof(double) && map.map >= RowMap::kExp) return std::nullopt;
  return map;
}
template std::optional<RowMapOfOp> row_map_of<float>(std::string_view, bool);
template std::optional<RowMapOfOp> row_map_of<double>(std::string_view, bool);

void map_row(RowMap map, const RowConstants& constants, const RowInputs<float>& inputs, float* to,
             std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(MapRow32)(map, constants, inputs, to, count);
}

void map_row(RowMap map, const RowConstants& constants, const RowInputs<double>& inputs, double* to,
             std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(MapRow64)(map, constants, inputs, to, count);
}

}  // namespace tessera::run::kernels
#endif
