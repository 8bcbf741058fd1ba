// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/layout/form.h"

namespace tessera {

/// Two forms as lines with one common numbering of places.
struct Pair {
  Lines a;
  Lines b;
};

/// Numbers the places of both in one mesh that contains both. Errors: kShapeMismatch; kMeshMismatch
/// if the ranks of the meshes differ, unless both meshes have a single place.
Result<Pair> number_alike(const Form& a, const Form& b);

/// Removes the lines that both have: they cannot cause a difference.
void cancel_common(Pair& pair);

inline Position difference(const PositionPair& positions) { return positions.a - positions.b; }

}  // namespace tessera
