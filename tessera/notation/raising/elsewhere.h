// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/layout/placement.h"

namespace tessera::notation {

/// The message when the nearest layout of a notation puts an element elsewhere.
/// Example: "that element [6] is in slot 1 of [1, 0], not in slot 3 of [0, 0]"; a single place is
/// not named.
std::string element_elsewhere(const Form& is, const Form& would_be, const Index& index);

/// "slot 3 of place [1]", "slot 3 of place [1] and 2 more" for copies.
std::string spot_text(const Placement& placement, const Index& index);

}  // namespace tessera::notation
