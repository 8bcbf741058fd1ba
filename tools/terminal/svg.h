// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// What pictures as SVG have in common: numbers, texts, colours.
namespace tessera::tools {

/// At most two decimals, without trailing zeros.
std::string svg_number(double value);

/// The first `most` code points of a text, with "..." where more follow, fit for XML: markup
/// escaped, bytes that are no UTF-8 and characters that XML does not allow replaced by U+FFFD.
std::string svg_text(std::string_view text, std::size_t most);

/// "#rrggbb": light enough for dark text on it; the same text always gets the same colour.
std::string svg_colour(std::string_view text);

}  // namespace tessera::tools
