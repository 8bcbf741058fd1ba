// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/base/result.h"

namespace tessera::tools {

/// Objects keep the order in which their fields were written.
using Json = nlohmann::ordered_json;

inline constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxJsonDepth = 64;
inline constexpr std::size_t kMaxJsonValues = std::size_t{1} << 12;

/// One line of text. Bytes that are not UTF-8 (they may come from a quoted argument) print as
/// U+FFFD.
std::string dump(const Json& json);

/// {"error": {"code": "..", "message": "..", "span": [from, to] or null, "help": ".."}}
Json error_json(const Error& error);

/// A JSON object. Refuses texts that are too long, nest too deeply, hold too many values, say one
/// key twice, or are not UTF-8, before any memory is spent on them.
Result<Json> parse_object(std::string_view text);

}  // namespace tessera::tools
