// SPDX-License-Identifier: Apache-2.0
// Random pairs of placements of one tensor: programs are correct, and plans do what the reference
// does. Each case is a random seed, which the message names.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tessera/testing/generate.h"
#include "tessera/testing/process.h"
#include "tessera/testing/relayout/guarded_buffer.h"
#include "tessera/testing/relayout/plan_laws.h"
#include "tessera/testing/relayout/relayout_laws.h"
#include "tessera/testing/relayout/relayout_pairs.h"
#include "tessera/testing/views.h"

namespace tessera::test {
namespace {

struct Pair {
  Placement from;
  Placement to;
};

/// Calls `law` with `cases` pairs that `draw` makes, each from its own dice. At least two in three
/// draws must give a pair that can be moved, otherwise the test would prove little.
void holds(int cases, const std::function<std::optional<Pair>(Dice&)>& draw,
           const std::function<std::string(Dice&, const Pair&)>& law) {
  if (kSanitized) cases /= 10;
  int movable = 0;
  int failures = 0;
  for (int seed = 0; seed < cases && failures < 3; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const std::optional<Pair> pair = draw(dice);
    if (!pair) continue;
    if (relayout::make_program(pair->from, pair->to).ok()) ++movable;
    const std::string mistake = law(dice, *pair);
    if (mistake.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << mistake;
  }
  EXPECT_GE(failures > 0 ? cases : movable, cases * 2 / 3);
}

constexpr Limits kSmall = {.max_rank = 4,
                           .max_extent = 16,
                           .max_elements = 150,
                           .max_mesh_rank = 2,
                           .max_places = 16,
                           .max_slots = 1500};

/// Anything that folds, cuts and places can express, on both sides, partial sums included.
std::optional<Pair> wild_pair(Dice& dice) {
  const std::optional<Layout> from = random_layout(dice, kSmall);
  if (!from) return std::nullopt;
  const std::optional<Layout> to = random_layout_of(dice, from->shape(), from->dtype(), kSmall);
  if (!to) return std::nullopt;
  return Pair{*from, *to};
}

/// A view of a random layout, and another placement of its shape; sometimes in the other direction.
std::optional<Pair> viewed_pair(Dice& dice) {
  const std::optional<Layout> base = random_layout(dice, kSmall);
  if (!base) return std::nullopt;
  const View view = random_view(dice, *base, 3).view;
  if (view.shape().elements() > 2000) return std::nullopt;
  const std::optional<Layout> other =
      dice.chance(50) ? random_layout_of(dice, view.shape(), view.dtype(), kSmall)
                      : blocked_layout(dice, view.shape(), view.dtype());
  if (!other) return std::nullopt;
  if (dice.chance(30)) return Pair{*other, view};
  return Pair{view, *other};
}

/// The kinds that people use, up to `most` elements.
std::optional<Pair> usual_pair(Dice& dice, std::int64_t most) {
  const DType dtype = relayout_dtype(dice);
  if (dice.chance(50)) {
    auto [from, to] = kernel_pair(dice, most, dtype);
    return Pair{std::move(from), std::move(to)};
  }
  const Shape shape = relayout_shape(dice, most);
  return Pair{random_source(dice, shape, dtype), random_destination(dice, shape, dtype)};
}

relayout::PaddingRule random_rule(Dice& dice) {
  return static_cast<relayout::PaddingRule>(dice.below(3));
}

std::string program_law(Dice& dice, const Pair& pair) {
  return program_mistake(pair.from, pair.to, random_rule(dice));
}

TEST(Pairs, ProgramsBetweenWildLayoutsAreRight) { holds(12000, wild_pair, program_law); }

TEST(Pairs, ProgramsBetweenViewsAreRight) { holds(6000, viewed_pair, program_law); }

TEST(Pairs, ProgramsBetweenUsualLayoutsAreRight) {
  holds(8000, [](Dice& dice) { return usual_pair(dice, 400); }, program_law);
  holds(200, [](Dice& dice) { return usual_pair(dice, 30000); }, program_law);
}

/// Three trials, each with other memory, threads, stores and instructions.
std::string plan_law(Dice& dice, const Pair& pair) {
  const relayout::PaddingRule rule = random_rule(dice);
  const auto seed = static_cast<std::uint64_t>(dice.below(1 << 30));
  const std::array trials = {random_trial(dice), random_trial(dice), random_trial(dice)};
  return plan_mistake(pair.from, pair.to, rule, trials, seed);
}

TEST(Pairs, GuardedMemoryTellsWhatIsTouchedOutside) {
  GuardedBuffer buffer(100);
  const std::span<std::byte> end = buffer.at_end(100);
  EXPECT_TRUE(buffer.surroundings_kept());
  end.data()[-1] = std::byte{0};
  EXPECT_FALSE(buffer.surroundings_kept());
  const std::span<std::byte> start = buffer.at_start(100, 3);
  EXPECT_TRUE(buffer.surroundings_kept());
  start.data()[100] = std::byte{0};
  EXPECT_FALSE(buffer.surroundings_kept());
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto touch = [](std::byte* at) {
    const CrashNote note("touched");
    *const_cast<volatile std::byte*>(at) = std::byte{1};
  };
  EXPECT_DEATH(touch(buffer.at_end(100).data() + 100), "touched");
  EXPECT_DEATH(touch(buffer.at_start(100, 0).data() - 1), "touched");
}

TEST(Pairs, PlansBetweenWildLayoutsMoveAsTheReferenceDoes) { holds(8000, wild_pair, plan_law); }

TEST(Pairs, PlansBetweenViewsMoveAsTheReferenceDoes) { holds(4000, viewed_pair, plan_law); }

TEST(Pairs, PlansBetweenUsualLayoutsMoveAsTheReferenceDoes) {
  holds(8000, [](Dice& dice) { return usual_pair(dice, 600); }, plan_law);
  holds(1500, [](Dice& dice) { return usual_pair(dice, 20000); }, plan_law);
}

}  // namespace
}  // namespace tessera::test
