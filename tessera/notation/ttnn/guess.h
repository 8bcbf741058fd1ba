// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/layout/layout.h"
#include "tessera/notation/ttnn/ttnn.h"

namespace tessera::notation {

/// A map that may express a layout, if every place has `columns` columns of atoms.
struct TtnnGuess {
  AffineMap map;
  std::int64_t columns = 0;
};

/// A few maps that may express a layout with the memory, grid and element of `words`, most likely
/// first. If TTNN can express the layout, its map follows from the number of atom columns of a
/// place and the positions of the unit indices, except for steps that no element takes.
std::vector<TtnnGuess> guess_ttnn_maps(const Layout& layout, const TtnnLayout& words);

}  // namespace tessera::notation
