// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.h"
#include "tessera/notation/morello/fit.h"
#include "tessera/notation/morello/morello.h"

namespace tessera::notation {
namespace {

/// `24*(d1/4)`, `d1%4`, `8*d0`. A digit that ends its dim needs no remainder.
std::string term(const MorelloDigit& digit, std::size_t dim, std::int64_t extent) {
  const bool divides = digit.width > 1;
  const bool wraps = digit.count < extent / digit.width;
  std::string value = cat("d", dim);
  if (divides) value += cat("/", digit.width);
  if (wraps) value = divides ? cat("(", value, ")%", digit.count) : cat(value, "%", digit.count);
  if (digit.stride == 1) return value;
  return divides || wraps ? cat(digit.stride, "*(", value, ")") : cat(digit.stride, "*", value);
}

}  // namespace

Result<std::string> index_expression(const MorelloLayout& words, const Shape& shape) {
  TESSERA_TRY(const std::vector<PhysicalDim> physical, fit(words, shape));
  std::string sum;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    for (const MorelloDigit& digit : joined(digits_of(physical, dim))) {
      sum += cat(sum.empty() ? "" : " + ", term(digit, dim, shape[dim]));
    }
  }
  return sum.empty() ? "0" : sum;
}

}  // namespace tessera::notation
