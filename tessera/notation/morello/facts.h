// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/morello/morello.h"

namespace tessera::notation {

/// What a Morello layout says about a tensor besides where its elements are.
struct MorelloFacts {
  std::vector<std::int64_t> physical_sizes;  ///< slowest first
  std::string expression;                    ///< see `index_expression`
  /// Whether the elements, walked row-major, are one run of slots: true of row_major, false of
  /// packs. In some order they always are, because nothing is padded; for tiles of a tensor see
  /// morello_contiguity.h.
  bool contiguous = true;
};

Result<MorelloFacts> facts_of(const MorelloLayout& words, const Shape& shape);

}  // namespace tessera::notation
