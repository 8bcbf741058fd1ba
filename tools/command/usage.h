// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tessera/base/result.h"

namespace tessera::tools {

/// kUsage: flags or arguments that cannot be combined, or that are missing.
inline Error usage(std::string message, std::string help) {
  return Error{ErrorCode::kUsage, std::move(message), std::nullopt, std::move(help)};
}

}  // namespace tessera::tools
