// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tessera/testing/build.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/relayout_laws.h"
#include "tessera/testing/relayout_pairs.h"
#include "tessera/testing/sanitized.h"

namespace tessera::test {
namespace {

Layout row_major(std::vector<std::int64_t> extents) {
  return *Layout::row_major(shape(std::move(extents)), DType::kF32);
}

/// [2, 3] column by column: element (r, c) in slot 2c + r.
Layout column_major() { return *Layout::strided(shape({2, 3}), DType::kF32, {1, 2}); }

/// The right program for row-major [2, 3] to column_major(), written down by hand.
Program transpose() {
  const Factor rows{{0}, {{{0}, {}, {{0, 2, 1, {{0, 3}, {0, 1}}}}}}};
  const Factor columns{{1}, {{{0}, {}, {{1, 3, 1, {{0, 1}, {0, 2}}}}}}};
  Program program;
  program.from = {shape({}), 6, Atom::scalar(DType::kF32), 24};
  program.to = program.from;
  program.copies = {Refinement(shape({2, 3}), shape({}), shape({}), {}, {rows, columns})};
  return program;
}

std::vector<Finding> findings(const Program& program, const Placement& from, const Placement& to,
                              PaddingRule rule = PaddingRule::kPromised) {
  const Result<std::vector<Finding>> found = verify(program, from, to, rule);
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
  return found.ok() ? *found : std::vector<Finding>();
}

std::vector<Flaw> flaws(const std::vector<Finding>& findings) {
  std::vector<Flaw> list;
  for (const Finding& finding : findings) list.push_back(finding.flaw);
  return list;
}

bool has(const std::vector<Finding>& findings, Flaw flaw) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.flaw == flaw; });
}

/// The program with other factors in its copy number `copy`.
Program with_factors(Program program, std::size_t copy, std::vector<Factor> factors, Spots base) {
  const Refinement& old = program.copies[copy];
  program.copies[copy] =
      Refinement(old.shape(), old.mesh_a(), old.mesh_b(), base, std::move(factors));
  return program;
}

TEST(Verify, FindsNothingWrongWithARightProgram) {
  EXPECT_TRUE(findings(transpose(), row_major({2, 3}), column_major()).empty());
}

TEST(Verify, TellsAWrongSourceByItsNumbers) {
  // The identity instead of the transpose: (0, 1) goes to slot 2 but is read from slot 2.
  Program program = transpose();
  std::vector<Factor> factors = program.copies[0].factors();
  factors[0].pieces[0].loops[0].move.a.slot = 1;
  factors[1].pieces[0].loops[0].move.a.slot = 2;
  program = with_factors(program, 0, factors, {});
  const std::vector<Finding> found = findings(program, row_major({2, 3}), column_major());
  ASSERT_EQ(flaws(found), std::vector{Flaw::kWrongSource});
  EXPECT_EQ(found[0].spot, 2);
  EXPECT_EQ(found[0].message,
            "element [0, 1] is read from slot 2 of place [], but the source keeps it in slot 1 of "
            "place []");
}

TEST(Verify, TellsWhatIsWrittenTwiceAndWhatIsNot) {
  // Columns 0, 0, 2: slots 0 and 1 twice, slots 2 and 3 never; column 0 gets column 1's values.
  Program program = transpose();
  std::vector<Factor> factors = program.copies[0].factors();
  factors[1].pieces = {{{0}, {}, {{1, 2, 1, {{0, 1}, {0, 0}}}}},
                       {{2}, {{0, 2}, {0, 4}}, {{1, 1, 1, {}}}}};
  program = with_factors(program, 0, factors, {});
  const std::vector<Finding> found = findings(program, row_major({2, 3}), column_major());
  ASSERT_EQ(flaws(found),
            (std::vector{Flaw::kNotWritten, Flaw::kWrittenTwice, Flaw::kWrongSource}));
  EXPECT_EQ(found[0].spot, 2);
  EXPECT_EQ(found[1].spot, 0);
}

