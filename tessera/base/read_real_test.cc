// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/read_real.h"

#include <gtest/gtest.h>

#include <string_view>

namespace tessera {
namespace {

/// A number that stands in for "unchanged".
constexpr double kBefore = -7;

struct Read {
  double value = kBefore;
  std::size_t used = 0;
  std::errc error = {};
};

Read read(std::string_view text) {
  Read found;
  const auto [end, error] = read_real(text.data(), text.data() + text.size(), found.value);
  found.used = static_cast<std::size_t>(end - text.data());
  found.error = error;
  return found;
}

TEST(ReadReal, ReadsTheLongestNumberAtTheBegin) {
  EXPECT_EQ(read("0.5s").value, 0.5);
  EXPECT_EQ(read("0.5s").used, 3U);
  EXPECT_EQ(read("-1e3").value, -1000);
  EXPECT_EQ(read("2e").used, 1U);
  EXPECT_EQ(read(".25").value, 0.25);
  EXPECT_EQ(read("-inf").value, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read("-inf").used, 4U);
  EXPECT_TRUE(std::isnan(read("nan").value));
}

TEST(ReadReal, LeavesTheValueWhenItReadsNothing) {
  for (const std::string_view text : {"", "+1", " 1", "x", "-", "."}) {
    EXPECT_EQ(read(text).error, std::errc::invalid_argument) << text;
    EXPECT_EQ(read(text).value, kBefore) << text;
  }
  for (const std::string_view text : {"1e999", "-1e999", "1e-999"}) {
    EXPECT_EQ(read(text).error, std::errc::result_out_of_range) << text;
    EXPECT_EQ(read(text).value, kBefore) << text;
  }
}

}  // namespace
}  // namespace tessera
