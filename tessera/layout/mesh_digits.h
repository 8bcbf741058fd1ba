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

/// The mesh digits of `place`, or nothing when no digits reach it. For forms whose allocated digits
/// do not collide (every layout), where they are unique.
std::optional<MeshDigits> mesh_digits(const Form& form, const Place& place);

/// Whether some unplaced digit takes several values, so that a slot does not tell its setting.
bool has_open_digit(const Form& form);

/// Whether two folds speak of one dim.
bool share_dims(const Fold& a, const Fold& b);

}  // namespace tessera
