// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/relayout/rounding.h"

namespace tessera::relayout {

/// Changes the element type of arrays, any to any other, by the rules above.
///
/// Arrays are addressed by element number, because elements of i4 and i2 share bytes (the first in
/// the lowest bits) and those of block floats have no address: element n of a bfp array is in tile
/// n div 1024, in the group (n mod 1024) div 16. Bytes need no alignment. Assumes the processor's
/// usual float environment: round to nearest, subnormals kept.
///
/// Example: Cast::make(DType::kF32, DType::kBF16, Rounding::kChecked)->run(a, 0, b, 0, 1024);
class Cast {
 public:
  /// Chooses the kernels for this machine. Errors: none today; every pair of types has a cast.
  static Result<Cast> make(DType from, DType to, Rounding rounding);
  /// To f32, for numbers on their way to block floats: where f32 is too narrow they are rounded to
  /// odd, so that the cast that follows rounds as if it were the only one. What does not fit is
  /// 2^128 or more.
  static Result<Cast> make_odd(DType from, Rounding rounding);

  DType from() const { return from_; }
  DType to() const { return to_; }

  /// Elements [from_first, from_first + n) of `from` become elements [to_first, to_first + n) of
  /// `to`. The arrays do not overlap. A block-float `to` takes whole groups: to_first and n are
  /// multiples of 16. A sub-byte `to` leaves its neighbours' bits alone. `streaming` writes past
  /// the caches, for outputs too large for them (where elements fill bytes; ignored elsewhere).
  /// Answers the first element number (counted from from_first) that does not fit, when checked;
  /// elements before it are converted, the others hold no promise.
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
  std::int64_t to_bytes_ = 0;    ///< of an element, where elements fill bytes
  std::array<Step, 4> steps_{};  ///< one after the other, through buffers in between
  int count_ = 0;
};

}  // namespace tessera::relayout
