// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/morello/facts.h"

#include "tessera/layout/runs.h"

namespace tessera::notation {

Result<MorelloFacts> facts_of(const MorelloLayout& words, const Shape& shape) {
  MorelloFacts facts;
  TESSERA_TRY(facts.physical_sizes, physical_sizes(words, shape));
  TESSERA_TRY(facts.expression, index_expression(words, shape));
  // The element size does not matter, and one byte per slot never overflows.
  TESSERA_TRY(const Layout layout, lower(words, shape, DType::kI8));
  TESSERA_TRY(facts.contiguous, is_contiguous(layout.form()));
  return facts;
}

}  // namespace tessera::notation
