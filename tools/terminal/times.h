// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::tools {

/// 0.00012 s is "120 us".
std::string seconds_text(double seconds);

}  // namespace tessera::tools
