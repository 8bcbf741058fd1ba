// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/layout/form.h"

namespace tessera {

/// The digits on the mesh of one place: digits[fold][cut], 0 for cuts that are not on the mesh.
struct MeshDigits {
  std::vector<std::vector<std::int64_t>> digits;
};

/// The mesh digits of `place`, or empty if no digits reach it. For forms whose allocated digits do
/// not collide (every layout); the digits are then unique.
std::optional<MeshDigits> mesh_digits(const Form& form, const Place& place);

/// Whether some unplaced digit takes several values, so that a slot does not determine the digits.
bool has_open_digit(const Form& form);

/// Whether some dim is in two folds, so that digits that are valid in each fold may belong to no
/// index.
bool folds_share_dims(const Form& form);

}  // namespace tessera
