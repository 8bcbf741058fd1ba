// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace tessera::target {

/// The texts of targets/*.json, ordered by file name. The build generates the definition, so that
/// the library needs no files to know its machines.
std::span<const std::string_view> built_in_texts();

}  // namespace tessera::target
