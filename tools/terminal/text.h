// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tools {

/// ASCII letters in upper case.
std::string upper_case(std::string_view text);

/// 'text' in quotes, safe in a message: shortened when long, and with control characters replaced
/// by '?', so that it cannot control the terminal.
std::string quote(std::string_view text);

/// The parts of a text between empty lines.
std::vector<std::string_view> paragraphs_of(std::string_view text);

/// "did you mean 'locate'?" when one of `names` is within a third of its letters of `name`, else
/// `otherwise`.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> names,
                         std::string_view otherwise);

/// "1 place", "6 places".
std::string count_of(std::int64_t count, std::string_view singular);
std::string count_of(std::int64_t count, std::string_view singular, std::string_view plural);

}  // namespace tessera::tools
