// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/layout/placement.h"

/// What a placement does along one dim while the other dims are 0: what notations that cut dims one
/// by one are raised from. The tensor has elements.
namespace tessera::notation {

/// The first place of element `x` along `dim`; of the first element for a scalar.
Place place_along(const Placement& placement, int dim, std::int64_t x);

/// The pieces that elements along `dim` are in, in their order.
std::vector<FormPiece> pieces_along(const Placement& placement, int dim);

/// Whether elements along `dim` have different coordinates on `axis`.
bool drives(const Placement& placement, int dim, int axis);

/// Elements [from, to) along the dim, all on one place. Neighbours may be on the same.
struct PlacedRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  Place place;
};
/// All of the dim; nothing when that takes more than 2^16 ranges.
std::optional<std::vector<PlacedRange>> places_along(const Placement& placement, int dim);

/// The term of `dim` in a fold, if it has one.
const Term* term_of(const Fold& fold, int dim);

/// What a notation of plain scalars on a mesh has no words for, if anything, apart from partial
/// results and what the form says.
std::optional<std::string> beyond_plain_shards(const Placement& placement);

/// Whether two placements are one description, which saves comparing them as functions.
bool same_description(const Placement& a, const Placement& b);

}  // namespace tessera::notation
