// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "tools/alloc/alloc_profile.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// A plan as text: one line per address range between two buffer boundaries, the highest address
/// first, and one column per time range. Neither axis is to scale. Empty when the picture does not
/// fit the terminal.
///
///     address
///          96 [b     ][c ]
///          64 [      ]
///           0 [a         ]
///     time    0       5  7
std::string plan_picture(std::span<const PlacedBlock> blocks, std::span<const std::string> ids,
                         const Terminal& terminal);

}  // namespace tessera::tools
