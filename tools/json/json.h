// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "tessera/base/json.h"
#include "tessera/base/result.h"

/// tools/json/: JSON for requests and answers. Texts come in, values and errors go out. Limits are
/// checked before memory is allocated; nothing here reads files or knows a verb.
namespace tessera::tools {

inline constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxJsonDepth = 64;
inline constexpr std::size_t kMaxJsonValues = std::size_t{1} << 12;

/// {"error": {"code": "..", "message": "..", "span": [from, to] or null, "help": ".."}}, and if the
/// error has reasons also "reasons": [{"reason": "..", "facts": {"slot": 3, ..}}, ..].
Json error_json(const Error& error);

/// Parses a JSON object. Refuses texts that are too long, nest too deeply, have too many values,
/// repeat a key, or are not UTF-8, before any memory is allocated for them.
Result<Json> parse_object(std::string_view text);

/// Parses a text that this program wrote, without limits; nothing when it is not valid JSON. When a
/// key occurs twice in one object, the last value counts.
std::optional<Json> parse_json(std::string_view text);

}  // namespace tessera::tools
