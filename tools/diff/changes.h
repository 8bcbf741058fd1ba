// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/notation/same_places.h"
#include "tools/command/window.h"

namespace tessera::tools {

/// What becomes of an element between two layouts.
enum class Change : std::uint8_t {
  kStays,      ///< the same slot of the same places
  kReordered,  ///< every place that holds it in B holds it in A, but the slot or the places differ
  kMoves,      ///< some place of B lacks it in A; of a partial sum, has another share in A
};
std::string_view change_name(Change change);  ///< "stays", "reordered", "moves"

/// Of each element of a window, in its order: what becomes of it, and the row-major numbers in
/// `mesh` of a place that holds it in A and of one that holds it in B.
struct Changes {
  Shape mesh;  ///< the smallest that has the places of both
  std::vector<Change> changes;
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
};

/// Law: no element of the whole tensor is other than kStays ⇔ diff answers equal. Error kTooLarge
/// for elements with more than 64 replicas.
Result<Changes> changes_in(const SamePlaces& places, const Window& window);

}  // namespace tessera::tools
