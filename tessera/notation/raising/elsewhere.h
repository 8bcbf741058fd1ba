// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tessera/layout/placement.h"
#include "tessera/notation/raising/refusal.h"

namespace tessera::notation {

/// The obstacle when the nearest layout of a notation puts an element elsewhere.
/// Example: "that element [6] is in slot 1 of [1, 0], not in slot 3 of [0, 0]"; a single place is
/// not named.
Obstacle element_elsewhere(const Form& is, const Form& would_be, const Index& index);

/// The same for placements with copies; `before` is what precedes the sentence. Places are those of
/// the device: a device map is followed.
/// Example: "BEFORE has element [6] in slot 3 of place [0], not in slot 1 of place [1] and 2 more".
Obstacle copies_elsewhere(std::string_view before, const Placement& is, const Placement& would_be,
                          const Index& index);

}  // namespace tessera::notation
