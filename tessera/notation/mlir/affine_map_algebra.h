// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/notation/mlir/affine_map.h"

/// Arithmetic on results of affine maps.
/// Law: the value of the returned result is that operation on the values, at every index, negative
/// values included. kNotSupported when one fold cannot express the result.
namespace tessera::notation::affine {

AffineResult constant(std::int64_t value);
AffineResult dim(int number);
Result<AffineResult> add(AffineResult a, AffineResult b);
Result<AffineResult> multiply(AffineResult a, AffineResult b);
/// `by` must be positive in these two functions.
Result<AffineResult> floor_divide(AffineResult a, std::int64_t by);
Result<AffineResult> remainder(AffineResult a, std::int64_t by);

/// The sum on the indices of a shape. Also works if a remainder and the added value together stay
/// below the modulus. Example: (d0 * 2) mod 4 + d1 on 6x2 is (d0 * 2 + d1) mod 4.
Result<AffineResult> add(AffineResult a, AffineResult b, const Shape& shape);

/// The same value at every index of a shape, without parts that have no effect for this shape: a
/// modulus that the sum never reaches, terms that are too small to change the quotient.
/// Example: (d0 * 96 + d1) floordiv 12 on 5x12 is d0 * 8.
AffineResult simplified(AffineResult result, const Shape& shape);

}  // namespace tessera::notation::affine
