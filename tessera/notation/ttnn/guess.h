// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/layout/layout.h"
#include "tessera/notation/ttnn/ttnn.h"

namespace tessera::notation {

/// A map that may say a layout, if places have so many atom columns.
struct TtnnGuess {
  AffineMap map;
  std::int64_t columns = 0;
};

/// Maps that may say a layout with the memory, grid and element of `words`, likeliest first; a few.
/// If a layout is TTNN's, then the number of atom columns of a place and where the unit indices
/// live tell its map, up to steps that no element takes.
std::vector<TtnnGuess> guess_ttnn_maps(const Layout& layout, const TtnnLayout& words);

}  // namespace tessera::notation
