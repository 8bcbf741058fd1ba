// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "tessera/layout/form.h"
#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

Lines lines_of(const Form& f) { return *canonical(f); }

TEST(Lines, RowMajorIsOneStrideADim) {
  const Lines lines =
      lines_of(form({4, 6}, {}, {fold(x(0), {mem(1, 4, 6)}), fold(x(1), {mem(1, 6, 1)})}));
  EXPECT_TRUE(lines.separable());
  ASSERT_EQ(lines.lines.size(), 2u);
  for (const Line& line : lines.lines) {
    ASSERT_EQ(line.cuts.size(), 1u);
    EXPECT_EQ(line.cuts[0].move, (Position{0, line.terms[0].dim == 0 ? 6 : 1}));
  }
}

// All descriptions of one function have the same lines.
TEST(Lines, DescriptionsOfOneFunctionAgree) {
  const Form plain = form({4, 6}, {}, {fold(x(0), {mem(1, 4, 6)}), fold(x(1), {mem(1, 6, 1)})});
  const std::vector<Form> others = {
      form({4, 6}, {}, {fold(x(1), {mem(1, 6, 1)}), fold(x(0), {mem(1, 4, 6)})}),
      form({4, 6}, {}, {fold({x(0, 6), x(1)}, {mem(1, 24, 1)})}),
      form({4, 6}, {}, {fold({x(1), x(0, 6)}, {mem(8, 3, 8), mem(1, 8, 1)})}),
      form({4, 6}, {}, {fold({x(0, 6), x(1)}, {mem(6, 4, 6), mem(2, 3, 2), mem(1, 2, 1)})}),
      form({4, 6}, {}, {fold({x(0, 8), x(1)}, {mem(8, 4, 6), mem(1, 8, 1)})}),
      form({4, 6}, {}, {fold({x(0, 6), x(1)}, {mem(99, 1, 7), mem(1, 24, 1)})}),
      form({4, 6}, {}, {fold(x(0), {mem(2, 2, 12), mem(1, 2, 6)}), fold(x(1), {mem(1, 6, 1)})}),
      form({4, 6}, {1, 1}, {fold(x(0), {on(0, 4, 1), mem(1, 4, 6)}), fold(x(1), {mem(1, 6, 1)})}),
  };
  const Lines expected = lines_of(plain);
  for (const Form& other : others) {
    const Lines lines = lines_of(other);
    EXPECT_EQ(lines.base, expected.base) << describe(other);
    EXPECT_EQ(lines.lines, expected.lines) << describe(other);
    EXPECT_EQ(law_canonical(other), "");
  }
}

// 64·x0 + x1 cut at multiples of 64 is two lines; cut at 48 it is not.
TEST(Lines, UnCollapseWhereCutsAllow) {
  const Form aligned =
      form({4, 64}, {2}, {fold({x(0, 64), x(1)}, {on(0, 128, 2), mem(32, 4, 32), mem(1, 32, 1)})});
  EXPECT_TRUE(lines_of(aligned).separable());
  const Form across = form({4, 64}, {6}, {fold({x(0, 64), x(1)}, {on(0, 48, 6), mem(1, 48, 1)})});
  EXPECT_FALSE(lines_of(across).separable());
  EXPECT_EQ(law_canonical(aligned), "");
  EXPECT_EQ(law_canonical(across), "");
}

TEST(Lines, ConstantsMoveIntoTheBase) {
  const Lines lines = lines_of(
      form({1, 5}, {4},
           {fold({x(0), x(1, -1)}, {mem(1, 8, 2)}, 7), fold(std::vector<Term>{}, {on(0, 1, 3)}, 2)},
           {Fill::fixed(0, 1)}, 3));
  // x1 = 0 is at line position 7, slot 3 + 14; place 2 + 1.
  EXPECT_EQ(lines.base, (Position{3, 17}));
  ASSERT_EQ(lines.lines.size(), 1u);
  EXPECT_EQ(lines.lines[0].cuts[0].move, (Position{0, -2}));
}

TEST(Lines, TheLaws) {
  const std::vector<Form> cases = {
      tiled_53x63(),
      form({}, {}, {}),
      form({0, 3}, {}, {fold({x(0, 3), x(1)}, {mem(1, 0, 1)})}),
      form({8}, {}, {fold(x(0), {mem(8, 1, 8), mem(2, 4, 1), mem(1, 2, 4)})}),
      form({7, 5}, {}, {fold({x(0, 5), x(1)}, {mem(9, 4, 9), mem(4, 3, 2), mem(1, 4, 1)}, 3)}),
      form({7}, {}, {fold(x(0, -2), {mem(5, 3, 1), mem(1, 5, 3)}, 12)}),
      // A common factor of coefficients and widths, with unplaced digits.
      form({3}, {}, {fold(x(0, 2), {nowhere(2, 3), mem(1, 2, 1)})}),
      form({3}, {}, {fold(x(0, 3), {mem(3, 4, 2), nowhere(1, 3)}, 4)}),
      form({2}, {6}, {fold(x(0, -3), {on(0, 3, 2), on(0, 1, 3, 2)}, 3)}),
      form({1, 4}, {}, {fold(x(1, -3), {mem(3, 4, 4), mem(1, 3, 3)}, 9)}),
  };
  for (const Form& f : cases) EXPECT_EQ(about(f, law_canonical(f)), "");
}

}  // namespace
}  // namespace tessera::test
