// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/layout/form.h"
#include "tessera/testing/build.h"
#include "tessera/testing/naive.h"

namespace tessera::test {
namespace {

using Numbers = std::vector<std::int64_t>;

// 53 rows by (18, 32, 1): 3 pieces of 18 (18 + 18 + 17), each less than one tile of 32, and 18
// rows.
TEST(Fold, NeededCountsOfTheChain18_32_1) {
  const Fold rows = fold(x(0), {on(0, 18, 3), mem(32, 1, 1024), mem(1, 32, 32)});
  EXPECT_EQ(rows.extent(shape({53})), 53);
  EXPECT_EQ(rows.first(shape({53})), 0);
  EXPECT_EQ(rows.needed(shape({53})), (Numbers{3, 1, 18}));
  EXPECT_TRUE(rows.check(shape({53}), 1).ok());
}

TEST(Fold, ExtentOfCollapsedFlippedAndGappedLines) {
  EXPECT_EQ(fold({x(0, 6), x(1)}, {mem(1, 24, 1)}).extent(shape({4, 6})), 24);
  EXPECT_EQ(fold({x(0, 8), x(1)}, {mem(1, 30, 1)}).extent(shape({4, 6})), 30);  // 8·3 + 5 + 1
  const Fold flipped = fold({x(0, -1)}, {mem(1, 9, 1)}, 8);
  EXPECT_EQ(flipped.extent(shape({7})), 9);
  EXPECT_EQ(flipped.first(shape({7})), 2);
  EXPECT_EQ(fold(std::vector<Term>{}, {mem(1, 4, 1)}, 3).extent(shape({5})), 4);  // the point 3
}

TEST(Fold, AnEmptyDimNeedsNothing) {
  const Fold empty = fold({x(0), x(1)}, {mem(4, 2, 4), mem(1, 4, 1)}, 3);
  EXPECT_EQ(empty.extent(shape({0, 5})), 0);
  EXPECT_EQ(empty.needed(shape({0, 5})), (Numbers{0, 0}));
  EXPECT_TRUE(empty.check(shape({0, 5}), 0).ok());
}

TEST(Fold, WidthsMayGrow) {
  const Fold growing = fold(x(0), {mem(3, 4, 9), mem(5, 1, 1), mem(2, 2, 4), mem(1, 2, 1)});
  EXPECT_EQ(growing.needed(shape({10})), (Numbers{4, 1, 2, 2}));
  EXPECT_TRUE(growing.check(shape({10}), 0).ok());
}

// Law: needed = the naive count, for every chain of up to three widths up to 7 over lines up to 9.
TEST(Fold, NeededAgreesWithCounting) {
  for (std::int64_t extent = 0; extent <= 9; ++extent) {
    for (std::int64_t u = 1; u <= 7; ++u) {
      for (std::int64_t v = 1; v <= 7; ++v) {
        const Fold f = fold(x(0), {mem(u, 99, 1), mem(v, 99, 1), mem(1, 99, 1)});
        EXPECT_EQ(f.needed(shape({extent})), naive_needed(f, shape({extent})));
        EXPECT_EQ(f.extent(shape({extent})), naive_extent(f, shape({extent})));
      }
    }
  }
}

struct BadFold {
  const char* what;
  Fold fold;
  ErrorCode code;
  const char* number;  // which the message must contain
};

TEST(Fold, WhatCannotBeIsAnError) {
  const Shape two = shape({4, 6});
  const std::vector<Cut> ten = {mem(1, 100, 1)};
  const std::int64_t big = INT64_MAX;
  const std::vector<BadFold> cases = {
      {"missing dim", fold(x(2), ten), ErrorCode::kBadFold, "2"},
      {"negative dim", fold(x(-1), ten), ErrorCode::kBadFold, "-1"},
      {"dim named twice", fold({x(0), x(0, 4)}, ten), ErrorCode::kBadFold, "0"},
      {"coefficient zero", fold(x(0, 0), ten), ErrorCode::kBadFold, "0"},
      {"below zero by its start", fold(x(0), ten, -1), ErrorCode::kBadFold, "-1"},
      {"below zero by a flip", fold(x(0, -1), ten, 2), ErrorCode::kBadFold, "-1"},
      {"no cuts", fold(x(0), {}), ErrorCode::kBadCut, ""},
      {"chain ends in 2", fold(x(0), {mem(2, 9, 1)}), ErrorCode::kBadCut, "2"},
      {"width zero", fold(x(0), {mem(0, 9, 1), mem(1, 9, 1)}), ErrorCode::kBadCut, "0"},
      {"width negative", fold(x(0), {mem(-3, 9, 1), mem(1, 9, 1)}), ErrorCode::kBadCut, "-3"},
      {"stride negative", fold(x(0), {mem(1, 9, -2)}), ErrorCode::kBadCut, "-2"},
      {"stride zero", fold(x(0), {mem(1, 9, 0)}), ErrorCode::kBadCut, "0"},
      {"count negative", fold(x(0), {mem(1, -4, 1)}), ErrorCode::kBadCut, "-4"},
      {"mesh axis missing", fold(x(0), {on(1, 1, 4)}), ErrorCode::kBadCut, "1"},
      {"count too small", fold(x(1), {mem(4, 1, 4), mem(1, 4, 1)}), ErrorCode::kCountTooSmall, "2"},
      {"inner count too small", fold(x(1), {mem(4, 2, 4), mem(1, 3, 1)}), ErrorCode::kCountTooSmall,
       "4"},
      {"line overflows", fold(x(0, big / 2), ten), ErrorCode::kOverflow, ""},
      {"line length overflows", fold(x(0), ten, big - 3), ErrorCode::kOverflow, ""},
      {"line underflows", fold(x(0, -(big / 2)), ten), ErrorCode::kOverflow, ""},
      {"most negative coefficient", fold(x(0, INT64_MIN), ten, big), ErrorCode::kBadFold, ""},
      {"too many cuts", fold(x(0), std::vector<Cut>(kMaxRank + 1, mem(1, 9, 1))),
       ErrorCode::kRankTooLarge, "65"},
  };
  for (const BadFold& bad : cases) {
    const Status status = bad.fold.check(two, 1);
    ASSERT_FALSE(status.ok()) << bad.what;
    EXPECT_EQ(status.error().code, bad.code) << bad.what << ": " << status.error().message;
    EXPECT_NE(status.error().message.find(bad.number), std::string::npos)
        << bad.what << ": " << status.error().message;
  }
}

TEST(Fold, EdgesOfWhatCanBe) {
  const std::int64_t big = INT64_MAX;
  EXPECT_TRUE(fold(x(0), {mem(1, big, 1)}).check(shape({big}), 0).ok());
  EXPECT_TRUE(fold(x(0), {mem(big, 1, 1), mem(1, big, 1)}).check(shape({big}), 0).ok());
  EXPECT_TRUE(fold(x(0, -1), {mem(1, big, 1)}, big - 1).check(shape({big}), 0).ok());
  EXPECT_TRUE(fold(x(0), std::vector<Cut>(kMaxRank, mem(1, 9, 1))).check(shape({4}), 0).ok());
  EXPECT_TRUE(fold(std::vector<Term>{}, {mem(1, 1, 1)}).check(shape({}), 0).ok());
  // The stride of an unplaced digit has no effect.
  Cut loose = nowhere(1, 4);
  loose.stride = -7;
  EXPECT_TRUE(fold(x(0), {loose}).check(shape({4}), 0).ok());
}

TEST(Cause, NamesAndDefaults) {
  EXPECT_EQ(cause_name(Cause::kSynthetic), "synthetic");
  EXPECT_EQ(cause_name(Cause::kGap), "gap");
  EXPECT_EQ(cause_name(Cause::kAlignment), "alignment");
  EXPECT_EQ(cause_name(Cause::kStick), "stick");
  EXPECT_EQ(cause_name(Cause::kTile), "tile");
  EXPECT_EQ(cause_name(Cause::kGrid), "grid");
  EXPECT_EQ(default_cause(false, Target::memory()), Cause::kSynthetic);
  EXPECT_EQ(default_cause(false, Target::mesh(0)), Cause::kSynthetic);
  EXPECT_EQ(default_cause(true, Target::mesh(1)), Cause::kGrid);
  EXPECT_EQ(default_cause(true, Target::memory()), Cause::kAlignment);
  EXPECT_EQ(default_cause(true, Target::nothing()), Cause::kAlignment);
}

}  // namespace
}  // namespace tessera::test
