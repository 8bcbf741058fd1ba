// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/layout/lines.h"
#include "tessera/layout/refine.h"

namespace tessera {

/// Both forms as lines over one numbering of places.
struct Pair {
  Lines a;
  Lines b;
};

/// Numbers the places of both in a mesh that holds both. Errors: kShapeMismatch; kMeshMismatch when
/// the meshes' ranks differ and are not both one place.
Result<Pair> number_alike(const Form& a, const Form& b);

/// Removes the lines that both have: they never make a difference.
void cancel_common(Pair& pair);

inline Spot difference(const Spots& spots) { return spots.a - spots.b; }

}  // namespace tessera