TEST(Verify, TellsWhatIsOutside) {
  Program program = transpose();
  program = with_factors(program, 0, program.copies[0].factors(), {{0, 0}, {0, 1}});
  const std::vector<Finding> found = findings(program, row_major({2, 3}), column_major());
  ASSERT_TRUE(has(found, Flaw::kOutside));
  EXPECT_EQ(found[0].spot, 6);
  EXPECT_EQ(found[0].message,
            "a copy writes slot 6 of place number 0, but there are 1 places of 6 slots");
  program = with_factors(program, 0, program.copies[0].factors(), {{1, 0}, {0, 0}});
  EXPECT_EQ(flaws(findings(program, row_major({2, 3}), column_major())),
            std::vector{Flaw::kOutside});
}

TEST(Verify, TellsAProgramForOtherMemory) {
  Program program = transpose();
  program.to.slots = 8;
  program.to.bytes = 32;
  EXPECT_EQ(flaws(findings(program, row_major({2, 3}), column_major())),
            std::vector{Flaw::kOutside});
}

/// Rows of 3 in rows of 4: slots 3 and 7 are padding that holds 5.
Layout padded(PaddingValue padding) {
  LayoutSpec wide =
      spec(form({2, 3}, {}, {fold(x(0), {mem(1, 2, 4)}), fold(x(1), {mem(1, 4, 1)})}));
  wide.padding = padding;
  return *Layout::make(wide);
}

Program into_padded() {
  Program program = transpose();
  std::vector<Factor> factors = program.copies[0].factors();
  factors[0].pieces[0].loops[0].move.b.slot = 4;
  factors[1].pieces[0].loops[0].move.b.slot = 1;
  program = with_factors(program, 0, factors, {});
  program.to.slots = 8;
  program.to.bytes = 32;
  return program;
}

TEST(Verify, LooksAtFills) {
  const Layout from = row_major({2, 3});
  const Layout to = padded(PaddingValue::of(5));
  Program program = into_padded();
  const std::vector<Finding> missing = findings(program, from, to);
  ASSERT_EQ(flaws(missing), std::vector{Flaw::kNotFilled});
  EXPECT_EQ(missing[0].spot, 3);
  EXPECT_TRUE(findings(program, from, to, PaddingRule::kLeave).empty());

  program.padding = 5;
  program.fills = {{{0, 3}, {{2, {0, 4}}}}};
  EXPECT_TRUE(findings(program, from, to).empty());
  EXPECT_TRUE(findings(program, from, to, PaddingRule::kZero).empty()) << "5 is promised";
  const std::vector<Finding> unwanted = findings(program, from, to, PaddingRule::kLeave);
  ASSERT_EQ(flaws(unwanted), std::vector{Flaw::kFilled});
  EXPECT_EQ(unwanted[0].message,
            "a fill writes slot 3 of place [], padding that is to be left alone");

  program.padding = 0;
  EXPECT_EQ(flaws(findings(program, from, to)), std::vector{Flaw::kNotFilled}) << "another value";
  EXPECT_TRUE(findings(program, from, padded(PaddingValue::undef()), PaddingRule::kZero).empty());
  EXPECT_EQ(flaws(findings(program, from, padded(PaddingValue::undef()))),
            std::vector{Flaw::kFilled});
}

TEST(Verify, FillsMayCoverDataOnlyWhereTheProgramSaysSo) {
  const Layout from = row_major({2, 3});
  const Layout to = padded(PaddingValue::of(0));
  Program program = into_padded();
  program.fills = {{{}, {{8, {0, 1}}}}};
  const std::vector<Finding> found = findings(program, from, to);
  ASSERT_EQ(flaws(found), std::vector{Flaw::kFilled});
  EXPECT_EQ(found[0].message, "a fill writes slot 0 of place [], which is for element [0, 0]");
  program.fills_all = true;
  EXPECT_TRUE(findings(program, from, to).empty());
  program.fills[0].loops[0].extent = 9;
  EXPECT_EQ(flaws(findings(program, from, to)), std::vector{Flaw::kOutside});
}

