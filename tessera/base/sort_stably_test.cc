// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/sort_stably.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace tessera {
namespace {

TEST(SortStably, KeepsTheOrderOfEqualElements) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 60; ++size) {
    std::vector<std::pair<int, std::size_t>> list;
    for (std::size_t i = 0; i < size; ++i) list.emplace_back(static_cast<int>(random() % 5), i);
    sort_stably(list, [](const auto& x, const auto& y) { return x.first < y.first; });
    ASSERT_EQ(list.size(), size);
    for (std::size_t i = 1; i < size; ++i) EXPECT_LT(list[i - 1], list[i]);
  }
}

}  // namespace
}  // namespace tessera
