// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/jobs/combine.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "tessera/base/text.h"

namespace tessera::relayout {
namespace {

template <typename T>
struct BitsOf {
  using type = std::make_unsigned_t<T>;
};
template <>
struct BitsOf<float> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using type = std::uint64_t;
};

template <typename T>
T value_of(std::uint64_t bits) {
  return std::bit_cast<T>(static_cast<typename BitsOf<T>::type>(bits));
}
template <typename T>
std::uint64_t bits_of(T value) {
  return std::bit_cast<typename BitsOf<T>::type>(value);
}

template <typename T, Reduction kReduction>
T joined(T a, T b) {
  if constexpr (kReduction == Reduction::kMin) {
    return std::min(a, b);
  } else if constexpr (kReduction == Reduction::kMax) {
    return std::max(a, b);
  } else if constexpr (std::floating_point<T>) {
    return kReduction == Reduction::kSum ? a + b : a * b;
  } else {
    // An unsigned type at least as wide as `unsigned` cannot overflow; the excess bits are cut off.
    using Bits = typename BitsOf<T>::type;
    using Wide = std::common_type_t<Bits, unsigned>;
    const Wide x = static_cast<Bits>(a);
    const Wide y = static_cast<Bits>(b);
    if constexpr (kReduction == Reduction::kSum) return static_cast<T>(x + y);
    if constexpr (kReduction == Reduction::kProduct) return static_cast<T>(x * y);
    if constexpr (kReduction == Reduction::kAnd) return static_cast<T>(x & y);
    return static_cast<T>(x | y);
  }
}

template <typename T, Reduction kReduction>
std::uint64_t combine(std::uint64_t x, std::uint64_t y) {
  return bits_of(joined<T, kReduction>(value_of<T>(x), value_of<T>(y)));
}

constexpr std::int64_t kVector = 16;  // bytes that every machine combines at once
template <typename T>
struct VectorOf {
  using type __attribute__((vector_size(kVector))) = T;
};

/// The same for vectors.
template <typename T, Reduction kReduction, typename V = typename VectorOf<T>::type>
V joined_vectors(V a, V b) {
  if constexpr (kReduction == Reduction::kMin) {
    return b < a ? b : a;
  } else if constexpr (kReduction == Reduction::kMax) {
    return a < b ? b : a;
  } else if constexpr (std::floating_point<T>) {
    return kReduction == Reduction::kSum ? a + b : a * b;
  } else {
    using Bits = typename VectorOf<typename BitsOf<T>::type>::type;
    const auto x = std::bit_cast<Bits>(a);
    const auto y = std::bit_cast<Bits>(b);
    if constexpr (kReduction == Reduction::kSum) return std::bit_cast<V>(x + y);
    if constexpr (kReduction == Reduction::kProduct) return std::bit_cast<V>(x * y);
    if constexpr (kReduction == Reduction::kAnd) return std::bit_cast<V>(x & y);
    return std::bit_cast<V>(x | y);
  }
}

/// One step of a run: combines the bytes at `to` with those at `from`.
template <typename V, typename Join>
void step(std::byte* to, const std::byte* from, const Join& join) {
  V a;
  V b;
  std::memcpy(&a, to, sizeof(V));
  std::memcpy(&b, from, sizeof(V));
  a = join(a, b);
  std::memcpy(to, &a, sizeof(V));
}

template <typename T, Reduction kReduction>
void combine_all(std::byte* to, const std::byte* from, std::int64_t count) {
  const std::int64_t bytes = count * std::int64_t{sizeof(T)};
  std::int64_t i = 0;
  for (; i + kVector <= bytes; i += kVector) {
    step<typename VectorOf<T>::type>(to + i, from + i, joined_vectors<T, kReduction>);
  }
  for (; i < bytes; i += std::int64_t{sizeof(T)}) step<T>(to + i, from + i, joined<T, kReduction>);
}

template <typename T, Reduction kReduction>
Combiner combiner_with(std::uint64_t neutral) {
  return {neutral, combine<T, kReduction>, combine_all<T, kReduction>};
}

template <typename T>
std::optional<Combiner> combiner(Reduction reduction) {
  using Limits = std::numeric_limits<T>;
  constexpr bool kFloat = std::floating_point<T>;
  constexpr T kLargest = kFloat ? Limits::infinity() : Limits::max();
  constexpr T kSmallest = kFloat ? -Limits::infinity() : Limits::lowest();
  switch (reduction) {
    case Reduction::kSum:
      return combiner_with<T, Reduction::kSum>(bits_of(T{0}));
    case Reduction::kProduct:
      return combiner_with<T, Reduction::kProduct>(bits_of(T{1}));
    case Reduction::kMin:
      return combiner_with<T, Reduction::kMin>(bits_of(kLargest));
    case Reduction::kMax:
      return combiner_with<T, Reduction::kMax>(bits_of(kSmallest));
    case Reduction::kAnd:
      if constexpr (!kFloat) return combiner_with<T, Reduction::kAnd>(bits_of(T(~T{0})));
      break;
    case Reduction::kOr:
      if constexpr (!kFloat) return combiner_with<T, Reduction::kOr>(0);
      break;
  }
  return std::nullopt;
}

std::optional<Combiner> of_bool(Reduction reduction) {
  if (reduction == Reduction::kAnd) return combiner_with<std::uint8_t, Reduction::kAnd>(1);
  if (reduction == Reduction::kOr) return combiner_with<std::uint8_t, Reduction::kOr>(0);
  return std::nullopt;
}

std::optional<Combiner> of_type(Reduction reduction, DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return combiner<double>(reduction);
    case DType::kF32:
      return combiner<float>(reduction);
    case DType::kI64:
    case DType::kSI64:
      return combiner<std::int64_t>(reduction);
    case DType::kI32:
    case DType::kSI32:
      return combiner<std::int32_t>(reduction);
    case DType::kI16:
    case DType::kSI16:
      return combiner<std::int16_t>(reduction);
    case DType::kI8:
    case DType::kSI8:
      return combiner<std::int8_t>(reduction);
    case DType::kU64:
      return combiner<std::uint64_t>(reduction);
    case DType::kU32:
      return combiner<std::uint32_t>(reduction);
    case DType::kU16:
      return combiner<std::uint16_t>(reduction);
    case DType::kU8:
      return combiner<std::uint8_t>(reduction);
    case DType::kBool:
      return of_bool(reduction);
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<Combiner> combiner_of(Reduction reduction, DType dtype) {
  if (const std::optional<Combiner> found = of_type(reduction, dtype)) return *found;
  return Error{ErrorCode::kNotSupported,
               cat("shares of type ", dtype_name(dtype), " cannot be combined by ",
                   reduction_name(reduction), " here"),
               std::nullopt, "use f32, f64 or whole-byte integers"};
}

}  // namespace tessera::relayout
