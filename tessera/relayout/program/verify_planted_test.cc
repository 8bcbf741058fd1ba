// SPDX-License-Identifier: Apache-2.0
// Planted flaws: one number of a correct program is changed, and the verifier must report one of
// the kinds of flaws that follow from the change.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/relayout/verify.h"
#include "tessera/testing/check/findings.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/process.h"
#include "tessera/testing/relayout/relayout_laws.h"
#include "tessera/testing/relayout/relayout_pairs.h"

namespace tessera::test {
namespace {

struct Planted {
  std::string what;
  relayout::Program program;
  std::vector<relayout::Flaw> one_of;
};

Piece& random_piece(Dice& dice, std::vector<Factor>& factors, std::size_t& factor) {
  factor = static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(factors.size())));
  std::vector<Piece>& pieces = factors[factor].pieces;
  return pieces[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(pieces.size())))];
}

/// For a source, whose other places may hold replicas: only the slot.
Position slot_off(Dice& dice, Position position) {
  position.slot += dice.chance(50) ? 1 : -1;
  return position;
}

Position one_off(Dice& dice, Position position) {
  const std::int64_t by = dice.chance(50) ? 1 : -1;
  (dice.chance(80) ? position.slot : position.place) += by;
  return position;
}

/// A change of the copies. The source is a layout: no element is anywhere else.
std::optional<Planted> planted_copy(Dice& dice, const relayout::Program& right) {
  const auto copy =
      static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(right.copies.size())));
  const Refinement& old = right.copies[copy];
  std::vector<Factor> factors = old.factors();
  if (old.nests() == 0) return std::nullopt;
  PositionPair base = old.base();
  const auto done = [&](std::string what, std::vector<relayout::Flaw> one_of) {
    return Planted{std::move(what), with_factors(right, copy, factors, base), std::move(one_of)};
  };
  const std::int64_t kind = dice.below(8);
  // If a loop or piece is moved elsewhere, one of its own positions is not written: shifting a
  // finite set changes it, and nests are disjoint.
  if (kind == 6) {
    base.a = slot_off(dice, base.a);
    return done("source base", {relayout::Flaw::kWrongSource, relayout::Flaw::kOutside});
  }
  if (kind == 7) {
    base.b = one_off(dice, base.b);
    return done("destination base", {relayout::Flaw::kNotWritten});
  }
  if (factors.empty()) return std::nullopt;
  std::size_t factor = 0;
  Piece& piece = random_piece(dice, factors, factor);
  std::vector<Piece>& pieces = factors[factor].pieces;
  if (kind == 0) {
    pieces.erase(pieces.begin() + (&piece - pieces.data()));
    return done("dropped piece", {relayout::Flaw::kNotWritten});
  }
  if (kind == 1) {
    const Piece again = piece;
    pieces.push_back(again);
    return done("doubled piece", {relayout::Flaw::kWrittenTwice});
  }
  if (kind == 2) {
    piece.at.a = slot_off(dice, piece.at.a);
    return done("source of a piece", {relayout::Flaw::kWrongSource, relayout::Flaw::kOutside});
  }
  if (kind == 3) {
    piece.at.b = one_off(dice, piece.at.b);
    return done("destination of a piece", {relayout::Flaw::kNotWritten});
  }
  if (piece.loops.empty()) return std::nullopt;
  Loop& loop = piece.loops[static_cast<std::size_t>(
      dice.below(static_cast<std::int64_t>(piece.loops.size())))];
  if (kind == 4) {
    const bool longer = dice.chance(50);
    loop.extent += longer ? 1 : -1;
    if (!longer) return done("extent", {relayout::Flaw::kNotWritten});
    return done("extent", {relayout::Flaw::kOutside, relayout::Flaw::kWrittenTwice,
                           relayout::Flaw::kWrongPosition});
  }
  if (loop.extent < 2) return std::nullopt;
  if (dice.chance(50)) {
    loop.move.a = slot_off(dice, loop.move.a);
    return done("source step", {relayout::Flaw::kWrongSource, relayout::Flaw::kOutside});
  }
  loop.move.b = one_off(dice, loop.move.b);
  return done("destination step", {relayout::Flaw::kNotWritten, relayout::Flaw::kWrongSource});
}

std::optional<Planted> planted_fill(Dice& dice, const relayout::Program& right) {
  if (right.fills.empty()) return std::nullopt;
  Planted planted{"", right, {}};
  std::vector<relayout::FillNest>& fills = planted.program.fills;
  const auto n = static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(fills.size())));
  const std::int64_t kind = dice.below(4);
  if (kind == 0) {
    planted.what = "dropped fill";
    fills.erase(fills.begin() + static_cast<std::ptrdiff_t>(n));
    planted.one_of = {relayout::Flaw::kNotFilled};
  } else if (kind == 1) {
    planted.what = "padding value";
    planted.program.padding += 1;
    planted.one_of = {relayout::Flaw::kNotFilled};
  } else if (kind == 2) {
    if (right.fills_cover_data) return std::nullopt;  // still covers what it must, perhaps
    planted.what = "start of a fill";
    fills[n].at = one_off(dice, fills[n].at);
    planted.one_of = {relayout::Flaw::kNotFilled};
  } else {
    if (fills[n].loops.empty()) return std::nullopt;
    relayout::FillLoop& loop = fills[n].loops[static_cast<std::size_t>(
        dice.below(static_cast<std::int64_t>(fills[n].loops.size())))];
    planted.what = "extent of a fill";
    loop.extent -= 1;
    planted.one_of = {relayout::Flaw::kNotFilled};
    if (right.fills_cover_data) return std::nullopt;
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
    const Result<relayout::Program> right =
        relayout::make_program(*from, *to, relayout::PaddingRule::kZero);
    if (!right.ok()) continue;
    const std::optional<Planted> planted =
        dice.chance(70) ? planted_copy(dice, *right) : planted_fill(dice, *right);
    if (!planted) continue;
    ++tried[planted->what];
    const std::vector<relayout::Finding> found =
        findings(planted->program, *from, *to, relayout::PaddingRule::kZero);
    const bool told = std::any_of(planted->one_of.begin(), planted->one_of.end(),
                                  [&](relayout::Flaw flaw) { return has(found, flaw); });
    ASSERT_TRUE(told) << "not found: " << planted->what << " in case " << i << ", " << found.size()
                      << " other findings"
                      << describe_pair(*from, *to, relayout::PaddingRule::kZero);
  }
  EXPECT_EQ(tried.size(), 13U);
  for (const auto& [what, times] : tried) EXPECT_GE(times, kSanitized ? 3 : 50) << what;
}

}  // namespace
}  // namespace tessera::test
