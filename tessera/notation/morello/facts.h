// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/morello/morello.h"

namespace tessera::notation {

/// Facts that a Morello layout states about a tensor, other than where its elements are.
struct MorelloFacts {
  std::vector<std::int64_t> physical_sizes;  ///< slowest first
  std::string expression;                    ///< see `index_expression`
  /// Whether the elements in row-major order are one run of slots: true for row_major, false for
  /// packs. In some order they always are one run, because nothing is padded. For tiles of a tensor
  /// see morello/contiguity.h.
  bool contiguous = true;
};

Result<MorelloFacts> facts_of(const MorelloLayout& words, const Shape& shape);

}  // namespace tessera::notation
