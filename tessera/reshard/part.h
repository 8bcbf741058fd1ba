// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/layout/regions.h"
#include "tessera/reshard/flows/place_map.h"

namespace tessera::reshard {

/// How values that are split into shares over places in A are combined in B.
struct Shares {
  std::int64_t from = 1;  ///< shares in A
  std::int64_t to = 1;    ///< shares in B
  bool alike = true;      ///< share i goes to share i; otherwise all shares of A go to share 0 of B
  Reduction reduction = Reduction::kSum;  ///< combines A's shares, when not alike
  bool reduces() const { return !alike && from > 1; }
};

/// How the shares of A are combined in B. kNotSupported for shares of several reductions that are
/// not alike.
Result<Shares> meet_shares(const Form& a, const Form& b);

/// The refinement of two forms. Dims that both forms use only together, as in a tensor that is
/// dealt out flat, are merged into one dim: only places and slots are needed, not indices.
Result<Refinement> refine_joined(const Form& a, const Form& b);

/// Bytes of memory per element.
Reshard::Rate byte_rate_of(DType storage);

/// The reshard of one box of the tensor. Within the box, each placement follows a single rule.
struct ReshardPart {
  Box box;
  Form a;
  Form b;
  /// Its places are the first place of each element, on the virtual meshes. Its dims are those of
  /// the box; several dims are merged into one where both forms use them only together.
  Refinement refinement;
  PlaceMap map_a;
  PlaceMap map_b;
  Shares shares;
};

}  // namespace tessera::reshard
