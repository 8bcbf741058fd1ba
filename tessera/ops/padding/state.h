// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/dtype.h"

namespace tessera::ops {

/// What is known of the padding of a tensor along one dim: of all elements whose index lies beyond
/// the extent of that dim, wherever they are along the others. An element in a corner, beyond the
/// extents of two dims, is as both dims say.
struct PaddingState {
  enum class Kind : std::uint8_t {
    kAbsent,  ///< there is no padding along the dim
    kValue,   ///< every element is `value`, which may be an infinity
    kDirty,   ///< numbers that nobody knows, finite as the elements of tensors are
    kUndef,   ///< anything, NaNs and infinities too
  };
  Kind kind = Kind::kUndef;
  double value = 0;

  static PaddingState absent() { return {Kind::kAbsent, 0}; }
  static PaddingState of(double value) { return {Kind::kValue, value}; }
  static PaddingState dirty() { return {Kind::kDirty, 0}; }
  static PaddingState undef() { return {Kind::kUndef, 0}; }

  bool is_absent() const { return kind == Kind::kAbsent; }
  bool is(double number) const { return kind == Kind::kValue && value == number; }
  /// No element is a NaN or an infinity.
  bool is_finite() const {
    return is_absent() || kind == Kind::kDirty || (kind == Kind::kValue && std::isfinite(value));
  }
  /// "absent", "0", "-inf", "dirty", "undef".
  std::string to_string() const;
  friend bool operator==(const PaddingState&, const PaddingState&) = default;
};

/// What holds of elements that are as one or the other says.
PaddingState either(const PaddingState& a, const PaddingState& b);
/// What holds of elements that are as both say.
PaddingState both(const PaddingState& a, const PaddingState& b);
/// What is known of elements of this type: integers and booleans are always finite.
PaddingState known(const PaddingState& state, DType dtype);

/// One per dim of a tensor.
using PaddingStates = std::vector<PaddingState>;

/// Writes a number to all padding along a dim: corners with other dims get it too.
void refill(PaddingStates& states, std::size_t dim, double value);

/// What an op needs of the padding of an input along one dim, so that the elements inside the
/// extents of its outputs are right.
struct PaddingNeed {
  enum class Kind : std::uint8_t {
    kNothing,
    kFinite,  ///< no NaNs and infinities: the elements are multiplied by 0
    kValue,   ///< every element is `value`
    kExact,   ///< no value helps: there is no padding, or the kernel stops at the extent
  };
  Kind kind = Kind::kNothing;
  double value = 0;

  static PaddingNeed nothing() { return {Kind::kNothing, 0}; }
  static PaddingNeed finite() { return {Kind::kFinite, 0}; }
  static PaddingNeed of(double value) { return {Kind::kValue, value}; }
  static PaddingNeed exact() { return {Kind::kExact, 0}; }

  bool is_exact() const { return kind == Kind::kExact; }
  bool met_by(const PaddingState& state) const;
  /// "nothing", "finite", "0", "exact".
  std::string to_string() const;
  friend bool operator==(const PaddingNeed&, const PaddingNeed&) = default;
};

}  // namespace tessera::ops
