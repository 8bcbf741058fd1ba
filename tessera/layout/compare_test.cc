// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

Form rows_over(std::int64_t places, std::vector<std::int64_t> mesh) {
  const std::int64_t t = (12 + places - 1) / places;
  return form({12, 4}, std::move(mesh),
              {fold(x(0), {on(0, t, places), mem(1, t, 4)}), fold(x(1), {mem(1, 4, 1)})});
}

// Grid(r, 1) equals RowPartition(r); SinglePE equals Grid(1, 1).
TEST(SameFunction, PartitionsThatAreGrids) {
  const Form row_partition = rows_over(3, {3, 1});
  const Form grid =
      form({12, 4}, {3, 1},
           {fold(x(0), {on(0, 4, 3), mem(1, 4, 4)}), fold(x(1), {on(1, 4, 1), mem(1, 4, 1)})});
  EXPECT_TRUE(same_function(row_partition, grid)->equal);
  EXPECT_EQ(law_same_function(row_partition, grid), "");
  const Form single = form({12, 4}, {}, {fold({x(0, 4), x(1)}, {mem(1, 48, 1)})});
  EXPECT_TRUE(same_function(single, rows_over(1, {1, 1}))->equal);
  EXPECT_TRUE(same_function(rows_over(1, {1, 1}), single)->equal);
}

TEST(SameFunction, AllocationAndCausesPlayNoPart) {
  const Form plain = rows_over(3, {3});
  Form roomy = plain;
  roomy.mesh = shape({9});
  roomy.folds[0].cuts[0].count = 7;
  roomy.folds[1].cuts[0].count = 4;
  roomy.folds[1].cuts[0].cause = Cause::kStick;
  EXPECT_TRUE(same_function(plain, roomy)->equal);
  EXPECT_EQ(law_same_function(plain, roomy), "");
}

TEST(SameFunction, TheSmallestDifferenceIsTold) {
  const Form a = form({53}, {}, {fold(x(0), {mem(1, 53, 1)})});
  const Form b = form({53}, {}, {fold(x(0), {mem(18, 3, 32), mem(1, 18, 1)})});
  const Comparison comparison = *same_function(a, b);
  EXPECT_FALSE(comparison.equal);
  EXPECT_EQ(comparison.first_difference, Index{18});
  EXPECT_EQ(*moved_elements(a, b), 35);  // 18 .. 52
}

// 5 elements on 2x2: GSPMD and nested ceil-divide agree on 0 and 1, and on 2.
TEST(SameFunction, TwoLevelSplits) {
  const Form gspmd = form({5}, {2, 2}, {fold(x(0), {on(0, 4, 2), on(1, 2, 2), mem(1, 2, 1)})});
  const Form nested = form({5}, {2, 2}, {fold(x(0), {on(0, 3, 2), on(1, 2, 2), mem(1, 2, 1)})});
  EXPECT_EQ(same_function(gspmd, nested)->first_difference, Index{3});
  EXPECT_EQ(*moved_elements(gspmd, nested), 2);  // 3 and 4
}

TEST(SameFunction, ReplicasCompareAsSets) {
  const Fold two = fold(x(0), {mem(1, 2, 1)});
  const Form at_once = form({2}, {6}, {two}, {Fill::replicate(0, 6)});
  const Form in_steps = form({2}, {6}, {two}, {Fill::replicate(0, 3, 2), Fill::replicate(0, 2)});
  const Form other_steps = form({2}, {6}, {two}, {Fill::replicate(0, 2, 3), Fill::replicate(0, 3)});
  const Form fewer = form({2}, {6}, {two}, {Fill::replicate(0, 5)});
  EXPECT_TRUE(same_function(at_once, in_steps)->equal);
  EXPECT_TRUE(same_function(in_steps, other_steps)->equal);
  EXPECT_FALSE(same_function(at_once, fewer)->equal);
  EXPECT_EQ(*function_hash(at_once), *function_hash(other_steps));
  for (const Form& a : {at_once, in_steps, other_steps, fewer}) {
    for (const Form& b : {at_once, in_steps, other_steps, fewer}) {
      EXPECT_EQ(law_same_function(a, b), "");
      EXPECT_EQ(law_compatible(a, b), "");
    }
  }
}

