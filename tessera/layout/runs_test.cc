// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/runs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tessera/layout/view.h"
#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

const Atom kF32 = Atom::scalar(DType::kF32);

TEST(Runs, RowMajorIsOneRun) {
  const Form f = Layout::row_major(shape({4, 6}), DType::kF32)->form();
  EXPECT_EQ(*contiguous_run(f), 24);
  EXPECT_TRUE(*is_contiguous(f));
  EXPECT_EQ(*contiguous_run(f, {1, 0}), 1);
  EXPECT_EQ(*strides_of(f), (std::vector<std::int64_t>{6, 1}));
  EXPECT_EQ(*vector_width(f, kF32, 64), 8);  // 24 elements are 3 groups of 8
  EXPECT_EQ(*vector_width(f, kF32, 16), 4);
}

// Rows by (18, 32, 1) in 32 slots per core break at 18 and 36: the run is 18, and the last run, of
// 17, allows no vector.
TEST(Runs, TheChain18_32_1) {
  const Form f = form({53}, {3}, {fold(x(0), {on(0, 18, 3), mem(32, 1, 32), mem(1, 32, 1)})});
  EXPECT_EQ(*contiguous_run(f), 18);
  EXPECT_FALSE(*is_contiguous(f));
  EXPECT_EQ(*vector_width(f, kF32, 64), 1);
  EXPECT_EQ(law_runs(f), "");
  const Form even = form({54}, {3}, {fold(x(0), {on(0, 18, 3), mem(32, 1, 32), mem(1, 32, 1)})});
  EXPECT_EQ(*vector_width(even, kF32, 64), 2);
}

// A tile of 3 in a pack of 4 is not contiguous as a whole.
TEST(Runs, ATileOf3InAPackOf4) {
  const Layout packed = layout(
      form({2, 8}, {}, {fold(x(0), {mem(1, 2, 4)}), fold(x(1), {mem(4, 2, 8), mem(1, 4, 1)})}));
  const View tile = *tile_view(packed, {2, 3}, {0, 0});
  EXPECT_EQ(*contiguous_run(tile), 3);
  EXPECT_FALSE(*is_contiguous(tile));
  const View straddling = *tile_view(packed, {1, 3}, {0, 1});  // columns 3, 4, 5: breaks after 1
  EXPECT_EQ(*contiguous_run(straddling), 1);
}

TEST(Runs, StridesOfStridedLayouts) {
  EXPECT_EQ(*strides_of(Layout::strided(shape({4, 1, 6}), DType::kF32, {1, 99, 5})->form()),
            (std::vector<std::int64_t>{1, 0, 5}));
  const Form flipped = form({5}, {}, {fold(x(0, -2), {mem(1, 9, 3)}, 8)});
  EXPECT_TRUE(*is_strided(flipped));
  EXPECT_EQ(*strides_of(flipped), (std::vector<std::int64_t>{-6}));
  const auto tiled = strides_of(tiled_53x63());
  ASSERT_FALSE(tiled.ok());
  EXPECT_EQ(tiled.error().code, ErrorCode::kNotSupported);
  // One place per row: slots have strides, but places differ.
  EXPECT_FALSE(*is_strided(form({4}, {4}, {fold(x(0), {on(0, 1, 4)})})));
}

TEST(Runs, VectorsNeedAlignedGroups) {
  const Form shifted = form({16}, {}, {fold(x(0), {mem(1, 16, 1)})}, {}, 2);
  EXPECT_EQ(*contiguous_run(shifted), 16);
  EXPECT_EQ(*vector_width(shifted, kF32, 64), 2);
  EXPECT_EQ(*vector_width(shifted, Atom::tile(32, 32, DType::kBfpBf8), 64), 1);
  EXPECT_EQ(*vector_width(form({16}, {}, {fold(x(0), {mem(1, 16, 1)})}), kF32, 2), 1);
}

TEST(Runs, EdgesHaveDefinedAnswers) {
  EXPECT_EQ(*contiguous_run(form({}, {}, {})), 1);
  EXPECT_EQ(*contiguous_run(form({0, 3}, {}, {fold({x(0, 3), x(1)}, {mem(1, 0, 1)})})), 0);
  EXPECT_TRUE(*is_contiguous(form({0}, {}, {fold(x(0), {mem(1, 0, 1)})})));
  EXPECT_EQ(*contiguous_run(form({1, 1}, {}, {})), 1);
  EXPECT_FALSE(contiguous_run(tiled_53x63(), {0}).ok());
  EXPECT_FALSE(contiguous_run(tiled_53x63(), {0, 0}).ok());
  EXPECT_FALSE(contiguous_run(tiled_53x63(), {0, 2}).ok());
}

TEST(Runs, LargeTensorsAreNotWalked) {
  const std::int64_t n = std::int64_t{1} << 30;
  const Form f = form({n, n}, {}, {fold({x(0, n), x(1)}, {mem(1, n * n, 1)})});
  EXPECT_EQ(*contiguous_run(f), n * n);
  const Form blocked = form(
      {n, n}, {n / 2}, {fold(x(0), {on(0, 2, n / 2), mem(1, 2, n)}), fold(x(1), {mem(1, n, 1)})});
  EXPECT_EQ(*contiguous_run(blocked), 2 * n);
}

TEST(Runs, TheLaws) {
  const std::vector<Form> cases = {
      tiled_53x63(),
      form({6, 8}, {}, {fold(x(0), {mem(1, 6, 4)}), fold(x(1), {mem(4, 2, 24), mem(1, 4, 1)})}),
      form({4, 6, 2}, {}, {fold({x(0, 12), x(1, 2), x(2)}, {mem(5, 10, 5), mem(1, 5, 1)})}),
      form({4, 6}, {}, {fold(x(1), {mem(1, 6, 1)})}),
      form({9}, {}, {fold(x(0), {mem(3, 3, 5), mem(1, 3, 1)})}),
      form({12}, {}, {fold(x(0), {mem(5, 3, 6), mem(1, 5, 1)}, 3)}),
      form({3, 5}, {}, {fold({x(0, 7), x(1)}, {mem(7, 3, 5), mem(1, 7, 1)})}),
  };
  for (const Form& f : cases) EXPECT_EQ(about(f, law_runs(f)), "");
}

}  // namespace
}  // namespace tessera::test
