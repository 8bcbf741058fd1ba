// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_svg_marks.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::tools {
namespace {

constexpr std::int64_t kLargestPower = 1'000'000'000'000'000'000;

}  // namespace

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
