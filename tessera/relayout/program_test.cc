// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "tessera/relayout/verify.h"
#include "tessera/testing/build.h"
#include "tessera/testing/relayout/relayout_laws.h"

namespace tessera::test {
namespace {

Layout row_major(std::vector<std::int64_t> extents, DType dtype = DType::kF32) {
  return *Layout::row_major(shape(std::move(extents)), dtype);
}

/// Extent, source step and destination step of a loop, in slots.
struct Steps {
  std::int64_t extent, from, to;
  friend bool operator==(const Steps&, const Steps&) = default;
  friend auto operator<=>(const Steps&, const Steps&) = default;
};

/// The loops of a nest without those of one step, in no order.
std::multiset<Steps> steps(const Nest& nest) {
  std::multiset<Steps> all;
  for (const Loop& loop : nest.loops) {
    if (loop.extent != 1) all.insert({loop.extent, loop.move.a.slot, loop.move.b.slot});
  }
  return all;
}

/// Rows and columns in tiles of `tile` x `tile`, tile after tile, padded to whole ones.
Layout tiled(std::int64_t rows, std::int64_t columns, std::int64_t tile,
             PaddingValue padding = PaddingValue::undef()) {
  const std::int64_t down = (rows + tile - 1) / tile;
  const std::int64_t across = (columns + tile - 1) / tile;
  LayoutSpec tiles = spec(form(
      {rows, columns}, {},
      {fold(x(0), {mem(tile, down, across * tile * tile, Cause::kTile),
                   mem(1, tile, tile, Cause::kTile)}),
       fold(x(1), {mem(tile, across, tile * tile, Cause::kTile), mem(1, tile, 1, Cause::kTile)})}));
  tiles.padding = padding;
  return *Layout::make(tiles);
}

relayout::Program program(const Placement& from, const Placement& to,
                          relayout::PaddingRule rule = relayout::PaddingRule::kPromised) {
  const Result<relayout::Program> made = relayout::make_program(from, to, rule);
  EXPECT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(program_mistake(from, to, rule), "");
  return made.ok() ? *made : relayout::Program();
}

ErrorCode refusal(const Placement& from, const Placement& to) {
  const Result<relayout::Program> made = relayout::make_program(from, to);
  EXPECT_FALSE(made.ok());
  if (made.ok()) return ErrorCode::kIo;
  EXPECT_FALSE(made.error().message.empty());
  EXPECT_FALSE(made.error().help.empty());
  return made.error().code;
}

TEST(Program, TransposeIsOneNest) {
  const Layout columns = *Layout::strided(shape({4, 6}), DType::kF32, {1, 4});
  const relayout::Program made = program(row_major({4, 6}), columns);
  ASSERT_EQ(made.nests(), 1);
  EXPECT_EQ(steps(made.nest(0)), (std::multiset<Steps>{{4, 6, 1}, {6, 1, 4}}));
  EXPECT_EQ(made.elements(), 24);
  EXPECT_TRUE(made.fills.empty());
  EXPECT_EQ(made.from, (relayout::Memory{shape({}), 24, Atom::scalar(DType::kF32), 96}));
}

TEST(Program, LargeTensorsNeedFewNests) {
  // 8191 = 255·32 + 31 rows, 8193 = 256·32 + 1 columns: whole tiles and a rest each way.
  const Result<relayout::Program> made =
      relayout::make_program(row_major({8191, 8193}), tiled(8191, 8193, 32));
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made->nests(), 4);
  std::multiset<std::int64_t> sizes;
  for (std::int64_t i = 0; i < 4; ++i) sizes.insert(made->nest(i).elements());
  // 255·32 x 256·32, 255·32 x 1, 31 x 256·32 and 31 x 1.
  EXPECT_EQ(sizes, (std::multiset<std::int64_t>{66846720, 8160, 253952, 31}));
  EXPECT_EQ(made->elements(), 8191 * 8193);
}

TEST(Program, SticksPeelTheRest) {
  // [512, 240] f16 in sticks of 64, as the Spyre stack does it: three whole sticks per row, then
  // 48.
  const Layout sticks =
      layout(form({512, 240}, {},
                  {fold(x(0), {mem(1, 512, 64)}),
                   fold(x(1), {mem(64, 4, 32768, Cause::kStick), mem(1, 64, 1)})}),
             DType::kF16);
  const relayout::Program made = program(row_major({512, 240}, DType::kF16), sticks);
  ASSERT_EQ(made.nests(), 2);
  std::vector<Nest> nests = {made.nest(0), made.nest(1)};
  if (nests[0].elements() < nests[1].elements()) std::swap(nests[0], nests[1]);
  EXPECT_EQ(steps(nests[0]), (std::multiset<Steps>{{3, 64, 32768}, {512, 240, 64}, {64, 1, 1}}));
  EXPECT_EQ(nests[0].at, (PositionPair{}));
  EXPECT_EQ(steps(nests[1]), (std::multiset<Steps>{{512, 240, 64}, {48, 1, 1}}));
  EXPECT_EQ(nests[1].at, (PositionPair{{0, 192}, {0, 98304}}));
}

TEST(Program, ReplicasAreAFactorOfTheirOwn) {
  const Form twice = form({3, 4}, {2, 3}, {fold(x(0), {mem(1, 3, 4)}), fold(x(1), {mem(1, 4, 1)})},
                          {Fill::replicate(0, 2), Fill::replicate(1, 3)});
  const relayout::Program made = program(row_major({3, 4}), layout(twice));
  EXPECT_EQ(made.elements(), 6 * 12);
  EXPECT_EQ(made.to.elements(), 6 * 12);
  EXPECT_EQ(made.to.flat({5, 7}), 5 * 12 + 7);
  // Read back: the first replica is as good as any.
  EXPECT_EQ(program(layout(twice), row_major({3, 4})).elements(), 12);
}

TEST(Program, FillsFollowTheRule) {
  const Layout from = row_major({5, 6});
  const auto filled = [&](PaddingValue value, relayout::PaddingRule rule) {
    const relayout::Program made = program(from, tiled(5, 6, 4, value), rule);
    EXPECT_FALSE(made.fills_cover_data);
    std::int64_t positions = 0;
    for (const relayout::FillNest& fill : made.fills) positions += fill.positions();
    return positions;
  };
  // 2 x 2 tiles of 16 slots hold 30 elements: 34 slots of padding.
  EXPECT_EQ(filled(PaddingValue::undef(), relayout::PaddingRule::kPromised), 0);
  EXPECT_EQ(filled(PaddingValue::undef(), relayout::PaddingRule::kZero), 34);
  EXPECT_EQ(filled(PaddingValue::undef(), relayout::PaddingRule::kLeave), 0);
  EXPECT_EQ(filled(PaddingValue::of(7), relayout::PaddingRule::kPromised), 34);
  EXPECT_EQ(filled(PaddingValue::of(7), relayout::PaddingRule::kZero), 34);
  EXPECT_EQ(filled(PaddingValue::of(7), relayout::PaddingRule::kLeave), 0);
  EXPECT_EQ(
      program(from, tiled(5, 6, 4, PaddingValue::of(7)), relayout::PaddingRule::kZero).padding, 7);
}

TEST(Program, ShardsMoveBetweenPlaces) {
  // Rows distributed to 3 places by 18 and to 2 places by 27: cut at 0, 18, 27, 36.
  const Layout three = layout(
      form({53, 4}, {3}, {fold(x(0), {on(0, 18, 3), mem(1, 18, 4)}), fold(x(1), {mem(1, 4, 1)})}));
  const Layout two = layout(
      form({53, 4}, {2}, {fold(x(0), {on(0, 27, 2), mem(1, 27, 4)}), fold(x(1), {mem(1, 4, 1)})}));
  const relayout::Program made = program(three, two);
  std::vector<std::int64_t> firsts;
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < made.nests(); ++i) {
    firsts.push_back(made.nest(i).origin[0]);
    rows += made.nest(i).elements() / 4;
  }
  std::sort(firsts.begin(), firsts.end());
  EXPECT_EQ(firsts, (std::vector<std::int64_t>{0, 18, 27, 36}));
  EXPECT_EQ(rows, 53);
}

