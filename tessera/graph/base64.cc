// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/base64.h"

#include <array>
#include <cstdint>

namespace tessera::graph {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint32_t kInvalid = 64;

std::uint32_t digit_of(char c) {
  static const std::array<std::uint8_t, 256> table = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(kInvalid);
    for (std::size_t i = 0; i < kDigits.size(); ++i) {
      values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
    }
    return values;
  }();
  return table[static_cast<unsigned char>(c)];
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const bool padding = i + k > bytes.size();
      out += padding ? '=' : kDigits[group >> (18 - 6 * k) & 63];
    }
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    std::size_t digits = 4;
    while (last && digits > 2 && text[i + digits - 1] == '=') --digits;
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::uint32_t digit = k < digits ? digit_of(text[i + k]) : 0;
      if (digit == kInvalid) return std::nullopt;
      group = group << 6 | digit;
    }
    const std::size_t count = digits - 1;
    if ((group & ((1U << (8 * (3 - count))) - 1)) != 0) return std::nullopt;  // bits that are lost
    for (std::size_t k = 0; k < count; ++k) out += static_cast<char>(group >> (16 - 8 * k) & 255);
  }
  return out;
}

}  // namespace tessera::graph
