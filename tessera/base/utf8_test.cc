// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tessera {
namespace {

/// A code point by the formula of RFC 3629, in `bytes` bytes whether it needs them or not.
std::string encoded(std::uint32_t point, int bytes) {
  if (bytes == 1) return {static_cast<char>(point)};
  std::string out;
  for (int i = 0; i + 1 < bytes; ++i) {
    out.insert(out.begin(), static_cast<char>(0x80U | (point >> (6 * i) & 0x3FU)));
  }
  const std::uint32_t mark = bytes == 2 ? 0xC0U : bytes == 3 ? 0xE0U : 0xF0U;
  out.insert(out.begin(), static_cast<char>(mark | point >> (6 * (bytes - 1))));
  return out;
}

TEST(Utf8, AcceptsEachCodePointInItsShortestForm) {
  for (std::uint32_t point = 0; point < 0x11'2000; point += point < 0x1'0800 ? 1 : 61) {
    const int needed = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x1'0000 ? 3 : 4;
    const bool exists = point < 0x11'0000 && (point < 0xD800 || point > 0xDFFF);
    for (int bytes = needed; bytes <= 4; ++bytes) {
      const std::string text = encoded(point, bytes);
      const bool valid = exists && bytes == needed;
      ASSERT_EQ(utf8_length(text), valid ? static_cast<std::size_t>(bytes) : 0U) << point;
      ASSERT_EQ(is_utf8(text), valid) << point;
      ASSERT_EQ(is_utf8("a" + text + "b"), valid) << point;
      for (std::size_t cut = 1; cut < text.size(); ++cut) {
        ASSERT_FALSE(is_utf8(text.substr(0, cut))) << point;
        ASSERT_FALSE(is_utf8(text.substr(cut))) << point;
      }
    }
  }
  EXPECT_TRUE(is_utf8(""));
  EXPECT_EQ(utf8_length(""), 0U);
}

}  // namespace
}  // namespace tessera