TEST(SameFunction, APartialSumIsNeverACopy) {
  const Fold two = fold(x(0), {mem(1, 2, 1)});
  const Form copies = form({2}, {4}, {two}, {Fill::replicate(0, 4)});
  const Form sums = form({2}, {4}, {two}, {Fill::partial(0, 4, Reduction::kSum)});
  const Form maxima = form({2}, {4}, {two}, {Fill::partial(0, 4, Reduction::kMax)});
  const Form sums_in_steps =
      form({2}, {4}, {two},
           {Fill::partial(0, 2, Reduction::kSum, 2), Fill::partial(0, 2, Reduction::kSum)});
  const Form mixed =
      form({2}, {4}, {two}, {Fill::replicate(0, 2, 2), Fill::partial(0, 2, Reduction::kSum)});
  const std::vector<Form> all = {copies, sums, maxima, sums_in_steps, mixed};
  EXPECT_FALSE(same_function(copies, sums)->equal);
  EXPECT_FALSE(same_function(sums, maxima)->equal);
  EXPECT_TRUE(same_function(sums, sums_in_steps)->equal);
  EXPECT_FALSE(*compatible_without_movement(sums, copies));
  EXPECT_FALSE(*compatible_without_movement(copies, sums));
  EXPECT_TRUE(*compatible_without_movement(sums, sums_in_steps));
  for (const Form& a : all) {
    for (const Form& b : all) {
      EXPECT_EQ(about(a, about(b, law_same_function(a, b))), "");
      EXPECT_EQ(about(a, about(b, law_compatible(a, b))), "");
    }
  }
}

TEST(SameFunction, WhatCannotBeCompared) {
  const Form a = rows_over(3, {3});
  const auto shapes = same_function(a, form({12}, {3}, {fold(x(0), {on(0, 4, 3), mem(1, 4, 1)})}));
  ASSERT_FALSE(shapes.ok());
  EXPECT_EQ(shapes.error().code, ErrorCode::kShapeMismatch);
  const auto meshes = same_function(a, rows_over(3, {3, 1}));
  ASSERT_FALSE(meshes.ok());
  EXPECT_EQ(meshes.error().code, ErrorCode::kMeshMismatch);
  const auto moved = moved_elements(a, rows_over(3, {3, 1}));
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().code, ErrorCode::kMeshMismatch);
}

TEST(SameFunction, EmptyTensorsAgree) {
  const Form a = form({0}, {2}, {fold(x(0), {on(0, 1, 2)})});
  const Form b = form({0}, {2}, {}, {Fill::fixed(0, 1)}, 5);
  EXPECT_TRUE(same_function(a, b)->equal);
  EXPECT_EQ(law_same_function(a, b), "");
}

// A tensor of 2^60 elements is compared without visiting its elements.
TEST(SameFunction, LargeTensorsAreDecidedByTheirCuts) {
  const std::int64_t n = std::int64_t{1} << 30;
  const Form a = form({n, n}, {}, {fold(x(0), {mem(1, n, n)}), fold(x(1), {mem(1, n, 1)})});
  const Form b =
      form({n, n}, {}, {fold({x(0, n), x(1)}, {mem(n / 2, 2 * n, n / 2), mem(1, n / 2, 1)})});
  EXPECT_TRUE(same_function(a, b)->equal);
  EXPECT_EQ(*function_hash(a), *function_hash(b));
  Form c = b;
  c.folds[0].cuts[0].stride = n;
  EXPECT_EQ(same_function(a, c)->first_difference, (Index{0, n / 2}));
}

TEST(Compatible, AReplicatedTensorHoldsEveryShard) {
  const Form everywhere = form({12}, {3}, {fold(x(0), {mem(1, 12, 1)})}, {Fill::replicate(0, 3)});
  const Form shards = form({12}, {3}, {fold(x(0), {on(0, 4, 3), mem(1, 4, 1)})});
  EXPECT_TRUE(*compatible_without_movement(everywhere, shards));
  EXPECT_FALSE(*compatible_without_movement(shards, everywhere));
  EXPECT_EQ(law_compatible(everywhere, shards), "");
  EXPECT_EQ(law_compatible(shards, everywhere), "");
}