TEST(Program, EmptyTensorsAndScalars) {
  const relayout::Program empty = program(row_major({0, 3}), row_major({0, 3}));
  EXPECT_EQ(empty.elements(), 0);
  EXPECT_EQ(empty.nests(), 0);
  const relayout::Program scalar = program(row_major({}), row_major({}));
  ASSERT_EQ(scalar.nests(), 1);
  EXPECT_EQ(scalar.nest(0).elements(), 1);
  // No element, but one slot: all of it is padding.
  LayoutSpec kept = spec(form({0}, {}, {fold(x(0), {mem(1, 4, 1)})}));
  kept.padding = PaddingValue::of(1);
  const relayout::Program padding = program(row_major({0}), *Layout::make(kept));
  EXPECT_EQ(padding.fills.size(), 1U);
}

TEST(Program, ReadsViewsThatRepeatAndRefusesToWriteThem) {
  const View repeated = *View::of(row_major({3})).broadcast(0, 5);
  const relayout::Program made = program(repeated, row_major({5, 3}));
  EXPECT_EQ(made.elements(), 15);
  EXPECT_EQ(refusal(row_major({5, 3}), repeated), ErrorCode::kNotInjective);
  const View backwards = *View::of(row_major({10})).slice(0, 9, 5, -2);
  EXPECT_EQ(program(backwards, row_major({5})).nests(), 1);
  EXPECT_EQ(program(row_major({5}), backwards).nests(), 1);
}

