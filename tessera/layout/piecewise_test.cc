// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

/// Elements [from, to) of a line, on one place of a 2x2 mesh, from slot 0.
LayoutPiece chunk(std::int64_t from, std::int64_t to, std::int64_t row, std::int64_t col,
                  std::int64_t offset = 0) {
  const std::int64_t n = to - from;
  return {Box{{from}, {to}}, layout(form({n}, {2, 2}, {fold(x(0), {mem(1, n, 1)})},
                                         {Fill::fixed(0, row), Fill::fixed(1, col)}, offset))};
}

// DTensor's 5 elements on 2x2, chunks of chunks: [0,2) [2,3) [3,4) [4,5).
Piecewise dtensor() {
  return *Piecewise::make(
      shape({5}), {chunk(0, 2, 0, 0), chunk(2, 3, 0, 1), chunk(3, 4, 1, 0), chunk(4, 5, 1, 1)});
}

TEST(Piecewise, DTensorChunksOfChunks) {
  const Piecewise pieces = dtensor();
  EXPECT_EQ(pieces.slots(), 2);
  const std::vector<Place> expected = {{0, 0}, {0, 0}, {0, 1}, {1, 0}, {1, 1}};
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(pieces.locate({i})->places[0], expected[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(*pieces.element_at({1, 1}, 0), Slot(Index{4}));
  EXPECT_EQ(law_piecewise(pieces), "");
}

TEST(Piecewise, OutsideIsOutOfRange) {
  const Piecewise pieces = dtensor();
  for (const Index& bad : std::vector<Index>{{5}, {-1}, {}, {0, 0}}) {
    ASSERT_FALSE(pieces.locate(bad).ok());
    EXPECT_EQ(pieces.locate(bad).error().code, ErrorCode::kOutOfRange);
  }
  EXPECT_EQ(pieces.element_at({0, 0}, 2).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(pieces.element_at({0, 2}, 0).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(pieces.element_at({0, 0}, -1).error().code, ErrorCode::kOutOfRange);
}

TEST(Piecewise, WhatCannotBeIsAnError) {
  using Pieces = std::vector<LayoutPiece>;
  const LayoutPiece other_mesh = {Box{{2}, {5}},
                                  layout(form({3}, {}, {fold(x(0), {mem(1, 3, 1)})}))};
  const LayoutPiece other_type = {Box{{2}, {5}},
                                  layout(form({3}, {2, 2}, {fold(x(0), {mem(1, 3, 1)})},
                                              {Fill::fixed(0, 1), Fill::fixed(1, 1)}),
                                         DType::kI8)};
  LayoutPiece wrong_size = chunk(2, 5, 0, 1);
  wrong_size.box.to = {4};
  const std::vector<std::pair<const char*, Pieces>> cases = {
      {"no pieces", {}},
      {"a hole", {chunk(0, 2, 0, 0), chunk(3, 5, 0, 1)}},
      {"short", {chunk(0, 2, 0, 0), chunk(2, 4, 0, 1)}},
      {"an overlap", {chunk(0, 3, 0, 0), chunk(2, 5, 0, 1)}},
      {"overlap and hole", {chunk(0, 2, 0, 0), chunk(0, 2, 1, 0), chunk(4, 5, 0, 1)}},
      {"outside", {chunk(0, 2, 0, 0), chunk(2, 6, 0, 1)}},
      {"a box unlike its layout", {chunk(0, 2, 0, 0), wrong_size}},
      {"another mesh", {chunk(0, 2, 0, 0), other_mesh}},
      {"another type", {chunk(0, 2, 0, 0), other_type}},
      {"a shared slot", {chunk(0, 2, 0, 0), chunk(2, 5, 0, 0)}},
      {"one shared slot", {chunk(0, 2, 0, 0), chunk(2, 5, 0, 0, 1)}},
  };
  for (const auto& [what, pieces] : cases) {
    const Result<Piecewise> made = Piecewise::make(shape({5}), pieces);
    ASSERT_FALSE(made.ok()) << what;
    const ErrorCode code = made.error().code;
    EXPECT_TRUE(code == ErrorCode::kBadPieces || code == ErrorCode::kShapeMismatch ||
                code == ErrorCode::kMeshMismatch || code == ErrorCode::kNotInjective)
        << what << ": " << why(made);
  }
  EXPECT_EQ(Piecewise::make(shape({5}), {chunk(0, 2, 0, 0), chunk(3, 5, 0, 1)}).error().code,
            ErrorCode::kBadPieces);
  EXPECT_TRUE(Piecewise::make(shape({5}), {chunk(0, 2, 0, 0), chunk(2, 5, 0, 0, 2)}).ok());
}

/// [4, 6] cut into four boxes at (row, column), each row-major in its own region.
Piecewise quarters(std::int64_t row, std::int64_t column) {
  std::vector<LayoutPiece> pieces;
  std::int64_t offset = 0;
  for (const auto& [r0, r1] : {std::pair{std::int64_t{0}, row}, std::pair{row, std::int64_t{4}}}) {
    for (const auto& [c0, c1] :
         {std::pair{std::int64_t{0}, column}, std::pair{column, std::int64_t{6}}}) {
      const std::int64_t h = r1 - r0;
      const std::int64_t w = c1 - c0;
      pieces.push_back(
          {Box{{r0, c0}, {r1, c1}},
           layout(form({h, w}, {}, {fold(x(0), {mem(1, h, w)}), fold(x(1), {mem(1, w, 1)})}, {},
                       offset))});
      offset += h * w;
    }
  }
  return *Piecewise::make(shape({4, 6}), std::move(pieces));
}

TEST(Piecewise, TheLaws) {
  for (std::int64_t row = 1; row < 4; ++row) {
    for (std::int64_t column = 1; column < 6; ++column) {
      const Piecewise a = quarters(row, column);
      EXPECT_EQ(law_piecewise(a), "");
      EXPECT_EQ(law_piecewise_same(a, a), "");
      EXPECT_EQ(law_piecewise_same(a, quarters(2, 3)), "");
      EXPECT_EQ(law_piecewise_same(a, quarters(4 - row, 6 - column)), "");
    }
  }
}

// One chain and the same elements in pieces are one function.
TEST(Piecewise, EqualToOneLayout) {
  const Layout whole = *Layout::row_major(shape({4, 6}), DType::kF32);
  const Piecewise one = *Piecewise::make(shape({4, 6}), {{Box{{0, 0}, {4, 6}}, whole}});
  const auto half = [&](std::int64_t offset) {
    return layout(form({2, 6}, {}, {fold({x(0, 6), x(1)}, {mem(1, 12, 1)})}, {}, offset));
  };
  const Piecewise two = *Piecewise::make(
      shape({4, 6}), {{Box{{2, 0}, {4, 6}}, half(12)}, {Box{{0, 0}, {2, 6}}, half(0)}});
  const Piecewise swapped = *Piecewise::make(
      shape({4, 6}), {{Box{{0, 0}, {2, 6}}, half(12)}, {Box{{2, 0}, {4, 6}}, half(0)}});
  EXPECT_TRUE(same_placement(one, two)->equal);
  EXPECT_EQ(same_placement(one, swapped)->first_difference, (Index{0, 0}));
  EXPECT_EQ(law_piecewise_same(one, two), "");
  EXPECT_EQ(law_piecewise_same(two, swapped), "");
  EXPECT_EQ(law_piecewise(two), "");
}

TEST(Piecewise, RankZero) {
  const Piecewise scalar =
      *Piecewise::make(shape({}), {{Box{{}, {}}, layout(form({}, {}, {}, {}, 1))}});
  EXPECT_EQ(scalar.locate({})->slot, 1);
  EXPECT_EQ(law_piecewise(scalar), "");
}

}  // namespace
}  // namespace tessera::test
