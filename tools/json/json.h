// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/base/json.h"
#include "tessera/base/result.h"

namespace tessera::tools {

inline constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxJsonDepth = 64;
inline constexpr std::size_t kMaxJsonValues = std::size_t{1} << 12;

/// {"error": {"code": "..", "message": "..", "span": [from, to] or null, "help": ".."}}
Json error_json(const Error& error);

/// A JSON object. Refuses texts that are too long, nest too deeply, hold too many values, say one
/// key twice, or are not UTF-8, before any memory is spent on them.
Result<Json> parse_object(std::string_view text);

/// The value of a text of our own making, which has no limits; nothing when it is not valid JSON.
/// Of a key that stands twice in one object, the last value counts.
std::optional<Json> parse_json(std::string_view text);

}  // namespace tessera::tools
