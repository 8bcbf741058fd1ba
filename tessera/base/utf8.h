// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace tessera {

/// The bytes of the code point that a text begins with, by the table of RFC 3629; 0 if it begins
/// with none: a lone or missing byte, a form longer than needed, a surrogate, one beyond U+10FFFF.
/// Example: utf8_length("\xC3\xA9.") is 2.
std::size_t utf8_length(std::string_view text);

/// Whether a text consists of code points.
bool is_utf8(std::string_view text);

}  // namespace tessera
