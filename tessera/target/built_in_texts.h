// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace tessera::target {

/// The texts of targets/*.json in the order of their names. The build makes the definition, so that
/// the library knows its machines without finding files.
std::span<const std::string_view> built_in_texts();

}  // namespace tessera::target
