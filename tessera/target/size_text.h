// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tessera::target {

/// A readable and exact size: in the largest of GB, MB and KB (factors of 1024) that divides it,
/// else in bytes.
/// Example: 49152 is "48 KB", 4194304 is "4 MB", 1396736 is "1364 KB", 1088 is "1088 bytes".
std::string size_text(std::int64_t bytes);

}  // namespace tessera::target
