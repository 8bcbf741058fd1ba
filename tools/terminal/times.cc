// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/times.h"

#include <array>
#include <cstdio>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::tools {

std::string seconds_text(double seconds) {
  const auto [scale, unit] = seconds < 1e-6   ? std::pair(1e9, "ns")
                             : seconds < 1e-3 ? std::pair(1e6, "us")
                             : seconds < 1    ? std::pair(1e3, "ms")
                                              : std::pair(1.0, "s");
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.3g", seconds * scale);
  return cat(buffer.data(), " ", unit);
}

std::string cycles_text(const std::optional<double>& cycles) {
  if (!cycles) return "?";
  std::array<char, 32> buffer{};
  if (*cycles < 10'000) {
    (void)std::snprintf(buffer.data(), buffer.size(), "%.0f", *cycles);
  } else if (*cycles < 1e7) {
    (void)std::snprintf(buffer.data(), buffer.size(), "%.1f k", *cycles / 1e3);
  } else {
    (void)std::snprintf(buffer.data(), buffer.size(), "%.1f M", *cycles / 1e6);
  }
  return buffer.data();
}

}  // namespace tessera::tools
