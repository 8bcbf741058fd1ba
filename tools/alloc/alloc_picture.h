// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "tools/alloc/alloc_profile.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// A plan in letters: a line for each stretch of addresses between two borders of buffers, the
/// highest first, and a column for each stretch of time. Neither is to scale. Empty when that does
/// not fit the terminal.
///
///     address
///          96 [b     ][c ]
///          64 [      ]
///           0 [a         ]
///     time    0       5  7
std::string plan_picture(std::span<const Taken> taken, std::span<const std::string> ids,
                         const Terminal& terminal);

}  // namespace tessera::tools