TEST(Verify, CopiesMayNotWritePadding) {
  Program program = into_padded();
  std::vector<Factor> factors = program.copies[0].factors();
  factors[1].pieces[0].loops[0].extent = 4;
  program = with_factors(program, 0, factors, {});
  const std::vector<Finding> found =
      findings(program, row_major({2, 3}), padded(PaddingValue::undef()));
  EXPECT_TRUE(has(found, Flaw::kWrongSpot));
}

TEST(Verify, EndsHoweverLongAProgramIs) {
  for (const std::int64_t extent : {std::int64_t{1} << 40, INT64_MAX}) {
    for (const std::int64_t step : {0, 1}) {
      Program program = transpose();
      std::vector<Factor> factors = program.copies[0].factors();
      factors[1].pieces[0].loops[0].extent = extent;
      factors[1].pieces[0].loops[0].move.b.slot = step;
      program = with_factors(program, 0, factors, {});
      EXPECT_FALSE(findings(program, row_major({2, 3}), column_major()).empty());
    }
    Program program = into_padded();
    program.fills = {{{0, 3}, {{2, {0, 4}}, {extent, {0, 0}}}}};
    const Result<std::vector<Finding>> found =
        verify(program, row_major({2, 3}), padded(PaddingValue::of(0)), PaddingRule::kPromised);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::kTooLarge);
  }
}

TEST(Verify, SaysWhyAQuestionHasNoAnswer) {
  const auto code = [](const Placement& from, const Placement& to) {
    const Result<std::vector<Finding>> found = verify({}, from, to, PaddingRule::kLeave);
    EXPECT_FALSE(found.ok());
    return found.ok() ? ErrorCode::kIo : found.error().code;
  };
  EXPECT_EQ(code(row_major({2, 3}), row_major({3, 2})), ErrorCode::kShapeMismatch);
  const Layout huge = row_major({1 << 15, 1 << 14});
  EXPECT_EQ(code(huge, huge), ErrorCode::kTooLarge);
  const Form shares =
      form({2}, {2}, {fold(x(0), {mem(1, 2, 1)})}, {Fill::partial(0, 2, Reduction::kSum)});
  EXPECT_EQ(code(layout(shares), row_major({2})), ErrorCode::kNotSupported);
  EXPECT_EQ(code(row_major({2}), layout(shares)), ErrorCode::kNotSupported);
  const View repeated = *View::of(row_major({3})).broadcast(0, 2);
  EXPECT_EQ(code(row_major({2, 3}), repeated), ErrorCode::kNotInjective);
}

TEST(Verify, AnyReplicaOfTheSourceWillDo) {
  const Form twice = form({3}, {2}, {fold(x(0), {mem(1, 3, 1)})}, {Fill::replicate(0, 2)});
  Program program;
  program.from = {shape({2}), 3, Atom::scalar(DType::kF32), 24};
  program.to = {shape({}), 3, Atom::scalar(DType::kF32), 12};
  const Factor all{{0}, {{{0}, {}, {{0, 3, 1, {{0, 1}, {0, 1}}}}}}};
  for (const std::int64_t replica : {0, 1}) {
    program.copies = {Refinement(shape({3}), shape({2}), shape({}), {{replica, 0}, {0, 0}}, {all})};
    EXPECT_TRUE(findings(program, layout(twice), row_major({3})).empty());
  }
}

// -------------------------------------------------------------------------------------------------
// Planted flaws: one number of a right program changed, and the kinds one of which must be found.

struct Planted {
  std::string what;
  Program program;
  std::vector<Flaw> one_of;
};

Piece& random_piece(Dice& dice, std::vector<Factor>& factors, std::size_t& factor) {
  factor = static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(factors.size())));
  std::vector<Piece>& pieces = factors[factor].pieces;
  return pieces[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(pieces.size())))];
}

/// Of a source, where another place may hold a replica: the slot alone.
Spot slot_off(Dice& dice, Spot spot) {
  spot.slot += dice.chance(50) ? 1 : -1;
  return spot;
}

