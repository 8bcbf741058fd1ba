// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/shape.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tessera {
namespace {

Shape shape(std::vector<std::int64_t> extents) { return *Shape::make(std::move(extents)); }

TEST(Shape, RankZeroHasOneElement) {
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(shape({}).elements(), 1);
  EXPECT_EQ(shape({}), Shape());
  EXPECT_EQ(shape({}).to_string(), "");
  EXPECT_TRUE(shape({}).contains({}));
  EXPECT_EQ(shape({}).linear({}), 0);
  EXPECT_EQ(shape({}).delinear(0), Index{});
  Index index;
  EXPECT_FALSE(shape({}).next(index));
}

TEST(Shape, ExtentsAndStrides) {
  const Shape s = shape({2, 3, 4});
  EXPECT_EQ(s.rank(), 3u);
  EXPECT_EQ(s.elements(), 24);
  EXPECT_EQ(s[1], 3);
  EXPECT_EQ(s.row_major_strides(), (std::vector<std::int64_t>{12, 4, 1}));
  EXPECT_EQ(s.to_string(), "2x3x4");
  EXPECT_EQ(s.linear({1, 2, 3}), 23);
  EXPECT_FALSE(s.empty());
}

TEST(Shape, AnEmptyShapeHasNoElementAndNoIndex) {
  const Shape s = shape({3, 0, 2});
  EXPECT_TRUE(s.empty());
  EXPECT_EQ(s.elements(), 0);
  EXPECT_FALSE(s.contains({0, 0, 0}));
  EXPECT_EQ(s.row_major_strides().size(), 3u);
}

TEST(Shape, NegativeExtentsAreRefused) {
  const auto bad = Shape::make({3, -2});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::kBadShape);
  EXPECT_NE(bad.error().message.find("-2"), std::string::npos);
}

TEST(Shape, MoreElementsThanInt64AreRefused) {
  const std::int64_t big = std::int64_t{1} << 32;
  EXPECT_TRUE(Shape::make({big, big / 4}).ok());
  const auto bad = Shape::make({big, big / 2});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::kOverflow);
  EXPECT_TRUE(Shape::make({INT64_MAX}).ok());
}

TEST(Shape, RanksAboveTheLimitAreRefused) {
  EXPECT_TRUE(Shape::make(std::vector<std::int64_t>(kMaxRank, 1)).ok());
  const auto bad = Shape::make(std::vector<std::int64_t>(kMaxRank + 1, 1));
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::kRankTooLarge);
}

TEST(Shape, ContainsChecksRankAndRange) {
  const Shape s = shape({2, 3});
  EXPECT_TRUE(s.contains({1, 2}));
  EXPECT_FALSE(s.contains({2, 0}));
  EXPECT_FALSE(s.contains({0, -1}));
  EXPECT_FALSE(s.contains({0}));
  EXPECT_FALSE(s.contains({0, 0, 0}));
}

// Law: `next` visits 0 .. elements-1 in order, and linear and delinear are inverse.
TEST(Shape, NextWalksInRowMajorOrder) {
  const std::vector<std::vector<std::int64_t>> cases = {{1}, {5}, {2, 3}, {3, 1, 2}, {2, 2, 2, 2}};
  for (const auto& extents : cases) {
    const Shape s = shape(extents);
    Index index(s.rank(), 0);
    std::int64_t count = 0;
    do {
      EXPECT_EQ(s.linear(index), count);
      EXPECT_EQ(s.delinear(count), index);
      std::int64_t by_strides = 0;
      for (std::size_t d = 0; d < s.rank(); ++d) by_strides += index[d] * s.row_major_strides()[d];
      EXPECT_EQ(by_strides, count);
      ++count;
    } while (s.next(index));
    EXPECT_EQ(count, s.elements());
    EXPECT_EQ(index, Index(s.rank(), 0));
  }
}

}  // namespace
}  // namespace tessera
