// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"

namespace tessera {

/// What happens to a number that the new type cannot hold.
///   kChecked    it is an error; floats may round (to nearest, ties to even), but a finite number
///               that would become infinite does not fit, nor a fraction in an integer
///   kSaturate   it becomes the nearest number of the type: 300 as u8 is 255, 1e6 as f16 is 65504,
///               2.5 as i8 is 2 (ties to even); NaN becomes 0 in integers
/// NaN stays NaN in every float type that has one, infinity stays infinity where the type has it
/// and is otherwise a number that does not fit.
enum class Rounding : std::uint8_t { kChecked, kSaturate };

/// Changes the element type of arrays. Any type to any other, block floats included.
///
/// Arrays are addressed by element number, because elements of i4 and i2 share bytes (the first in
/// the lowest bits) and those of block floats have no address: element n of a bfp array is in tile
/// n div 1024, which has 64 exponent bytes, one for each 16 elements in slot order, and then the
/// mantissas.
class Cast {
 public:
  /// Errors: none today; every pair of types has a cast.
  static Result<Cast> make(DType from, DType to, Rounding rounding);

  DType from() const { return from_; }
  DType to() const { return to_; }

  /// Elements [from_first, from_first + n) of `from` become elements [to_first, to_first + n) of
  /// `to`. The arrays do not overlap. A block-float `to` takes whole groups: to_first and n are
  /// multiples of 16. A sub-byte `to` leaves its neighbours' bits alone.
  /// Answers the first element number (counted from from_first) that does not fit, when checked.
  std::optional<std::int64_t> run(const std::byte* from, std::int64_t from_first, std::byte* to,
                                  std::int64_t to_first, std::int64_t n) const;

 private:
  Cast(DType from, DType to, Rounding rounding) : from_(from), to_(to), rounding_(rounding) {}
  DType from_;
  DType to_;
  Rounding rounding_;
};

}  // namespace tessera
