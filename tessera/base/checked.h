// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <numeric>

#include "tessera/base/result.h"
#include "tessera/base/text.h"

namespace tessera {

/// A signed 64-bit number that records whether any step of its computation overflowed, so that a
/// formula stays readable and is checked once at the end.
/// Example: `(Checked(rows) * cols + offset).value("slots")` is an Error if any step overflowed.
class Checked {
 public:
  constexpr Checked(std::int64_t value) : value_(value) {}

  friend constexpr Checked operator+(Checked a, Checked b) {
    Checked sum(0);
    const bool overflow = __builtin_add_overflow(a.value_, b.value_, &sum.value_);
    sum.overflow_ = overflow || a.overflow_ || b.overflow_;
    return sum;
  }
  friend constexpr Checked operator-(Checked a, Checked b) {
    Checked difference(0);
    const bool overflow = __builtin_sub_overflow(a.value_, b.value_, &difference.value_);
    difference.overflow_ = overflow || a.overflow_ || b.overflow_;
    return difference;
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    Checked product(0);
    const bool overflow = __builtin_mul_overflow(a.value_, b.value_, &product.value_);
    product.overflow_ = overflow || a.overflow_ || b.overflow_;
    return product;
  }
  constexpr Checked& operator+=(Checked b) { return *this = *this + b; }
  constexpr Checked& operator-=(Checked b) { return *this = *this - b; }
  constexpr Checked& operator*=(Checked b) { return *this = *this * b; }

  constexpr bool overflowed() const { return overflow_; }
  /// The number itself; only meaningful if nothing overflowed.
  constexpr std::int64_t raw() const { return value_; }
  /// The number, or INT64_MAX if its computation overflowed.
  constexpr std::int64_t saturated() const { return overflow_ ? INT64_MAX : value_; }

  /// The number, or an overflow Error that names the quantity.
  Result<std::int64_t> value(std::string_view quantity) const {
    if (!overflow_) return value_;
    return Error{ErrorCode::kOverflow, cat(quantity, " does not fit a signed 64-bit integer"),
                 std::nullopt, "use smaller extents, counts or strides"};
  }

 private:
  std::int64_t value_;
  bool overflow_ = false;
};

/// ceil(a / b) for a >= 0, b > 0, without overflow.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  assert(a >= 0 && b > 0);
  return a / b + (a % b != 0 ? 1 : 0);
}

/// The largest integer not above a / b, for b > 0 and any a.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  assert(b > 0);
  const std::int64_t q = a / b;
  return q - (a % b < 0 ? 1 : 0);
}

/// a - b * floor_div(a, b): always in [0, b).
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  const std::int64_t r = a % b;
  return r < 0 ? r + b : r;
}

/// The least common multiple, saturating at the largest int64 instead of overflowing.
constexpr std::int64_t saturating_lcm(std::int64_t a, std::int64_t b) {
  assert(a > 0 && b > 0);
  return (Checked(a / std::gcd(a, b)) * b).saturated();
}

}  // namespace tessera
