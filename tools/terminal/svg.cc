// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "tessera/base/utf8.h"

namespace tessera::tools {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string xml_point(std::string_view point) {
  if (point == "&") return "&amp;";
  if (point == "<") return "&lt;";
  if (point == ">") return "&gt;";
  if (point == "\"") return "&quot;";
  if (point == "\n" || point == "\t" || point == "\r") return " ";
  const bool control = point.size() == 1 && (static_cast<unsigned char>(point[0]) < 0x20);
  const bool no_character = point == "\xEF\xBF\xBE" || point == "\xEF\xBF\xBF";
  return std::string(control || no_character ? kReplacement : point);
}

/// From hue (0 to 6), saturation and lightness (0 to 1) to a channel of 255.
int channel(double hue, double saturation, double lightness) {
  const double chroma = (1 - std::abs(2 * lightness - 1)) * saturation;
  const double away = std::abs(std::fmod(hue, 6.0) - 3);  // from the channel's opposite
  const double share = std::clamp(away - 1, 0.0, 1.0);
  return static_cast<int>(std::lround((lightness - chroma / 2 + chroma * share) * 255));
}

}  // namespace

std::string svg_number(double value) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.2f", value);
  std::string text = buffer.data();
  text.resize(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string svg_text(std::string_view text, std::size_t most) {
  std::string out;
  for (std::size_t points = 0; !text.empty(); ++points) {
    if (points == most) return out + "...";
    const std::size_t bytes = utf8_length(text);
    out += bytes == 0 ? std::string(kReplacement) : xml_point(text.substr(0, bytes));
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

std::string svg_colour(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a, and a last stir for the low bits
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  hash ^= hash >> 32U;
  hash *= 0x9E3779B97F4A7C15U;
  hash ^= hash >> 29U;
  const double hue = static_cast<double>(hash % 3600) / 600;
  const double saturation = 0.45 + 0.1 * static_cast<double>(hash / 3600 % 4);
  const double lightness = 0.70 + 0.04 * static_cast<double>(hash / 14400 % 4);
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "#%02x%02x%02x", channel(hue, saturation, lightness),
                channel(hue + 4, saturation, lightness), channel(hue + 2, saturation, lightness));
  return buffer.data();
}

}  // namespace tessera::tools