Spot one_off(Dice& dice, Spot spot) {
  const std::int64_t by = dice.chance(50) ? 1 : -1;
  (dice.chance(80) ? spot.slot : spot.place) += by;
  return spot;
}

/// A change of the copies. The source is a layout: no element is anywhere else.
std::optional<Planted> planted_copy(Dice& dice, const Program& right) {
  const auto copy =
      static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(right.copies.size())));
  const Refinement& old = right.copies[copy];
  std::vector<Factor> factors = old.factors();
  if (old.nests() == 0) return std::nullopt;
  Spots base = old.base();
  const auto done = [&](std::string what, std::vector<Flaw> one_of) {
    return Planted{std::move(what), with_factors(right, copy, factors, base), std::move(one_of)};
  };
  const std::int64_t kind = dice.below(8);
  // What a loop or piece moves elsewhere leaves a spot of its own unwritten: shifting a finite set
  // changes it, and nests are disjoint.
  if (kind == 6) {
    base.a = slot_off(dice, base.a);
    return done("source base", {Flaw::kWrongSource, Flaw::kOutside});
  }
  if (kind == 7) {
    base.b = one_off(dice, base.b);
    return done("destination base", {Flaw::kNotWritten});
  }
  if (factors.empty()) return std::nullopt;
  std::size_t factor = 0;
  Piece& piece = random_piece(dice, factors, factor);
  std::vector<Piece>& pieces = factors[factor].pieces;
  if (kind == 0) {
    pieces.erase(pieces.begin() + (&piece - pieces.data()));
    return done("dropped piece", {Flaw::kNotWritten});
  }
  if (kind == 1) {
    const Piece again = piece;
    pieces.push_back(again);
    return done("doubled piece", {Flaw::kWrittenTwice});
  }
  if (kind == 2) {
    piece.at.a = slot_off(dice, piece.at.a);
    return done("source of a piece", {Flaw::kWrongSource, Flaw::kOutside});
  }
  if (kind == 3) {
    piece.at.b = one_off(dice, piece.at.b);
    return done("destination of a piece", {Flaw::kNotWritten});
  }
  if (piece.loops.empty()) return std::nullopt;
  Loop& loop = piece.loops[static_cast<std::size_t>(
      dice.below(static_cast<std::int64_t>(piece.loops.size())))];
  if (kind == 4) {
    const bool longer = dice.chance(50);
    loop.extent += longer ? 1 : -1;
    if (!longer) return done("extent", {Flaw::kNotWritten});
    return done("extent", {Flaw::kOutside, Flaw::kWrittenTwice, Flaw::kWrongSpot});
  }
  if (loop.extent < 2) return std::nullopt;
  if (dice.chance(50)) {
    loop.move.a = slot_off(dice, loop.move.a);
    return done("source step", {Flaw::kWrongSource, Flaw::kOutside});
  }
  loop.move.b = one_off(dice, loop.move.b);
  return done("destination step", {Flaw::kNotWritten, Flaw::kWrongSource});
}

std::optional<Planted> planted_fill(Dice& dice, const Program& right) {
  if (right.fills.empty()) return std::nullopt;
  Planted planted{"", right, {}};
  std::vector<FillNest>& fills = planted.program.fills;
  const auto n = static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(fills.size())));
  const std::int64_t kind = dice.below(4);
  if (kind == 0) {
    planted.what = "dropped fill";
    fills.erase(fills.begin() + static_cast<std::ptrdiff_t>(n));
    planted.one_of = {Flaw::kNotFilled};
  } else if (kind == 1) {
    planted.what = "padding value";
    planted.program.padding += 1;
    planted.one_of = {Flaw::kNotFilled};
  } else if (kind == 2) {
    if (right.fills_all) return std::nullopt;  // still covers what it must, perhaps
    planted.what = "start of a fill";
    fills[n].at = one_off(dice, fills[n].at);
    planted.one_of = {Flaw::kNotFilled};
  } else {
    if (fills[n].loops.empty()) return std::nullopt;
    FillLoop& loop = fills[n].loops[static_cast<std::size_t>(
        dice.below(static_cast<std::int64_t>(fills[n].loops.size())))];
    planted.what = "extent of a fill";
    loop.extent -= 1;
    planted.one_of = {Flaw::kNotFilled};
    if (right.fills_all) return std::nullopt;
  }
  return planted;
}

