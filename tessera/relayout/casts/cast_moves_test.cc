// SPDX-License-Identifier: Apache-2.0
// Moves that change the element type give the result of the definitions, for random pairs of
// placements and types. Each case is a random seed, which the message names.
#include "tessera/testing/relayout/cast_moves.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/testing/build.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/process.h"
#include "tessera/testing/relayout/cast_laws.h"
#include "tessera/testing/relayout/relayout_pairs.h"

namespace tessera::test {
namespace {

using Bytes = std::vector<std::byte>;
using Pair = std::pair<Placement, Placement>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Tries `cases` pairs, starting with the random seed `first`. At least two in three draws must
/// give a pair that can be moved, otherwise the test would prove little.
void holds(std::uint64_t first, int cases, const std::function<std::optional<Pair>(Dice&)>& draw,
           relayout::Rounding rounding, SourceNumbers numbers) {
  if (kSanitized) cases = (cases + 9) / 10;
  int movable = 0;
  int failures = 0;
  for (int i = 0; i < cases && failures < 3; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    Dice dice(seed);
    const std::optional<Pair> pair = draw(dice);
    if (!pair) continue;
    const auto& [from, to] = *pair;
    const auto rule = static_cast<relayout::PaddingRule>(dice.below(3));
    if (relayout::make_program(from, to, rule).ok()) ++movable;
    const std::array trials = {random_trial(dice), random_trial(dice)};
    const std::string mistake = cast_move_mistake(dice, from, to, rule, rounding, numbers, trials);
    if (mistake.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << mistake;
  }
  EXPECT_GE(failures > 0 ? cases : movable, cases * 2 / 3);
}

std::optional<Pair> small_pair(Dice& dice) { return typed_pair(dice, 400); }
std::optional<Pair> tiles_pair(Dice& dice) { return whole_tiles_pair(dice); }

TEST(CastMoves, SaturateAsTheReferenceDoes) {
  holds(0, 600, small_pair, relayout::Rounding::kSaturate, SourceNumbers::kAnyBits);
  holds(600, 60, tiles_pair, relayout::Rounding::kSaturate, SourceNumbers::kAnyBits);
}

/// Several blocks, and the remainders at their edges.
TEST(CastMoves, LargeOnesToo) {
  holds(
      1000, 30, [](Dice& dice) { return typed_pair(dice, 50000); }, relayout::Rounding::kSaturate,
      SourceNumbers::kAnyBits);
}

TEST(CastMoves, NumbersThatFitMove) {
  holds(2000, 500, small_pair, relayout::Rounding::kChecked, SourceNumbers::kFitting);
  holds(2600, 30, tiles_pair, relayout::Rounding::kChecked, SourceNumbers::kFitting);
}

TEST(CastMoves, FractionsRoundAndTheRestIsChecked) {
  holds(4000, 400, small_pair, relayout::Rounding::kRound, SourceNumbers::kSomeMisfit);
  holds(4400, 400, small_pair, relayout::Rounding::kRound, SourceNumbers::kAnyBits);
  holds(4800, 30, tiles_pair, relayout::Rounding::kRound, SourceNumbers::kSomeMisfit);
}

TEST(CastMoves, TheFirstNumberThatDoesNotFitIsNamed) {
  holds(3000, 600, small_pair, relayout::Rounding::kChecked, SourceNumbers::kSomeMisfit);
  holds(3600, 40, tiles_pair, relayout::Rounding::kChecked, SourceNumbers::kSomeMisfit);
}

// By hand.

template <typename T>
Bytes bytes_of(const std::vector<T>& numbers) {
  Bytes bytes(numbers.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// The destination after a move over `to_bytes`, or the error message.
struct Moved {
  Bytes bytes;
  std::string error;
  std::vector<std::string> plan;
};

Moved moved(const Placement& from, const Bytes& source, const Placement& to, Bytes to_bytes,
            relayout::Rounding rounding = relayout::Rounding::kChecked,
            relayout::PaddingRule rule = relayout::PaddingRule::kPromised) {
  const Result<relayout::Program> program = relayout::make_program(from, to, rule);
  EXPECT_TRUE(program.ok());
  relayout::PlanOptions options;
  options.rounding = rounding;
  const Result<relayout::Plan> plan = relayout::Plan::make(*program, options);
  EXPECT_TRUE(plan.ok());
  ThreadPool pool(2);
  const Status status = plan->run(source, to_bytes, pool);
  EXPECT_TRUE(status.ok() || status.error().code == ErrorCode::kOutOfRange);
  return {to_bytes, status.ok() ? "" : status.error().message, plan->describe()};
}

bool planned(const Moved& move, std::string_view text) {
  for (const std::string& line : move.plan) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

const Placement kRows = *Layout::row_major(shape({2, 3}), DType::kF32);

TEST(CastMoves, AMisfitIsNamedByItsPositionInTheSource) {
  const Placement columns = *Layout::strided(shape({2, 3}), DType::kU8, {1, 2});
  // Row-major 3, 0 and 1, 1: the second comes first in the destination, the first in the source.
  const Bytes source = bytes_of<float>({0, 1, 300, -1, 4, 5});
  const Moved refused = moved(kRows, source, columns, Bytes(6));
  EXPECT_EQ(test::figures(refused.error), "2 300 ui8");
  const Moved saturated = moved(kRows, source, columns, Bytes(6), relayout::Rounding::kSaturate);
  EXPECT_EQ(saturated.bytes, bytes_of<std::uint8_t>({0, 0, 1, 4, 255, 5}));
}

TEST(CastMoves, PaddingOfTheSourceIsNotAsked) {
  // Slots 1, 3 and 5 are gaps.
  const Placement gapped = *Layout::strided(shape({3}), DType::kF32, {2});
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const Placement bytes = *Layout::row_major(shape({3}), DType::kI8);
  const Placement nibbles = *Layout::row_major(shape({3}), DType::kI4);
  const Bytes source = bytes_of<float>({1, nan, -2, nan, 3});
  EXPECT_EQ(moved(gapped, source, bytes, Bytes(3)).bytes, bytes_of<std::int8_t>({1, -2, 3}));
  EXPECT_EQ(moved(gapped, source, nibbles, Bytes(2)).bytes, bytes_of<std::uint8_t>({0xE1, 0x03}));
}

TEST(CastMoves, WhatIsNotWrittenStaysBitByBit) {
  // Every second nibble is a gap; the last byte belongs to no element.
  const Placement ones = *Layout::row_major(shape({2}), DType::kU8);
  LayoutSpec apart = spec(form({2}, {}, {fold(x(0), {mem(1, 2, 2)})}), DType::kI4);
  apart.slots = 5;
  const Placement nibbles = *Layout::make(apart);
  const Moved kept = moved(ones, bytes_of<std::uint8_t>({3, 4}), nibbles,
                           bytes_of<std::uint8_t>({0x9F, 0xAB, 0xCD}));
  EXPECT_EQ(kept.bytes, bytes_of<std::uint8_t>({0x93, 0xA4, 0xCD}));
  EXPECT_TRUE(planned(kept, "cast_image: i8 to i4"));
}

/// One bfp_bf8 tile of which [1, 20] elements are used: a row of 20, then padding.
Layout used_tile(double padding) {
  LayoutSpec tile = spec(form({20}, {}, {fold(x(0), {mem(1, 32, 1)})}));
  tile.atom = Atom::tile(32, 32, DType::kBfpBf8);
  tile.slots = 1024;
  tile.padding = std::isnan(padding) ? PaddingValue::undef() : PaddingValue::of(padding);
  return *Layout::make(tile);
}

TEST(CastMoves, NumbersAreRoundedOnceOnTheirWayToBlockFloats) {
  // With 7 bits, the unit of 2^62 is 2^56: 2^62 + 2^55 + 1 is above the middle and becomes 65
  // units. Its nearest f32 and f64 are in the middle, which gives 64. The exponent byte is 62 +
  // 127.
  std::vector<std::int64_t> numbers(20, 0);
  numbers[0] = (std::int64_t{1} << 62) + (std::int64_t{1} << 55) + 1;
  const Placement rows = *Layout::row_major(shape({20}), DType::kI64);
  const Moved tile = moved(rows, bytes_of(numbers), used_tile(0), Bytes(1088));
  EXPECT_TRUE(planned(tile, "cast_image: f32 to bfp_bf8"));
  EXPECT_EQ(tile.bytes[0], std::byte{189});
  EXPECT_EQ(tile.bytes[64], std::byte{65});
}

TEST(CastMoves, PaddingThatDoesNotFitIsNoError) {
  const Placement rows = *Layout::row_major(shape({20}), DType::kF32);
  const Moved tile =
      moved(rows, bytes_of(std::vector<float>(20, 1)), used_tile(-kInfinity), Bytes(1088));
  EXPECT_EQ(tile.error, "");
  EXPECT_EQ(tile.bytes[0], std::byte{127});         // 16 ones: 1 · 2^0
  EXPECT_EQ(tile.bytes[64], std::byte{64});         // 64 / 64
  EXPECT_EQ(tile.bytes[2], std::byte{254});         // padding alone: the largest of all
  EXPECT_EQ(tile.bytes[64 + 32], std::byte{0xFF});  // - 127 / 64 · 2^127
}

TEST(CastMoves, GroupsOfBlockFloatsThatNobodyWritesKeepTheirBytes) {
  const Placement rows = *Layout::row_major(shape({20}), DType::kF32);
  Bytes before(1088, std::byte{0x55});  // E = 85, +85 / 64
  before[1] = std::byte{255};           // infinities beside data and alone, which no cast writes
  before[5] = std::byte{255};
  const Moved tile = moved(rows, bytes_of(std::vector<float>(20, 1)), used_tile(NAN), before);
  EXPECT_EQ(tile.error, "");
  Bytes right = before;
  right[0] = right[1] = std::byte{127};
  std::fill(right.begin() + 64, right.begin() + 64 + 20, std::byte{64});
  std::fill(right.begin() + 64 + 20, right.begin() + 64 + 32, std::byte{0});
  EXPECT_EQ(tile.bytes, right);
}

/// Rows of 3 elements cross the ends of groups of 16: groups are filled, but not by whole rows.
TEST(CastMoves, RowsThatCrossGroupsAreNotCutAtThem) {
  const Layout columns = *Layout::strided(shape({1024, 3}), DType::kF32, {1, 1024});
  const Layout rows = *Layout::row_major(shape({1024, 3}), DType::kF32);
  Dice dice(1);
  const std::array trials = {random_trial(dice), random_trial(dice)};
  EXPECT_EQ(cast_move_mistake(dice, columns, kept_as(rows, DType::kBfpBf8),
                              relayout::PaddingRule::kPromised, relayout::Rounding::kSaturate,
                              SourceNumbers::kAnyBits, trials),
            "");
}

TEST(CastMoves, NothingAndOneElement) {
  for (const DType to : {DType::kBF16, DType::kI4, DType::kI64}) {
    const Placement none_from = *Layout::row_major(shape({0, 6}), DType::kF32);
    const Placement none_to = *Layout::row_major(shape({0, 6}), to);
    EXPECT_EQ(moved(none_from, {}, none_to, {}).error, "");
  }
  const Placement one_from = *Layout::row_major(shape({}), DType::kF64);
  const Placement one_to = *Layout::row_major(shape({}), DType::kI2);
  EXPECT_EQ(moved(one_from, bytes_of<double>({-2}), one_to, Bytes(1)).bytes, Bytes{std::byte{2}});
  EXPECT_EQ(test::figures(moved(one_from, bytes_of<double>({2}), one_to, Bytes(1)).error),
            "0 2 i2");
}

TEST(CastMoves, EachKernelIsMet) {
  const Layout rows = *Layout::row_major(shape({64, 64}), DType::kF32);
  const Layout columns = *Layout::strided(shape({64, 64}), DType::kF32, {1, 64});
  Dice plainest(0, 0);
  const Layout tiles = tiled_layout(plainest, shape({64, 64}), DType::kBfpBf8);
  const auto plan_of = [](const Layout& from, const Layout& to) {
    Moved plan;
    plan.plan = relayout::Plan::make(*relayout::make_program(from, to))->describe();
    return plan;
  };
  EXPECT_TRUE(planned(plan_of(rows, tiles), "cast_groups: f32 to bfp_bf8"));
  const Layout part = tiled_layout(plainest, shape({53, 48}), DType::kBfpBf8);
  const Layout part_rows = *Layout::row_major(shape({53, 48}), DType::kF32);
  EXPECT_TRUE(planned(plan_of(part_rows, part), "cast_groups: f32 to bfp_bf8"));
  EXPECT_TRUE(planned(plan_of(tiles, tiles), "copy_runs: 4352 "));
  EXPECT_TRUE(planned(plan_of(tiles, rows), ": bfp_bf8 to f32"));
  EXPECT_TRUE(planned(plan_of(rows, kept_as(columns, DType::kBF16)), ": f32 to bf16"));
  EXPECT_TRUE(planned(plan_of(kept_as(rows, DType::kI4), tiles), "cast_image: f32 to bfp_bf8"));
}

}  // namespace
}  // namespace tessera::test
