// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/layered_drawing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tessera/testing/generate.h"

namespace tessera::tools {
namespace {

constexpr double kClose = 1e-6;  // of positions that are sums of some thousand pixels

bool is_within(const DrawnBox& box, double x, double top, double bottom) {
  return x > box.x + kClose && x < box.x + box.width - kClose && bottom > box.y + kClose &&
         top < box.y + box.height - kClose;
}

/// The laws of the header, for one drawing.
void expect_drawn(const std::vector<DrawnBox>& sizes, const std::vector<DrawnLine>& lines) {
  const LayeredDrawing drawing = layered_drawing(sizes, lines);
  ASSERT_EQ(drawing.boxes.size(), sizes.size());
  ASSERT_EQ(drawing.lines.size(), lines.size());
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    const DrawnBox& box = drawing.boxes[a];
    EXPECT_EQ(box.width, sizes[a].width);
    EXPECT_EQ(box.height, sizes[a].height);
    EXPECT_GE(box.x, -kClose);
    EXPECT_LE(box.x + box.width, drawing.width + kClose);
    EXPECT_LE(box.y + box.height, drawing.height + kClose);
    for (std::size_t b = 0; b < a; ++b) {
      const DrawnBox& other = drawing.boxes[b];
      const bool apart =
          box.x >= other.x + other.width - kClose || other.x >= box.x + box.width - kClose ||
          box.y >= other.y + other.height - kClose || other.y >= box.y + box.height - kClose;
      EXPECT_TRUE(apart) << a << " and " << b;
    }
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const DrawnLine& line = drawing.lines[i];
    EXPECT_EQ(line.from, lines[i].from);
    EXPECT_EQ(line.to, lines[i].to);
    const DrawnBox& from = drawing.boxes[line.from];
    const DrawnBox& to = drawing.boxes[line.to];
    ASSERT_GE(line.points.size(), 2U);
    EXPECT_NEAR(line.points.front().y, from.y + from.height, kClose);
    EXPECT_NEAR(line.points.front().x, from.x + from.width / 2, kClose);
    EXPECT_NEAR(line.points.back().y, to.y, kClose);
    EXPECT_GT(line.points.back().x, to.x);
    EXPECT_LT(line.points.back().x, to.x + to.width);
    for (std::size_t p = 1; p < line.points.size(); ++p) {
      const DrawnPoint& start = line.points[p - 1];
      const DrawnPoint& end = line.points[p];
      EXPECT_GE(end.y, start.y - kClose);
      // A curve stays between the heights of its ends and between their columns.
      for (std::size_t b = 0; b < drawing.boxes.size(); ++b) {
        for (int part = 0; part <= 8; ++part) {
          const double x = start.x + (end.x - start.x) * part / 8;
          EXPECT_FALSE(is_within(drawing.boxes[b], x, start.y, end.y))
              << "line " << line.from << " to " << line.to << " enters box " << b;
        }
      }
    }
  }
  // Again, from the same input.
  const LayeredDrawing again = layered_drawing(sizes, lines);
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    EXPECT_EQ(again.boxes[b].x, drawing.boxes[b].x);
    EXPECT_EQ(again.boxes[b].y, drawing.boxes[b].y);
  }
}

TEST(LayeredDrawing, KeepsItsLawsOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    test::Dice dice(seed);
    std::vector<DrawnBox> boxes;
    std::vector<DrawnLine> lines;
    std::set<std::pair<std::size_t, std::size_t>> seen;
    for (std::int64_t n = dice.between(0, 30); n > 0; --n) {
      boxes.push_back(
          {static_cast<double>(dice.between(20, 200)), static_cast<double>(dice.between(10, 80))});
      const std::size_t to = boxes.size() - 1;
      for (std::int64_t k = to == 0 ? 0 : dice.between(0, 3); k > 0; --k) {
        const auto from = static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(to)));
        if (seen.insert({from, to}).second) lines.push_back({from, to});
      }
    }
    expect_drawn(boxes, lines);
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

/// Lines of a picture that can be drawn without crossings do not cross: two chains whose boxes are
/// given in alternating order.
TEST(LayeredDrawing, LeavesOutNeedlessCrossings) {
  std::vector<DrawnBox> boxes(8, {50, 20});
  // Layer 0 has 0, 1; layer 1 has 3, 2 in the wrong order for 0 -> 3 and 1 -> 2; and so on.
  const std::vector<DrawnLine> lines = {{0, 3}, {1, 2}, {3, 5}, {2, 4}, {5, 7}, {4, 6}};
  const LayeredDrawing drawing = layered_drawing(boxes, lines);
  const auto order = [&](std::size_t a, std::size_t b) {
    return drawing.boxes[a].x < drawing.boxes[b].x;
  };
  EXPECT_EQ(order(0, 1), order(3, 2));
  EXPECT_EQ(order(3, 2), order(5, 4));
  EXPECT_EQ(order(5, 4), order(7, 6));
}

/// The deepest and the widest drawing of 500 boxes, and one box that all others read.
TEST(LayeredDrawing, DrawsExtremes) {
  const std::vector<DrawnBox> boxes(500, {60, 30});
  std::vector<DrawnLine> chain;
  std::vector<DrawnLine> fan;
  std::vector<DrawnLine> both;
  for (std::size_t b = 1; b < boxes.size(); ++b) {
    chain.push_back({b - 1, b});
    fan.push_back({0, b});
    both.push_back({b - 1, b});
    if (b > 1) both.push_back({0, b});
  }
  const LayeredDrawing deep = layered_drawing(boxes, chain);
  EXPECT_NEAR(deep.width, 60, kClose);
  EXPECT_GE(deep.height, 500 * 30.0);
  const LayeredDrawing wide = layered_drawing(boxes, fan);
  EXPECT_GE(wide.width, 499 * 60.0);
  const LayeredDrawing tied = layered_drawing(boxes, both);
  EXPECT_EQ(tied.lines.size(), both.size());
  // A straight line needs few points, however many layers it crosses.
  for (const DrawnLine& line : tied.lines) EXPECT_LE(line.points.size(), 1000U);
  EXPECT_TRUE(layered_drawing({}, {}).boxes.empty());
}

}  // namespace
}  // namespace tessera::tools
