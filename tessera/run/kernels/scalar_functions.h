// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tessera/graph/op.h"

namespace tessera::run::kernels {

/// Numbers that the attributes of an elementwise op give.
struct Numbers {
  double alpha = 0;
  double beta = 0;
  std::int64_t first = 0;
  std::int64_t second = 0;
};
Numbers numbers_of(const graph::Call& call);

/// An elementwise op on numbers of type W: `x` are its inputs.
template <typename W>
using Scalar = W (*)(const W* x, const Numbers& numbers);
/// The same with a boolean, 0 or 1, as its result.
template <typename W>
using Test = std::int64_t (*)(const W* x, const Numbers& numbers);

/// The function of an op, as the ONNX text of its name defines it; null for ops that others
/// compute, and for those that W does not have. Defined for float, double, int64_t and uint64_t.
/// Integers wrap around; what divides them by 0 gives 0.
template <typename W>
Scalar<W> scalar_of(std::string_view op);
template <typename W>
Test<W> test_of(std::string_view op);

}  // namespace tessera::run::kernels
