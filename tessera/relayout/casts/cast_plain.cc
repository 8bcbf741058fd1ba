// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "tessera/relayout/casts/cast_steps.h"

namespace tessera::relayout::cast_steps {
namespace {

template <typename T>
T load(const std::byte* array, std::int64_t i) {
  T number;
  std::memcpy(&number, array + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return number;
}

template <typename T>
void store(std::byte* array, std::int64_t i, T number) {
  std::memcpy(array + i * static_cast<std::int64_t>(sizeof(T)), &number, sizeof(T));
}

// The converted number, and whether it fits.
template <typename T>
struct Converted {
  T number;
  bool fits = true;
};

// A step made of a function from one number to another.
template <typename From, typename To, Converted<To> (*kConvert)(From)>
bool each(const std::byte* from, std::int64_t from_first, std::byte* to, std::int64_t to_first,
          std::int64_t n) {
  bool fits = true;
  for (std::int64_t i = 0; i < n; ++i) {
    const Converted<To> converted = kConvert(load<From>(from, from_first + i));
    store(to, to_first + i, converted.number);
    fits &= converted.fits;
  }
  return fits;
}

// Exact, or rounded to nearest by the processor.
template <typename From, typename To>
Converted<To> plainly(From number) {
  return {static_cast<To>(number)};
}

template <typename From, typename To>
Converted<To> clamped(From number) {
  constexpr To low = std::numeric_limits<To>::min();
  constexpr To high = std::numeric_limits<To>::max();
  if (std::cmp_less(number, low)) return {low, false};
  if (std::cmp_greater(number, high)) return {high, false};
  return {static_cast<To>(number)};
}

// To the nearest integer, ties to even: up to 2^52, adding 2^52 rounds the fraction away; above,
// all numbers are integers.
double whole(double number) {
  constexpr double units = 0x1p52;
  const double magnitude = std::abs(number);
  const double rounded = (magnitude + units) - units;
  return std::copysign(magnitude < units ? rounded : magnitude, number);
}

Converted<double> whole_number(double number) { return {whole(number)}; }

template <typename To>
Converted<To> nearest_integer(double number) {
  constexpr To low = std::numeric_limits<To>::min();
  constexpr To high = std::numeric_limits<To>::max();
  constexpr auto half = high / 2 + 1;
  constexpr double beyond = static_cast<double>(half) * 2;  // high + 1, a power of two
  if (std::isnan(number)) return {0, false};
  const double rounded = whole(number);
  if (rounded < static_cast<double>(low)) return {low, false};
  if (rounded >= beyond) return {high, false};
  return {static_cast<To>(rounded), rounded == number};
}

constexpr float kLargestF32 = std::numeric_limits<float>::max();

Converted<float> f64_to_f32(double number) {
  const float rounded = static_cast<float>(number);
  if (!std::isinf(rounded) || std::isinf(number)) return {rounded};
  return {std::copysign(kLargestF32, rounded), false};
}

// Numbers of 2^128 or more fit no type that an odd f32 is converted to.
Converted<float> f64_to_odd_f32(double number) {
  float rounded = static_cast<float>(number);
  if (std::isnan(number) || static_cast<double>(rounded) == number) return {rounded};
  std::uint32_t bits = std::bit_cast<std::uint32_t>(rounded);
  // The bits of a float increase with its magnitude, so bits - 1 is the next number towards zero.
  if (std::abs(static_cast<double>(rounded)) > std::abs(number)) --bits;
  return {std::bit_cast<float>(bits | 1), std::abs(number) < 0x1p128};
}

// Keeps 32 leading bits and ORs the rest into the last one: rounding to odd twice is the same as
// rounding to odd once.
Converted<float> u64_to_odd_f32(std::uint64_t number) {
  const int excess = std::max(0, 32 - std::countl_zero(number));
  const std::uint64_t cut = number & ((std::uint64_t{1} << excess) - 1);
  const std::uint64_t kept = (number >> excess) | (cut != 0 ? 1 : 0);
  return f64_to_odd_f32(std::ldexp(static_cast<double>(kept), excess));
}

Converted<float> i64_to_odd_f32(std::int64_t number) {
  if (number >= 0) return u64_to_odd_f32(static_cast<std::uint64_t>(number));
  return {-u64_to_odd_f32(-static_cast<std::uint64_t>(number)).number};
}

template <std::int64_t kBytes>
bool copy(const std::byte* from, std::int64_t from_first, std::byte* to, std::int64_t to_first,
          std::int64_t n) {
  std::memcpy(to + to_first * kBytes, from + from_first * kBytes,
              static_cast<std::size_t>(n * kBytes));
  return true;
}

// Elements of kBits side by side in a byte, the first in its low bits.
template <int kBits>
struct Parts {
  static constexpr std::int64_t kPerByte = 8 / kBits;
  static constexpr std::int32_t kHigh = (1 << (kBits - 1)) - 1;
  static constexpr std::uint32_t kMask = (1U << kBits) - 1;

  static std::int32_t part(std::byte byte, std::int64_t within) {
    // Shifts to the top of the word and back, which extends the sign.
    const int above = 32 - kBits - static_cast<int>(within) * kBits;
    const std::uint32_t top = std::to_integer<std::uint32_t>(byte) << above;
    return static_cast<std::int32_t>(top) >> (32 - kBits);
  }

  // Sets parts [within, within + count) of `byte` from as many numbers; the other parts do not
  // change.
  static bool put(const std::byte* numbers, std::byte& byte, std::int64_t within,
                  std::int64_t count) {
    std::uint32_t bits = 0;
    std::uint32_t mask = 0;
    bool fits = true;
    for (std::int64_t k = 0; k < count; ++k) {
      const auto number = load<std::int32_t>(numbers, k);
      const std::int32_t near = std::clamp(number, -kHigh - 1, kHigh);
      fits &= near == number;
      const int shift = static_cast<int>(within + k) * kBits;
      bits |= (static_cast<std::uint32_t>(near) & kMask) << shift;
      mask |= kMask << shift;
    }
    byte = (byte & static_cast<std::byte>(~mask & 0xFF)) | static_cast<std::byte>(bits);
    return fits;
  }

  static bool read(const std::byte* from, std::int64_t from_first, std::byte* to,
                   std::int64_t to_first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t element = from_first + i;
      store(to, to_first + i, part(from[element / kPerByte], element % kPerByte));
    }
    return true;
  }

  static bool write(const std::byte* from, std::int64_t from_first, std::byte* to,
                    std::int64_t to_first, std::int64_t n) {
    from += from_first * 4;
    to += to_first / kPerByte;
    const std::int64_t within = to_first % kPerByte;
    std::int64_t i = within == 0 ? 0 : std::min(n, kPerByte - within);
    bool fits = true;
    if (i > 0) fits &= put(from, *to++, within, i);
    for (; i + kPerByte <= n; i += kPerByte) fits &= put(from + i * 4, *to++, 0, kPerByte);
    if (i < n) fits &= put(from + i * 4, *to, 0, n - i);
    return fits;
  }
};

}  // namespace

Step f64_to_whole_f64() { return each<double, double, whole_number>; }

Step copy_of(std::int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return copy<1>;
    case 2:
      return copy<2>;
    case 4:
      return copy<4>;
    default:
      return copy<8>;
  }
}

