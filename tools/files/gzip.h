// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tessera/base/result.h"

namespace tessera::tools {

/// Whether the bytes begin like a file that gzip compressed.
bool is_gzip(std::string_view bytes);

/// What gzip compressed, all members one after the other. Errors: kIo for bytes that are damaged or
/// end too early, kTextTooLong beyond `most_bytes`, kOutOfMemory. `name` is for messages.
Result<std::string> gunzip(std::string_view bytes, std::size_t most_bytes, const std::string& name);

}  // namespace tessera::tools
