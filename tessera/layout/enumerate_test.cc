// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/enumerate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

TEST(Rows, OddEvenInOrder) {
  const Form f = form({8}, {}, {fold(x(0), {mem(8, 1, 8), mem(2, 4, 1), mem(1, 2, 4)})});
  std::vector<std::int64_t> slots;
  ASSERT_TRUE(for_each_row(f, [&](const Row& row) {
                for (const Position& offset : row.offsets)
                  slots.push_back((row.base + offset).slot);
              }).ok());
  EXPECT_EQ(slots, (std::vector<std::int64_t>{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(Rows, TheLaw) {
  const std::vector<Form> cases = {
      tiled_53x63(),
      form({}, {}, {}, {}, 4),
      form({0}, {}, {fold(x(0), {mem(1, 0, 1)})}),
      form({3, 0, 2}, {}, {fold({x(0, 2), x(2)}, {mem(1, 6, 1)}), fold(x(1), {mem(1, 0, 1)})}),
      form({3, 1, 4}, {}, {fold({x(0, 4), x(1), x(2)}, {mem(5, 3, 5), mem(1, 5, 1)})}),
      form({5, 7}, {3}, {fold({x(0, 7), x(1)}, {on(0, 13, 3), mem(4, 4, 4), mem(1, 4, 1)})}),
      form({5, 7}, {}, {fold({x(0, -7), x(1, -1)}, {mem(10, 4, 3), mem(1, 10, 12)}, 34)}),
      form({2, 3, 2, 3}, {2},
           {fold({x(1, 2), x(2)}, {on(0, 4, 2), mem(1, 4, 1)}), fold(x(0), {mem(1, 2, 12)}),
            fold({x(3, -1), x(0)}, {mem(2, 2, 30), mem(1, 2, 4)}, 2)}),
      form({4, 4}, {4, 4},
           {fold(x(0), {on(0, 1, 4)}), fold({x(0), x(1)}, {nowhere(4, 2), on(1, 1, 4)})}),
  };
  for (const Form& f : cases) EXPECT_EQ(about(f, law_rows(f)), "");
}

// A row of more than 64 Ki elements is visited in consecutive parts.
TEST(Rows, LongDimsComeInParts) {
  const std::int64_t n = 200000;
  for (const Form& f :
       {form({n}, {}, {fold(x(0), {mem(1000, 200, 2000), mem(1, 1000, 1)})}),
        form({n}, {}, {fold(x(0), {mem(1, n, 3)})}),
        form({2, n}, {}, {fold({x(0, n), x(1)}, {mem(777, 515, 999), mem(1, 777, 1)})})}) {
    std::int64_t next = 0;
    bool right = true;
    std::size_t longest = 0;
    ASSERT_TRUE(for_each_row(f, [&](const Row& row) {
                  longest = std::max(longest, row.offsets.size());
                  for (std::size_t i = 0; i < row.offsets.size(); ++i, ++next) {
                    Index index = row.index;
                    index.back() += static_cast<std::int64_t>(i);
                    right = right && f.shape.linear(index) == next;
                    right =
                        right && (row.base + row.offsets[i]).slot == naive_evaluate(f, index).slot;
                  }
                }).ok());
    EXPECT_TRUE(right) << describe(f);
    EXPECT_EQ(next, f.shape.elements());
    EXPECT_LE(longest, 65536u);
  }
}

TEST(Rows, OrdersThatAreNoPermutationAreRefused) {
  const auto nothing = [](const Row&) {};
  EXPECT_FALSE(for_each_row(tiled_53x63(), {0}, nothing).ok());
  EXPECT_FALSE(for_each_row(tiled_53x63(), {0, 0}, nothing).ok());
  EXPECT_FALSE(for_each_row(tiled_53x63(), {0, 2}, nothing).ok());
  EXPECT_FALSE(for_each_row(tiled_53x63(), {0, -1}, nothing).ok());
  EXPECT_TRUE(for_each_row(tiled_53x63(), {1, 0}, nothing).ok());
}

}  // namespace
}  // namespace tessera::test
