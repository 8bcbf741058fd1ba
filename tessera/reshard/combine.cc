// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/combine.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>

#include "tessera/base/text.h"

namespace tessera {
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
std::uint64_t combine(std::uint64_t x, std::uint64_t y) {
  const T a = value_of<T>(x);
  const T b = value_of<T>(y);
  if constexpr (kReduction == Reduction::kMin) return bits_of(std::min(a, b));
  if constexpr (kReduction == Reduction::kMax) return bits_of(std::max(a, b));
  if constexpr (std::floating_point<T>) {
    if constexpr (kReduction == Reduction::kSum) return bits_of(a + b);
    if constexpr (kReduction == Reduction::kProduct) return bits_of(a * b);
  } else {
    // In 64 unsigned bits nothing overflows that is not cut off again.
    using Bits = typename BitsOf<T>::type;
    if constexpr (kReduction == Reduction::kSum) return static_cast<Bits>(x + y);
    if constexpr (kReduction == Reduction::kProduct) return static_cast<Bits>(x * y);
    if constexpr (kReduction == Reduction::kAnd) return x & y;
    if constexpr (kReduction == Reduction::kOr) return x | y;
  }
  return 0;
}

template <typename T>
std::optional<Combiner> combiner(Reduction reduction) {
  using Limits = std::numeric_limits<T>;
  constexpr bool kFloat = std::floating_point<T>;
  constexpr T kLargest = kFloat ? Limits::infinity() : Limits::max();
  constexpr T kSmallest = kFloat ? -Limits::infinity() : Limits::lowest();
  switch (reduction) {
    case Reduction::kSum:
      return Combiner{bits_of(T{0}), combine<T, Reduction::kSum>};
    case Reduction::kProduct:
      return Combiner{bits_of(T{1}), combine<T, Reduction::kProduct>};
    case Reduction::kMin:
      return Combiner{bits_of(kLargest), combine<T, Reduction::kMin>};
    case Reduction::kMax:
      return Combiner{bits_of(kSmallest), combine<T, Reduction::kMax>};
    case Reduction::kAnd:
      if (kFloat) return std::nullopt;
      return Combiner{static_cast<typename BitsOf<T>::type>(~std::uint64_t{0}),
                      combine<T, Reduction::kAnd>};
    case Reduction::kOr:
      if (kFloat) return std::nullopt;
      return Combiner{0, combine<T, Reduction::kOr>};
  }
  return std::nullopt;
}

std::optional<Combiner> of_bool(Reduction reduction) {
  if (reduction == Reduction::kAnd) return Combiner{1, combine<std::uint8_t, Reduction::kAnd>};
  if (reduction == Reduction::kOr) return Combiner{0, combine<std::uint8_t, Reduction::kOr>};
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

}  // namespace tessera
