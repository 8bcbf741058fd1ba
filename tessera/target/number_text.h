// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::target {

/// The shortest digits that read back as the number, as JSON writes them.
/// Law: reading number_text(x) gives x, for every finite x; -0 is written as 0.
/// Examples: 25 is "25", 28.6 is "28.6", 0.8e-6 is "8e-7", 14e9 is "1.4e10".
std::string number_text(double number);

}  // namespace tessera::target
