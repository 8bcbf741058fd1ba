// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/relabelling/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "tessera/testing/generate.h"

namespace tessera::reshard {
namespace {

using Numbers = std::vector<std::int64_t>;
using test::Dice;

TEST(Assignment, IsTheBestOfAll) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Dice dice(seed);
    const std::int64_t rows = dice.between(1, 6);
    const std::int64_t columns = rows + dice.below(3);
    const std::int64_t range = dice.chance(50) ? 3 : 1000;
    std::vector<Worth> worths;
    std::vector<Numbers> weight(static_cast<std::size_t>(rows),
                                Numbers(static_cast<std::size_t>(columns), 0));
    for (std::int32_t r = 0; r < rows; ++r) {
      for (std::int32_t c = 0; c < columns; ++c) {
        if (dice.chance(50)) continue;
        const std::int64_t w = dice.between(1, range);
        worths.push_back({r, c, w});
        weight[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] = w;
      }
    }
    std::vector<std::size_t> order(static_cast<std::size_t>(columns));
    std::iota(order.begin(), order.end(), 0);
    std::pair<std::int64_t, std::int64_t> best = {0, 0};  // weight, rows on their own column
    do {
      std::pair<std::int64_t, std::int64_t> here = {0, 0};
      for (std::size_t r = 0; r < weight.size(); ++r) {
        here.first += weight[r][order[r]];
        here.second += order[r] == r ? 1 : 0;
      }
      best = std::max(best, here);
    } while (std::next_permutation(order.begin(), order.end()));
    const Assignment found = *assign(weight.size(), order.size(), worths);
    EXPECT_EQ(found.weight, best.first) << "seed " << seed;
    std::set<std::int32_t> used;
    std::int64_t own = 0;
    for (std::size_t r = 0; r < weight.size(); ++r) {
      EXPECT_TRUE(used.insert(found.column_of[r]).second);
      own += found.column_of[r] == static_cast<std::int32_t>(r) ? 1 : 0;
    }
    EXPECT_EQ(own, best.second) << "seed " << seed;
  }
}

TEST(Assignment, StopsWhenTheStepsRunOut) {
  std::vector<Worth> worths;
  for (std::int32_t r = 0; r < 20; ++r) {
    for (std::int32_t c = 0; c < 20; ++c) worths.push_back({r, c, 100 + (r * c) % 7});
  }
  const Assignment cut = *assign(20, 20, worths, 100);
  EXPECT_FALSE(cut.optimal);
  EXPECT_EQ(std::set<std::int32_t>(cut.column_of.begin(), cut.column_of.end()).size(), 20U);
  EXPECT_EQ(assign(1, 1, {{0, 0, INT64_MAX}}).error().code, ErrorCode::kOverflow);
}

}  // namespace
}  // namespace tessera::reshard
