// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/relayout/rounding.h"

/// casts/: converts element types during a move. Arrays of one type come in; arrays of another type
/// go out, together with whether every number fits. It does not decide where an element goes.
namespace tessera::relayout {

/// Converts arrays from any element type to any other, by the rules of rounding.h.
///
/// Arrays are addressed by element number, because elements of i4 and i2 share bytes (the first in
/// the lowest bits) and those of block floats have no address: element n of a bfp array is in tile
/// n div 1024, in the group (n mod 1024) div 16. Bytes need no alignment. Assumes the processor's
/// default float environment: round to nearest, subnormals kept.
///
/// Example: Cast::make(DType::kF32, DType::kBF16, Rounding::kChecked)->run(a, 0, b, 0, 1024);
class Cast {
 public:
  /// Chooses the kernels for this machine. Errors: currently none; every pair of types has a cast.
  static Result<Cast> make(DType from, DType to, Rounding rounding);
  /// A cast to f32 as the first of two casts to block floats. If f32 is too narrow for a number,
  /// the number is rounded to odd, so that the second cast gives the same result as a direct cast.
  /// Numbers of 2^128 or more do not fit.
  static Result<Cast> make_odd(DType from, Rounding rounding);

  DType from() const { return from_; }
  DType to() const { return to_; }

  /// Elements [from_first, from_first + n) of `from` become elements [to_first, to_first + n) of
  /// `to`. The arrays must not overlap. A block-float `to` takes whole groups: to_first and n are
  /// multiples of 16. A sub-byte `to` does not change the bits of neighbouring elements.
  /// `streaming` bypasses the caches, for outputs too large for them (only if elements fill whole
  /// bytes; otherwise ignored). Unless it saturates, returns the number of the first element
  /// (counted from from_first) that does not fit; elements before it are converted, the others are
  /// unspecified.
  std::optional<std::int64_t> run(const std::byte* from, std::int64_t from_first, std::byte* to,
                                  std::int64_t to_first, std::int64_t n,
                                  bool streaming = false) const;

 private:
  /// One pass over elements of two arrays; false when an element does not fit.
  using Step = bool (*)(const std::byte* from, std::int64_t from_first, std::byte* to,
                        std::int64_t to_first, std::int64_t n);

  Cast(DType from, DType to, Rounding rounding) : from_(from), to_(to), rounding_(rounding) {}
  void add(Step step) { steps_[static_cast<std::size_t>(count_++)] = step; }
  bool pass(const std::byte* from, std::int64_t from_first, std::byte* to, std::int64_t to_first,
            std::int64_t n) const;
  std::int64_t first_misfit(const std::byte* from, std::int64_t from_first, std::int64_t n) const;

  DType from_;
  DType to_;
  Rounding rounding_;
  std::int64_t to_bytes_ = 0;    ///< of an element, if elements fill whole bytes
  std::array<Step, 5> steps_{};  ///< one after another, through intermediate buffers
  int count_ = 0;
};

}  // namespace tessera::relayout