TEST(Program, MovesBetweenPieces) {
  // [10] cut at 3 and 7 on one side and at 5 on the other: they meet in 4 boxes.
  const auto pieces = [](const std::vector<std::int64_t>& ends) {
    std::vector<LayoutPiece> list;
    std::int64_t from = 0;
    const auto places = static_cast<std::int64_t>(ends.size());
    for (std::int64_t p = 0; p < places; ++p) {
      const std::int64_t to = ends[static_cast<std::size_t>(p)];
      list.push_back({Box{{from}, {to}},
                      layout(form({to - from}, {places}, {fold(x(0), {mem(1, to - from, 1)})},
                                  {Fill::fixed(0, p)}))});
      from = to;
    }
    return *Piecewise::make(shape({10}), list);
  };
  const relayout::Program made = program(pieces({3, 7, 10}), pieces({5, 10}));
  EXPECT_EQ(made.nests(), 4);
  EXPECT_EQ(made.elements(), 10);
  program(pieces({3, 7, 10}), row_major({10}), relayout::PaddingRule::kZero);
  program(row_major({10}), pieces({4, 10}), relayout::PaddingRule::kZero);
}

TEST(Program, PiecesPromiseWhatAllOfThemPromise) {
  // [4] as two pieces of two on places of three slots: the third is padding.
  const auto pieces = [](PaddingValue first, PaddingValue second) {
    std::vector<LayoutPiece> list;
    for (const std::int64_t p : {0, 1}) {
      LayoutSpec part = spec(form({2}, {2}, {fold(x(0), {mem(1, 3, 1)})}, {Fill::fixed(0, p)}));
      part.padding = p == 0 ? first : second;
      list.push_back({Box{{2 * p}, {2 * p + 2}}, *Layout::make(part)});
    }
    return *Piecewise::make(shape({4}), list);
  };
  const PaddingValue one = PaddingValue::of(1);
  const PaddingValue two = PaddingValue::of(2);
  EXPECT_EQ(program(row_major({4}), pieces(one, one)).padding, 1);
  EXPECT_FALSE(program(row_major({4}), pieces(one, one)).fills.empty());
  EXPECT_TRUE(program(row_major({4}), pieces(one, two)).fills.empty());
  EXPECT_TRUE(program(row_major({4}), pieces(one, PaddingValue::undef())).fills.empty());
  EXPECT_EQ(program(row_major({4}), pieces(one, two), relayout::PaddingRule::kZero).padding, 0);
}

TEST(Program, SaysWhatCannotMove) {
  EXPECT_EQ(refusal(row_major({2, 3}), row_major({3, 2})), ErrorCode::kShapeMismatch);
  EXPECT_EQ(refusal(row_major({6}), row_major({3, 2})), ErrorCode::kShapeMismatch);
  const Layout shares =
      layout(form({4}, {2}, {fold(x(0), {mem(1, 4, 1)})}, {Fill::partial(0, 2, Reduction::kSum)}));
  EXPECT_EQ(refusal(shares, row_major({4})), ErrorCode::kNotSupported);
  EXPECT_EQ(refusal(row_major({4}), shares), ErrorCode::kNotSupported);
  // Widths 1048573 and 1048571 are primes: a period of their product has over 2^18 segments.
  const auto cut_by = [](std::int64_t width) {
    const std::int64_t n = std::int64_t{1} << 40;
    return layout(form({n}, {(n + width - 1) / width},
                       {fold(x(0), {on(0, width, (n + width - 1) / width), mem(1, width, 1)})}));
  };
  EXPECT_EQ(refusal(cut_by(1048573), cut_by(1048571)), ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace tessera::test
