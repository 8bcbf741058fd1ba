// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/notation/raising/refusal.h"

/// How a placement behaves along one dim while the index of the other dims is 0. Notations that cut
/// dims one by one use this to raise. The tensor must have elements.
namespace tessera::notation {

/// The first place of element `x` along `dim`; for a scalar, that of its only element.
Place place_along(const Placement& placement, int dim, std::int64_t x);

/// The pieces that contain the elements along `dim`, in the order of the elements.
std::vector<FormPiece> pieces_along(const Placement& placement, int dim);

/// Whether elements along `dim` have different coordinates on `axis`.
bool drives(const Placement& placement, int dim, int axis);

/// Elements [from, to) along the dim, all on one place. Adjacent ranges may be on the same place.
struct PlacedRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  Place place;
};
/// The ranges of the whole dim; nullopt when there are more than 2^16.
std::optional<std::vector<PlacedRange>> places_along(const Placement& placement, int dim);

/// The term of `dim` in a fold, if it has one.
const Term* term_of(const Fold& fold, int dim);

/// What a notation of plain scalars on a mesh cannot express, if anything. Partial results and the
/// form are not checked.
std::optional<Obstacle> beyond_plain_shards(const Placement& placement);

/// Whether two placements have the same description. If so, they need not be compared as functions.
bool same_description(const Placement& a, const Placement& b);

}  // namespace tessera::notation
