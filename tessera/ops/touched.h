// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/graph/op.h"
#include "tessera/layout/regions.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/work_map.h"

namespace tessera::ops {

/// The half-open interval of start + Σ coef·f over a box of iterations.
Range interval_of(const DimAccess& dim, const Box& iterations);

/// How many indices of [0, extent) the sum start + Σ coef·f takes over a box of iterations: an
/// interval has as many as its length, a stride or digits with gaps fewer. Exact for one factor and
/// for digits that stay inside; else the length of the interval, which is never too small.
std::int64_t distinct_indices(const DimAccess& dim, const Box& iterations, std::int64_t extent);

/// The elements of an operand that a box of iterations reads or makes.
struct Touched {
  Box box;                    ///< that holds them
  std::int64_t elements = 1;  ///< how many there are
};

/// An operand, and the iterations that touch it.
struct TouchedOperand {
  const Access* access = nullptr;
  const graph::TensorType* type = nullptr;
  std::vector<Range> reading;  ///< per factor

  /// Empty for a box that touches nothing.
  std::optional<Touched> touched(Box iterations) const;
};

}  // namespace tessera::ops