TEST(Verify, FindsPlantedFlaws) {
  constexpr Limits kLimits = {.max_rank = 3, .max_elements = 120, .max_slots = 1500};
  std::map<std::string, int> tried;
  Dice dice(7);
  const int cases = kSanitized ? 600 : 6000;
  for (int i = 0; i < cases; ++i) {
    const Shape extents = relayout_shape(dice, 120);
    const bool wild = dice.chance(50);
    const std::optional<Layout> from = wild ? random_layout_of(dice, extents, DType::kF32, kLimits)
                                            : blocked_layout(dice, extents, DType::kF32);
    const std::optional<Layout> to = wild ? random_layout_of(dice, extents, DType::kF32, kLimits)
                                          : blocked_layout(dice, extents, DType::kF32);
    if (!from || !to) continue;
    const Result<Program> right = make_program(*from, *to, PaddingRule::kZero);
    if (!right.ok()) continue;
    const std::optional<Planted> planted =
        dice.chance(70) ? planted_copy(dice, *right) : planted_fill(dice, *right);
    if (!planted) continue;
    ++tried[planted->what];
    const std::vector<Finding> found = findings(planted->program, *from, *to, PaddingRule::kZero);
    const bool told = std::any_of(planted->one_of.begin(), planted->one_of.end(),
                                  [&](Flaw flaw) { return has(found, flaw); });
    ASSERT_TRUE(told) << "not found: " << planted->what << " in case " << i << ", " << found.size()
                      << " other findings" << describe_pair(*from, *to, PaddingRule::kZero);
  }
  EXPECT_EQ(tried.size(), 13U);
  for (const auto& [what, times] : tried) EXPECT_GE(times, kSanitized ? 3 : 50) << what;
}

// -------------------------------------------------------------------------------------------------
// The naive mover.

TEST(MoveNaively, MovesSubByteElementsByTheirBits) {
  // i4 [2, 3] row by row: 1 2 3 4 5 6 is 0x21 0x43 0x65; column by column 1 4 2 5 3 6.
  const Layout rows = *Layout::row_major(shape({2, 3}), DType::kI4);
  const Layout columns = *Layout::strided(shape({2, 3}), DType::kI4, {1, 2});
  const std::vector<std::byte> source = {std::byte{0x21}, std::byte{0x43}, std::byte{0x65}};
  std::vector<std::byte> moved(3);
  ASSERT_TRUE(move_naively(rows, source, columns, moved, PaddingRule::kLeave).ok());
  EXPECT_EQ(moved, (std::vector{std::byte{0x41}, std::byte{0x52}, std::byte{0x63}}));
}

TEST(MoveNaively, WritesPaddingAsAsked) {
  const auto moved = [](PaddingValue value, PaddingRule rule) {
    std::vector<std::byte> source(24, std::byte{7});
    std::vector<std::byte> to(32, std::byte{9});
    EXPECT_TRUE(move_naively(row_major({2, 3}), source, padded(value), to, rule).ok());
    std::vector<int> bytes;
    for (const std::size_t at : {0U, 12U, 15U, 28U, 31U}) {
      bytes.push_back(std::to_integer<int>(to[at]));
    }
    return bytes;
  };
  using Bytes = std::vector<int>;
  EXPECT_EQ(moved(PaddingValue::undef(), PaddingRule::kPromised), (Bytes{7, 9, 9, 9, 9}));
  EXPECT_EQ(moved(PaddingValue::undef(), PaddingRule::kZero), (Bytes{7, 0, 0, 0, 0}));
  // 1.0f is 0x3F800000.
  EXPECT_EQ(moved(PaddingValue::of(1), PaddingRule::kPromised), (Bytes{7, 0, 0x3F, 0, 0x3F}));
  EXPECT_EQ(moved(PaddingValue::of(1), PaddingRule::kZero), (Bytes{7, 0, 0x3F, 0, 0x3F}));
  EXPECT_EQ(moved(PaddingValue::of(1), PaddingRule::kLeave), (Bytes{7, 9, 9, 9, 9}));
}

