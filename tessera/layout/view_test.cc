// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/view.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"
#include "tessera/testing/views.h"

namespace tessera::test {
namespace {

/// Layouts of shape [4, 6] of many kinds.
std::vector<Layout> bases() {
  const std::vector<Form> forms = {
      form({4, 6}, {}, {fold(x(0), {mem(1, 4, 6)}), fold(x(1), {mem(1, 6, 1)})}),
      form({4, 6}, {}, {fold(x(0), {mem(1, 4, 4)}), fold(x(1), {mem(4, 2, 16), mem(1, 4, 1)})}),
      form({4, 6}, {2, 3},
           {fold(x(0), {on(0, 2, 2), mem(1, 2, 2)}), fold(x(1), {on(1, 2, 3), mem(1, 2, 1)})}),
      form({4, 6}, {5}, {fold({x(0, 6), x(1)}, {on(0, 5, 5), mem(1, 5, 1)})}),
      form({4, 6}, {}, {fold({x(0, 8), x(1)}, {mem(5, 7, 5), mem(1, 5, 1)}, 2)}),
      form({4, 6}, {2}, {fold(x(0, -1), {mem(1, 4, 6)}, 3), fold(x(1), {mem(1, 6, 1)})},
           {Fill::replicate(0, 2)}, 3),
      form({4, 6}, {4}, {fold(x(0), {on(0, 1, 4)}), fold({x(0), x(1)}, {mem(1, 9, 1)})}),
  };
  std::vector<Layout> layouts;
  for (const Form& f : forms) layouts.push_back(layout(f));
  return layouts;
}

void expect_view(const Layout& base, const Result<View>& view, const IndexMap& map) {
  ASSERT_TRUE(view.ok()) << why(view) << describe(base.form());
  EXPECT_EQ(about(base.form(), law_view(base, *view, map)), "");
}

TEST(View, TheWholeLayout) {
  for (const Layout& base : bases()) {
    expect_view(base, View::of(base), [](const Index& y) { return y; });
  }
}

TEST(View, Transpose) {
  for (const Layout& base : bases()) {
    expect_view(base, View::of(base).transpose({1, 0}),
                [](const Index& y) { return Index{y[1], y[0]}; });
  }
}

TEST(View, SliceWithAnyStartAndStep) {
  struct Range {
    std::int64_t start, count, step;
  };
  for (const Layout& base : bases()) {
    for (const Range& r : std::vector<Range>{{0, 6, 1},
                                             {2, 3, 1},
                                             {1, 3, 2},
                                             {5, 6, -1},
                                             {4, 2, -3},
                                             {3, 4, 0},
                                             {2, 1, 7},
                                             {0, 0, 1}}) {
      expect_view(base, View::of(base).slice(1, r.start, r.count, r.step),
                  [&](const Index& y) { return Index{y[0], r.start + r.step * y[1]}; });
    }
  }
}

TEST(View, Broadcast) {
  for (const Layout& base : bases()) {
    for (int position = 0; position <= 2; ++position) {
      expect_view(base, View::of(base).broadcast(position, 3), [&](const Index& y) {
        Index m = y;
        m.erase(m.begin() + position);
        return m;
      });
    }
  }
}

TEST(View, Split) {
  for (const Layout& base : bases()) {
    expect_view(base, View::of(base).split(1, {2, 3}),
                [](const Index& y) { return Index{y[0], y[1] * 3 + y[2]}; });
    expect_view(base, View::of(base).split(0, {2, 1, 2}),
                [](const Index& y) { return Index{y[0] * 2 + y[2], y[3]}; });
  }
}

// Dims that are row-major in one line merge; for others the error names the dim.
TEST(View, Merge) {
  const std::vector<Layout> all = bases();
  const IndexMap merged = [](const Index& y) { return Index{y[0] / 6, y[0] % 6}; };
  expect_view(all[0], View::of(all[0]).merge(0, 2), merged);
  expect_view(all[3], View::of(all[3]).merge(0, 2), merged);
  for (const Layout& base : all) {
    const Result<View> view = View::of(base).merge(0, 2);
    if (view.ok()) {
      EXPECT_EQ(about(base.form(), law_view(base, *view, merged)), "");
    } else {
      EXPECT_EQ(view.error().code, ErrorCode::kViewLeavesForm);
      EXPECT_NE(view.error().message.find("dim"), std::string::npos) << view.error().message;
    }
  }
  expect_view(all[1], View::of(all[1]).merge(1, 1), [](const Index& y) { return y; });
}

TEST(View, ReshapeKeepsRowMajorOrder) {
  const std::vector<Layout> all = bases();
  const auto by_order = [](const std::vector<std::int64_t>& extents) {
    return [extents](const Index& y) { return shape({4, 6}).delinear(shape(extents).linear(y)); };
  };
  for (const std::vector<std::int64_t>& extents : std::vector<std::vector<std::int64_t>>{
           {24}, {2, 2, 6}, {4, 2, 3}, {2, 12}, {8, 3}, {1, 4, 1, 6, 1}, {3, 8}}) {
    expect_view(all[0], View::of(all[0]).reshape(extents), by_order(extents));
    for (const Layout& base : all) {
      const Result<View> view = View::of(base).reshape(extents);
      if (!view.ok()) {
        EXPECT_EQ(view.error().code, ErrorCode::kViewLeavesForm);
        continue;
      }
      EXPECT_EQ(about(base.form(), law_view(base, *view, by_order(extents))), "");
    }
  }
  const Layout scalar = layout(form({1, 1}, {}, {}));
  expect_view(scalar, View::of(scalar).reshape({}), [](const Index&) { return Index{0, 0}; });
}

TEST(View, EmptyAndScalarBases) {
  const Layout empty = layout(form({0, 3}, {}, {fold({x(0, 3), x(1)}, {mem(1, 2, 1)})}));
  EXPECT_EQ(View::of(empty).transpose({1, 0})->shape(), shape({3, 0}));
  EXPECT_EQ(View::of(empty).reshape({0})->shape(), shape({0}));
  EXPECT_EQ(View::of(empty).merge(0, 2)->shape(), shape({0}));
  const Layout scalar = layout(form({}, {}, {}, {}, 2));
  expect_view(scalar, View::of(scalar).broadcast(0, 4), [](const Index&) { return Index{}; });
  expect_view(scalar, View::of(scalar).transpose({}), [](const Index& y) { return y; });
}

TEST(View, BadArgumentsAreErrors) {
  const Layout base = bases()[0];
  const View view = View::of(base);
  const std::int64_t big = INT64_MAX;
  const std::vector<Result<View>> bad = {
      view.transpose({0}),
      view.transpose({0, 0}),
      view.transpose({0, 2}),
      view.transpose({-1, 0}),
      view.slice(2, 0, 1),
      view.slice(-1, 0, 1),
      view.slice(0, 4, 1),
      view.slice(0, -1, 2),
      view.slice(0, 0, 5),
      view.slice(0, 0, 3, 2),
      view.slice(0, 2, 2, -3),
      view.slice(0, 0, -1),
      view.slice(0, 0, big, big),
      view.slice(0, big, 2, big),
      view.slice(0, 0, 2, INT64_MIN),
      view.broadcast(3, 2),
      view.broadcast(-1, 2),
      view.broadcast(0, -1),
      view.split(0, {3, 2}),
      view.split(0, {-2, -2}),
      view.split(0, {big, big}),
      view.split(2, {1}),
      view.merge(0, 3),
      view.merge(-1, 2),
      view.merge(1, -1),
      view.reshape({5, 5}),
      view.reshape({-4, -6}),
      view.reshape({big, big, 24}),
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    ASSERT_FALSE(bad[i].ok()) << "case " << i;
    const ErrorCode code = bad[i].error().code;
    EXPECT_TRUE(code == ErrorCode::kBadView || code == ErrorCode::kBadShape ||
                code == ErrorCode::kOverflow)
        << "case " << i << ": " << why(bad[i]);
  }
  EXPECT_FALSE(view.broadcast(0, big).ok());  // 24·(2^63-1) elements
}

TEST(View, ElementsAtAnswersASet) {
  const Layout base = bases()[0];
  const View repeated = *View::of(base).slice(0, 1, 1)->broadcast(1, 3);
  EXPECT_EQ(repeated.shape(), shape({1, 3, 6}));
  EXPECT_EQ(*repeated.elements_at({}, 6), (std::vector<Index>{{0, 0, 0}, {0, 1, 0}, {0, 2, 0}}));
  EXPECT_TRUE(repeated.elements_at({}, 0)->empty());
  const View huge = *View::of(base).broadcast(0, std::int64_t{1} << 40);
  const auto too_many = huge.elements_at({}, 0);
  ASSERT_FALSE(too_many.ok());
  EXPECT_EQ(too_many.error().code, ErrorCode::kTooLarge);
}

TEST(View, TilesOfALayout) {
  const Layout base = bases()[3];
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) {
      expect_view(base, tile_view(base, {3, 4}, {i, j}),
                  [&](const Index& y) { return Index{i * 3 + y[0], j * 4 + y[1]}; });
    }
  }
  EXPECT_EQ(tile_view(base, {3, 4}, {1, 1})->shape(), shape({1, 2}));
  EXPECT_FALSE(tile_view(base, {3, 4}, {2, 0}).ok());
  EXPECT_FALSE(tile_view(base, {0, 4}, {0, 0}).ok());
  EXPECT_FALSE(tile_view(base, {3}, {0}).ok());
}

// Views compose: random chains of operations against the composed index map.
TEST(View, ChainsOfOperations) {
  std::int64_t applied = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const Layout& base : bases()) {
      Dice dice(seed);
      const MappedView mapped = random_view(dice, base, 4);
      applied += mapped.operations;
      ASSERT_EQ(about(base.form(), law_view(base, mapped.view, mapped.map)), "") << seed;
    }
  }
  EXPECT_GT(applied, 3000);
}

}  // namespace
}  // namespace tessera::test