Step u32_to_i64() { return each<std::uint32_t, std::int64_t, plainly>; }
Step i64_to_u32() { return each<std::int64_t, std::uint32_t, clamped>; }

Step sub_byte_to_i32(DType from) { return from == DType::kI4 ? Parts<4>::read : Parts<2>::read; }
Step i32_to_sub_byte(DType to) { return to == DType::kI4 ? Parts<4>::write : Parts<2>::write; }

Step cross(Wide from, Wide to) {
  using I32 = std::int32_t;
  using I64 = std::int64_t;
  using U64 = std::uint64_t;
  static constexpr int kWides = 6;
  // Rows: from f64, f32, odd f32, i32, i64, u64. Columns: to the same.
  const Step table[kWides][kWides] = {
      {nullptr, each<double, float, f64_to_f32>, each<double, float, f64_to_odd_f32>,
       each<double, I32, nearest_integer>, each<double, I64, nearest_integer>,
       each<double, U64, nearest_integer>},
      {each<float, double, plainly>, nullptr, nullptr, f32_to_i32(), nullptr, nullptr},
      {},
      {each<I32, double, plainly>, i32_to_f32(), i32_to_odd_f32(), nullptr, each<I32, I64, plainly>,
       nullptr},
      {each<I64, double, plainly>, each<I64, float, plainly>, each<I64, float, i64_to_odd_f32>,
       i64_to_i32(), nullptr, each<I64, U64, clamped>},
      {each<U64, double, plainly>, each<U64, float, plainly>, each<U64, float, u64_to_odd_f32>,
       nullptr, each<U64, I64, clamped>, nullptr},
  };
  return table[static_cast<int>(from)][static_cast<int>(to)];
}

}  // namespace tessera::relayout::cast_steps