TEST(MoveNaively, SaysWhatItDoesNotMove) {
  const auto code = [](const Placement& from, const Placement& to, std::size_t from_bytes,
                       std::size_t to_bytes) {
    std::vector<std::byte> source(from_bytes);
    std::vector<std::byte> moved(to_bytes);
    const Status status = move_naively(from, source, to, moved, PaddingRule::kLeave);
    EXPECT_FALSE(status.ok());
    return status.ok() ? ErrorCode::kIo : status.error().code;
  };
  const Layout plain = row_major({2, 3});
  const Layout half = *Layout::row_major(shape({2, 3}), DType::kF16);
  EXPECT_EQ(code(plain, half, 24, 12), ErrorCode::kNotSupported);
  EXPECT_EQ(code(plain, plain, 23, 24), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(plain, plain, 24, 25), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(plain, row_major({3, 2}), 24, 24), ErrorCode::kShapeMismatch);
  const View repeated = *View::of(row_major({3})).broadcast(0, 2);
  EXPECT_EQ(code(plain, repeated, 24, 12), ErrorCode::kNotInjective);
  LayoutSpec tiles =
      spec(form({32, 32}, {}, {fold(x(0), {mem(1, 32, 32)}), fold(x(1), {mem(1, 32, 1)})}));
  tiles.atom = Atom::tile(32, 32, DType::kBfpBf8);
  const Layout blocks = *Layout::make(tiles);
  EXPECT_EQ(code(blocks, blocks, 1088, 1088), ErrorCode::kNotSupported);
}

TEST(BitsOfNumber, FollowsTheFormats) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  struct Case {
    double number;
    DType dtype;
    std::uint64_t bits;
  };
  const std::vector<Case> cases = {
      {1.5, DType::kBF16, 0x3FC0},
      {1.5, DType::kF64, 0x3FF8000000000000},
      {-0.0, DType::kF32, 0x80000000},
      {0.1, DType::kF32, 0x3DCCCCCD},  // 0.1 = 1.6 · 2^-4, rounded up
      {65504, DType::kF16, 0x7BFF},
      {65520, DType::kF16, 0x7BFF},  // would round to infinity: the nearest number instead
      {kInf, DType::kF16, 0x7C00},
      {-kInf, DType::kBF16, 0xFF80},
      {0x1p-24, DType::kF16, 1},          // the smallest subnormal
      {0x1p-25, DType::kF16, 0},          // half of it: ties to even
      {0x1.8p-24, DType::kF16, 2},        // 1.5 of it: ties to even
      {0x1.FFFp-15, DType::kF16, 0x400},  // carries into the smallest normal
      {1 + 0x1p-11, DType::kF16, 0x3C00},
      {1 + 0x1.8p-10, DType::kF16, 0x3C02},
      {448, DType::kF8E4M3, 0x7E},
      {kInf, DType::kF8E4M3, 0x7E},  // has no infinity
      {57344, DType::kF8E5M2, 0x7B},
      {0x1p-1074, DType::kF64, 1},
      {300, DType::kU8, 0xFF},
      {-1, DType::kU8, 0},
      {-1, DType::kI4, 0xF},
      {-9, DType::kI4, 0x8},
      {2.5, DType::kI8, 2},
      {-kInf, DType::kI64, 0x8000000000000000},
      {0x1p63, DType::kI64, 0x7FFFFFFFFFFFFFFF},
      {0x1p63, DType::kU64, 0x8000000000000000},
      {-1, DType::kI2, 3},
      {2, DType::kBool, 1},
      {std::nan(""), DType::kI32, 0},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(bits_of_number(c.number, c.dtype), c.bits)
        << c.number << " as " << dtype_name(c.dtype);
  }
  EXPECT_EQ(bits_of_number(1, DType::kBfpBf8), std::nullopt);
}

}  // namespace
}  // namespace tessera::test