// Rows over an axis against columns over it: 4096 x 4096 shifts, which are too many to list. The
// smallest and the largest decide.
TEST(Compatible, ManyShiftsAreDecidedByTheirExtremes) {
  const std::int64_t n = 4096;
  const Form rows = form({n, n}, {n}, {fold(x(0), {on(0, 1, n)}), fold(x(1), {mem(1, n, 1)})});
  const Form columns = form({n, n}, {n}, {fold(x(1), {on(0, 1, n)}), fold(x(0), {mem(1, n, 1)})});
  const Form everywhere =
      form({n, n}, {n}, {fold({x(0, n), x(1)}, {mem(1, n * n, 1)})}, {Fill::replicate(0, n)});
  EXPECT_FALSE(*compatible_without_movement(rows, columns));
  EXPECT_TRUE(*compatible_without_movement(everywhere, columns));
  for (const std::int64_t few : {3, 4}) {
    const Form a = form({few, 4}, {7}, {fold(x(0), {on(0, 1, few)}), fold(x(1), {mem(1, 4, 1)})},
                        {Fill::replicate(0, 2, 3)});
    const Form b = form({few, 4}, {7}, {fold(x(1), {on(0, 1, 4)}), fold(x(0), {mem(1, few, 1)})});
    EXPECT_EQ(law_compatible(a, b), "");
    EXPECT_EQ(law_compatible(b, a), "");
  }
}

TEST(Injective, CollisionsAreNamed) {
  const Form broadcast = form({2, 3}, {}, {fold(x(1), {mem(1, 3, 1)})});
  const Injectivity injectivity = *is_injective(broadcast);
  ASSERT_FALSE(injectivity.injective);
  const std::vector<Form> cases = {
      broadcast,
      form({2, 2}, {}, {fold(x(0), {mem(1, 2, 2)}), fold(x(1), {mem(1, 2, 3)})}),
      form({3, 2}, {}, {fold(x(0), {mem(1, 3, 2)}), fold(x(1), {mem(1, 2, 4)})}),
      form({3, 3}, {}, {fold({x(0, 2), x(1)}, {mem(1, 7, 1)})}),
      form({2}, {3}, {fold(x(0), {on(0, 1, 2)})}, {Fill::replicate(0, 2)}),
      form({2}, {4}, {fold(x(0), {on(0, 1, 2, 2)})}, {Fill::replicate(0, 2)}),
      form({8, 8}, {8, 8},
           {fold(x(0), {on(0, 1, 8)}), fold({x(0), x(1)}, {nowhere(8, 2), on(1, 1, 8)})}),
      form({4}, {}, {}),
      form({1}, {}, {}),
      form({0}, {}, {}),
      form({}, {}, {}),
      tiled_53x63(),
  };
  for (const Form& f : cases) EXPECT_EQ(about(f, law_injective(f)), "");
}

TEST(Injective, LargeAndPlainIsDecidedByStrides) {
  const std::int64_t n = std::int64_t{1} << 30;
  EXPECT_TRUE(
      is_injective(form({n, n}, {}, {fold(x(0), {mem(1, n, n)}), fold(x(1), {mem(1, n, 1)})}))
          ->injective);
  const auto collides =
      is_injective(form({n, n}, {}, {fold(x(0), {mem(1, n, n - 1)}), fold(x(1), {mem(1, n, 1)})}));
  ASSERT_TRUE(collides.ok());
  EXPECT_FALSE(collides->injective);
}

TEST(Hash, DifferentFunctionsRarelyMeet) {
  const Form a = form({12}, {}, {fold(x(0), {mem(1, 12, 1)})});
  const Form b = form({12}, {}, {fold(x(0), {mem(1, 12, 2)})});
  const Form c = form({12}, {}, {fold(x(0), {mem(1, 12, 1)})}, {}, 1);
  EXPECT_NE(*function_hash(a), *function_hash(b));
  EXPECT_NE(*function_hash(a), *function_hash(c));
}

}  // namespace
}  // namespace tessera::test
