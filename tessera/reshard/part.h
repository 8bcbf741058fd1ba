// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/layout/box.h"
#include "tessera/layout/form.h"
#include "tessera/layout/refine.h"
#include "tessera/reshard/flows/place_map.h"

namespace tessera::reshard {

/// How values that were shared over places in A meet in B.
struct Shares {
  std::int64_t from = 1;  ///< shares in A
  std::int64_t to = 1;    ///< shares in B
  bool alike = true;      ///< share i goes to share i; else all of A's go to share 0 of B
  Reduction reduction = Reduction::kSum;  ///< what combines A's shares, when not alike
  bool reduces() const { return !alike && from > 1; }
};

/// What one box of the tensor does: both placements have one rule there.
struct ReshardPart {
  Box box;
  Form a;
  Form b;
  /// Places are the first ones of each element, on the virtual meshes. Its dims are those of the
  /// box, or several of them as one where both forms only count them together.
  Refinement refinement;
  PlaceMap map_a;
  PlaceMap map_b;
  Shares shares;
};

}  // namespace tessera::reshard
