// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace tessera::tools {

/// 0.00012 s is "120 us".
std::string seconds_text(double seconds);

/// 16384 is "16.4 k"; nothing is "?".
std::string cycles_text(const std::optional<double>& cycles);

}  // namespace tessera::tools
