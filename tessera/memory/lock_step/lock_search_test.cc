// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_step/lock_search.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include "tessera/memory/lock_step/lock_step.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/memory/lock_cases.h"
#include "tessera/testing/memory/solve_laws.h"
#include "tessera/testing/process.h"

namespace tessera::memory {
namespace {

using test::are_fixed_apart;
using test::cpu_seconds;
using test::Dice;
using test::expect_lock_step;
using test::few;
using test::lock_crowd;
using test::LockCase;
using test::lowest_in_lock_step;
using test::random_lock_case;

void switch_some_off(Dice& dice, Techniques& techniques) {
  for (const TechniqueName& technique : technique_names()) {
    if (technique.name != "exact" && dice.chance(25)) techniques.*technique.field = false;
  }
}

// Through lock_step, with any technique that finds the plan.
TEST(LockSearch, LockStepFindsTheLowestPeakOfTinyCases) {
  int above_the_bound = 0;
  int searched = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < few(12'000); ++seed) {
    Dice dice(seed);
    const LockCase the_case = random_lock_case(dice, dice.between(2, 5));
    SCOPED_TRACE(testing::Message() << "seed " << seed << the_case.description());
    const std::optional<std::int64_t> lowest = lowest_in_lock_step(the_case);
    SolveOptions options;
    options.minimize = true;
    options.techniques.repair = dice.chance(30);
    if (dice.chance(50)) switch_some_off(dice, options.techniques);
    if (!lowest) {
      ++refused;
      const Result<LockStep> plan = lock_step(the_case.lives, the_case.sizes, 0, options);
      ASSERT_FALSE(plan);
      EXPECT_EQ(plan.error().code, ErrorCode::kBadBuffer);
      continue;
    }
    const std::int64_t bound = the_case.lower_bound();
    const Result<LockStep> plan = lock_step(the_case.lives, the_case.sizes, bound, options);
    ASSERT_TRUE(plan) << plan.error().message;
    expect_lock_step(the_case, *plan);
    EXPECT_EQ(plan->peak, *lowest);
    EXPECT_TRUE(plan->optimal);
    above_the_bound += *lowest > bound ? 1 : 0;
    searched += plan->found_by == "search" ? 1 : 0;

    options.minimize = false;
    for (const std::int64_t capacity : {*lowest - 1, *lowest}) {
      options.capacity = capacity;
      const Result<LockStep> within = lock_step(the_case.lives, the_case.sizes, bound, options);
      ASSERT_TRUE(within) << within.error().message;
      expect_lock_step(the_case, *within);
      EXPECT_EQ(within->peak <= capacity, capacity == *lowest);
      EXPECT_EQ(within->proven_not_to_fit, capacity < *lowest);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(above_the_bound, static_cast<int>(few(300)));
  EXPECT_GT(searched, static_cast<int>(few(30)));
  EXPECT_GT(refused, static_cast<int>(few(100)));
}

/// A search over all buffers at once, without an earlier plan.
struct Alone {
  explicit Alone(const LockCase& the_case, const SolveOptions& options)
      : packing(*pack(the_case.with_largest_sizes(), {}, FixedBlocks::kMayMeet)),
        relation(*relate(packing, the_case.sizes)),
        budget(options),
        blocks(relation, all()),
        cliques(find_cliques(relation, blocks)),
        search(blocks, cliques, options.techniques, budget) {}

  std::vector<std::uint32_t> all() const {
    std::vector<std::uint32_t> ids(packing.blocks.size());
    std::iota(ids.begin(), ids.end(), 0u);
    return ids;
  }
  /// The plan that was found, as lock_step would report it.
  LockStep plan() const {
    Array<std::int64_t> at;
    Array<std::int64_t> of_buffers;
    EXPECT_TRUE(at.resize(packing.blocks.size(), 0));
    for (std::size_t b = 0; b < at.size(); ++b) at[b] = packing.blocks[b].fixed;
    for (std::size_t b = 0; b < blocks.count(); ++b) at[blocks.blocks[b].id] = search.offsets()[b];
    EXPECT_TRUE(spread(packing, at, of_buffers));
    LockStep out;
    out.offsets.assign(of_buffers.begin(), of_buffers.end());
    out.peak = out.proven_bound = blocks.peak(search.offsets());
    out.optimal = true;
    return out;
  }

  Packing packing;
  Relation relation;
  WorkBudget budget;
  LockBlocks blocks;
  std::vector<LockClique> cliques;
  LockSearch search;
};

TEST(LockSearch, DecidesTinyCasesAlone) {
  int above_the_cliques = 0;
  for (std::uint64_t seed = 0; seed < few(12'000); ++seed) {
    Dice dice(seed + 100'000);
    const LockCase the_case = random_lock_case(dice, dice.between(2, 6));
    SCOPED_TRACE(testing::Message() << "seed " << seed << the_case.description());
    const std::optional<std::int64_t> lowest = lowest_in_lock_step(the_case);
    if (!lowest) continue;
    SolveOptions options;
    if (dice.chance(70)) switch_some_off(dice, options.techniques);
    Alone found(the_case, options);
    EXPECT_LE(found.search.bound(), *lowest);
    EXPECT_EQ(found.search.within(*lowest), SearchEnd::kFound);
    expect_lock_step(the_case, found.plan());
    // The same search continues with what it remembers, and a new one starts without.
    EXPECT_EQ(found.search.within(*lowest - 1), SearchEnd::kNone);
    Alone none(the_case, options);
    EXPECT_EQ(none.search.within(*lowest - 1), SearchEnd::kNone);
    EXPECT_EQ(none.search.within(*lowest + dice.between(0, 2)), SearchEnd::kFound);
    expect_lock_step(the_case, none.plan());
    std::int64_t peak = 100;
    std::int64_t proven = 0;
    Alone minimised(the_case, options);
    EXPECT_EQ(minimised.search.lowest(0, 0, peak, proven), SearchEnd::kFound);
    EXPECT_EQ(peak, *lowest);
    EXPECT_EQ(proven, *lowest);
    expect_lock_step(the_case, minimised.plan());
    if (HasFailure()) return;
    above_the_cliques += *lowest > found.search.bound() ? 1 : 0;
  }
  EXPECT_GT(above_the_cliques, static_cast<int>(few(200)));
}

// Bytes by the quadrillion, and a single byte elsewhere, so that no grain helps: the bound cannot
// rise one peak at a time.
TEST(LockSearch, ClimbsHoweverFarThePlanIsAboveTheBound) {
  constexpr std::int64_t kScale = std::int64_t{1} << 50;
  int above_the_cliques = 0;
  for (std::uint64_t seed = 0; seed < few(2'000); ++seed) {
    Dice dice(seed + 300'000);
    LockCase the_case = random_lock_case(dice, dice.between(3, 6));
    SCOPED_TRACE(testing::Message() << "seed " << seed << the_case.description());
    const std::optional<std::int64_t> lowest = lowest_in_lock_step(the_case);
    if (!lowest) continue;
    for (Buffer& buffer : the_case.lives.buffers) {
      if (buffer.alignment > 1) buffer.alignment *= kScale;
      if (buffer.fixed) *buffer.fixed *= kScale;
      if (buffer.alias) buffer.alias->delta *= kScale;
    }
    for (std::vector<std::int64_t>& of_class : the_case.sizes) {
      for (std::int64_t& size : of_class) size *= kScale;
      of_class.push_back(1);
    }
    Buffer byte;
    byte.lower = 100;
    byte.upper = 101;
    the_case.lives.buffers.push_back(byte);
    SolveOptions options;
    options.nodes = 100'000;
    options.seconds = 1000;
    Alone alone(the_case, options);
    ASSERT_EQ(alone.blocks.grain, 1);
    std::int64_t peak = 100 * kScale;
    std::int64_t proven = 0;
    EXPECT_EQ(alone.search.lowest(0, 0, peak, proven), SearchEnd::kFound);
    EXPECT_EQ(peak, std::max<std::int64_t>(1, *lowest * kScale));
    EXPECT_EQ(proven, peak);
    if (HasFailure()) return;
    above_the_cliques += peak > alone.search.bound() ? 1 : 0;
  }
  EXPECT_GT(above_the_cliques, static_cast<int>(few(30)));
}

// Too large for brute force: with every technique, without each of them, and without any.
TEST(LockSearch, TechniquesDoNotChangeTheAnswer) {
  for (std::uint64_t seed = 0; seed < few(60); ++seed) {
    Dice dice(seed + 200'000);
    const LockCase the_case = random_lock_case(dice, 9);
    if (!are_fixed_apart(the_case)) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed << the_case.description());
    const auto lowest = [&](const Techniques& techniques) {
      SolveOptions options;
      options.techniques = techniques;
      std::int64_t peak = 100;
      std::int64_t proven = 0;
      Alone alone(the_case, options);
      EXPECT_EQ(alone.search.lowest(0, 0, peak, proven), SearchEnd::kFound);
      EXPECT_EQ(peak, proven);
      return peak;
    };
    const std::int64_t with_all = lowest({});
    Techniques none;
    for (const TechniqueName& technique : technique_names()) {
      Techniques techniques;
      techniques.*technique.field = none.*technique.field = false;
      EXPECT_EQ(lowest(techniques), with_all) << technique.name;
    }
    EXPECT_EQ(lowest(none), with_all);
    if (HasFailure()) return;
  }
}

// 80 buffers: first-fit ends above the lowest plan, which the search finds and proves; the bound of
// the classes is far below it.
TEST(LockSearch, FindsWhatFirstFitMisses) {
  const LockCase the_case = lock_crowd(2, 80);
  const std::int64_t bound = the_case.lower_bound();
  SolveOptions options;
  options.minimize = true;
  options.techniques.exact = false;
  const LockStep before = *lock_step(the_case.lives, the_case.sizes, bound, options);
  expect_lock_step(the_case, before);
  EXPECT_FALSE(before.optimal);
  options.techniques.exact = true;
  options.seconds = 1000;
  const double start = cpu_seconds();
  const LockStep after = *lock_step(the_case.lives, the_case.sizes, bound, options);
  const double seconds = cpu_seconds() - start;
  expect_lock_step(the_case, after);
  EXPECT_LT(after.peak, before.peak);
  EXPECT_TRUE(after.optimal);
  EXPECT_GT(after.peak, bound);
  EXPECT_EQ(after.found_by, "search");
  EXPECT_LT(seconds, 2);
  RecordProperty("milliseconds", static_cast<int>(seconds * 1000));

  options.minimize = false;
  options.capacity = after.peak;
  EXPECT_LE(lock_step(the_case.lives, the_case.sizes, bound, options)->peak, after.peak);
  options.capacity = after.peak - 1;
  const LockStep none = *lock_step(the_case.lives, the_case.sizes, bound, options);
  EXPECT_TRUE(none.proven_not_to_fit);
  expect_lock_step(the_case, none);
}

// Every pair conflicts on a separate place: no place has more than 6 bytes, all together need 9.
TEST(LockSearch, CliquesOverSeveralClassesAreABound) {
  LockCase the_case;
  the_case.lives.buffers.resize(3);
  for (Buffer& buffer : the_case.lives.buffers) buffer.upper = 1;
  the_case.sizes = {{3, 3, 0}, {0, 3, 3}, {3, 0, 3}};
  EXPECT_EQ(the_case.lower_bound(), 6);
  EXPECT_EQ(Alone(the_case, {}).search.bound(), 9);
  SolveOptions options;
  options.capacity = 8;
  const LockStep plan = *lock_step(the_case.lives, the_case.sizes, 6, options);
  EXPECT_TRUE(plan.proven_not_to_fit);
  EXPECT_TRUE(plan.optimal);
  EXPECT_EQ(plan.peak, 9);
}

}  // namespace
}  // namespace tessera::memory
