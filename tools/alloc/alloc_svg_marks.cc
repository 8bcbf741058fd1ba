// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_svg_marks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::tools {
namespace {

constexpr std::int64_t kLargestPower = 1'000'000'000'000'000'000;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::size_t bytes_of_point(char lead) {
  const auto c = static_cast<unsigned char>(lead);
  return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

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
    const std::size_t bytes = std::min(bytes_of_point(text[0]), text.size());
    out += xml_point(text.substr(0, bytes));
    text.remove_prefix(bytes);
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

std::vector<Tick> time_ticks(std::int64_t from, std::int64_t to, int count) {
  const double wanted = (static_cast<double>(to) - static_cast<double>(from)) / count;
  std::int64_t step = 1;
  for (int i = 0; static_cast<double>(step) < wanted && step <= kLargestPower; ++i) {
    step = i % 3 == 1 ? step / 2 * 5 : step * 2;  // 1 2 5 10 20 50 ..
  }
  std::vector<Tick> ticks;
  const std::int64_t over = floor_mod(from, step);
  Checked at = over == 0 ? Checked(from) : Checked(from) + (step - over);
  for (; !at.overflowed() && at.raw() <= to; at += step) {
    ticks.push_back({at.raw(), std::to_string(at.raw())});
  }
  return ticks;
}

std::vector<Tick> address_ticks(std::int64_t to, int count) {
  std::int64_t step = 1;
  while (step < to / count && step <= INT64_MAX / 4) step *= 2;
  constexpr std::array<std::string_view, 5> kUnits = {"", " KB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  std::int64_t scale = 1;
  for (; unit + 1 < kUnits.size() && step % (scale * 1024) == 0; ++unit) scale *= 1024;
  std::vector<Tick> ticks;
  for (Checked at = 0; !at.overflowed() && at.raw() <= to; at += step) {
    ticks.push_back({at.raw(), cat(at.raw() / scale, at.raw() == 0 ? "" : kUnits[unit])});
  }
  return ticks;
}

double Frame::x_of(std::int64_t time) const {
  const double length = static_cast<double>(to) - static_cast<double>(from);
  const double share = (static_cast<double>(time) - static_cast<double>(from)) / length;
  return left + (right - left) * share;
}

double Frame::y_of(std::int64_t bytes) const {
  return bottom - (bottom - top) * static_cast<double>(bytes) / static_cast<double>(high);
}

std::string svg_steps(const Frame& frame, std::span<const TimeRange> ranges,
                      std::int64_t TimeRange::* figure) {
  const auto columns = static_cast<std::size_t>(frame.right - frame.left);
  std::vector<std::int64_t> most(columns, 0);
  for (const TimeRange& range : ranges) {
    const double from = std::floor(frame.x_of(range.from) - frame.left);
    const double to = std::ceil(frame.x_of(range.to) - frame.left);
    const std::size_t first = std::min(static_cast<std::size_t>(std::max(0.0, from)), columns - 1);
    const std::size_t last =
        std::clamp(static_cast<std::size_t>(std::max(0.0, to)), first + 1, columns);
    for (std::size_t c = first; c < last; ++c) most[c] = std::max(most[c], range.*figure);
  }
  std::string path = cat("M", svg_number(frame.left), " ", svg_number(frame.bottom));
  for (std::size_t c = 0; c < columns; ++c) {
    if (c > 0 && most[c] == most[c - 1]) continue;
    path += cat("H", svg_number(frame.left + static_cast<double>(c)), "V",
                svg_number(frame.y_of(most[c])));
  }
  return path + cat("H", svg_number(frame.right), "V", svg_number(frame.bottom));
}

}  // namespace tessera::tools
