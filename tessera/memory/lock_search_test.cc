// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>

#include "tessera/base/text.h"
#include "tessera/memory/lock_step.h"
#include "tessera/memory/mesh_plan.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/solve_laws.h"

namespace tessera::memory {
namespace {

using test::Dice;
using test::few;

/// Buffers and their sizes on each class of places.
struct Case {
  Problem lives;
  ClassSizes sizes;

  Problem on(std::size_t c) const {
    Problem problem = lives;
    for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
      problem.buffers[i].size = sizes[c][i];
    }
    return problem;
  }
  std::int64_t lower_bound() const {
    std::int64_t bound = 0;
    for (std::size_t c = 0; c < sizes.size(); ++c)
      bound = std::max(bound, pack(on(c))->lower_bound);
    return bound;
  }
};

/// The lowest plan by trying every offset of every buffer that is no part of another, with the
/// words of problem.h checked on one class after the other.
class Brute {
 public:
  explicit Brute(const Case& the_case) : case_(the_case) {
    const std::vector<Buffer>& buffers = case_.lives.buffers;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      std::size_t root = i;
      std::int64_t delta = 0;
      while (buffers[root].alias) {
        delta += buffers[root].alias->delta;
        root = buffers[root].alias->of;
      }
      auto family = std::find_if(families_.begin(), families_.end(),
                                 [&](const Family& one) { return one.root == root; });
      if (family == families_.end()) {
        families_.push_back({root, INT64_MAX, INT64_MIN, 1, {}, {}});
        family = families_.end() - 1;
        family->bytes.assign(case_.sizes.size(), 0);
      }
      family->birth = std::min(family->birth, buffers[i].lower);
      family->death = std::max(family->death, buffers[i].upper);
      family->alignment = std::lcm(family->alignment, buffers[i].alignment);
      if (buffers[i].fixed) family->fixed = *buffers[i].fixed - delta;
      for (std::size_t c = 0; c < case_.sizes.size(); ++c) {
        const std::int64_t size = case_.sizes[c][i];
        if (size > 0) family->bytes[c] = std::max(family->bytes[c], delta + size);
      }
    }
    std::sort(families_.begin(), families_.end(), [](const Family& a, const Family& b) {
      return std::pair(!a.fixed, a.root) < std::pair(!b.fixed, b.root);
    });
    at_.assign(families_.size(), 0);
  }

  bool are_fixed_apart() {
    for (std::size_t f = 0; f < families_.size() && families_[f].fixed; ++f) {
      at_[f] = *families_[f].fixed;
      for (std::size_t g = 0; g < f; ++g) {
        if (!are_apart(f, g)) return false;
      }
    }
    return true;
  }

  /// Nothing when the fixed ones are in each other's way.
  std::optional<std::int64_t> lowest() {
    if (!are_fixed_apart()) return std::nullopt;
    std::int64_t peak = 0;
    while (!try_from(0, peak)) ++peak;
    return peak;
  }

 private:
  struct Family {
    std::size_t root;
    std::int64_t birth, death, alignment;
    std::optional<std::int64_t> fixed;
    std::vector<std::int64_t> bytes;  // by class
  };

  bool are_apart(std::size_t a, std::size_t b) const {
    const Family& one = families_[a];
    const Family& two = families_[b];
    if (one.birth >= two.death || two.birth >= one.death) return true;
    for (std::size_t c = 0; c < one.bytes.size(); ++c) {
      if (one.bytes[c] == 0 || two.bytes[c] == 0) continue;
      if (at_[a] < at_[b] + two.bytes[c] && at_[b] < at_[a] + one.bytes[c]) return false;
    }
    return true;
  }
  bool try_from(std::size_t f, std::int64_t peak) {
    if (f == families_.size()) return true;
    const Family& family = families_[f];
    const std::int64_t size = *std::max_element(family.bytes.begin(), family.bytes.end());
    if (size == 0) return try_from(f + 1, peak);
    for (std::int64_t at = 0; at + size <= peak; at += family.alignment) {
      if (family.fixed && at != *family.fixed) continue;
      at_[f] = at;
      bool fits = true;
      for (std::size_t g = 0; g < f && fits; ++g) fits = are_apart(f, g);
      if (fits && try_from(f + 1, peak)) return true;
    }
    return false;
  }

  const Case& case_;
  std::vector<Family> families_;
  std::vector<std::int64_t> at_;
};

Case draw(Dice& dice, std::int64_t buffers) {
  Case out;
  const std::int64_t moments = dice.between(1, 5);
  const int absent = static_cast<int>(dice.between(0, 60));
  const bool has_fixed = dice.chance(30);
  for (std::int64_t i = 0; i < buffers; ++i) {
    Buffer buffer;
    buffer.lower = dice.below(moments);
    buffer.upper = buffer.lower + dice.between(1, moments);
    if (i > 0 && dice.chance(12)) {
      buffer.alias = Alias{static_cast<std::size_t>(dice.below(i)), dice.between(0, 2)};
    } else {
      if (dice.chance(25)) buffer.alignment = dice.between(2, 4);
      if (has_fixed && dice.chance(40)) buffer.fixed = buffer.alignment * dice.between(0, 2);
      if (dice.chance(10)) buffer.hint = dice.between(0, 8);
    }
    out.lives.buffers.push_back(buffer);
  }
  out.sizes.resize(static_cast<std::size_t>(dice.between(1, 4)));
  const std::int64_t most = dice.between(1, 5);
  for (std::vector<std::int64_t>& of_class : out.sizes) {
    for (std::int64_t i = 0; i < buffers; ++i) {
      of_class.push_back(dice.chance(absent) ? 0 : dice.between(1, most));
    }
  }
  return out;
}

std::string words(const Case& the_case) {
  std::string out;
  for (std::size_t i = 0; i < the_case.lives.buffers.size(); ++i) {
    const Buffer& buffer = the_case.lives.buffers[i];
    out += cat("\n[", buffer.lower, ", ", buffer.upper, ") alignment ", buffer.alignment);
    if (buffer.fixed) out += cat(" fixed ", *buffer.fixed);
    if (buffer.hint) out += cat(" hint ", *buffer.hint);
    if (buffer.alias) out += cat(" part of ", buffer.alias->of, " at ", buffer.alias->delta);
    out += " sizes";
    for (const std::vector<std::int64_t>& of_class : the_case.sizes) out += cat(" ", of_class[i]);
  }
  return out;
}

void switch_some_off(Dice& dice, Techniques& techniques) {
  for (const TechniqueName& technique : technique_names()) {
    if (technique.name != "exact" && dice.chance(25)) techniques.*technique.field = false;
  }
}

void expect_plan(const Case& the_case, const LockStep& plan) {
  std::int64_t peak = 0;
  for (std::size_t c = 0; c < the_case.sizes.size(); ++c) {
    const Problem problem = the_case.on(c);
    const std::vector<Finding> findings = validate(problem, plan.offsets, plan.peak);
    EXPECT_TRUE(findings.empty()) << findings[0].message;
    for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
      if (the_case.sizes[c][i] > 0) peak = std::max(peak, plan.offsets[i] + the_case.sizes[c][i]);
    }
  }
  EXPECT_EQ(plan.peak, peak);
  EXPECT_GE(plan.peak, plan.proven_bound);
  EXPECT_EQ(plan.optimal, plan.peak == plan.proven_bound);
}

// Through lock_step, with whatever finds the plan.
TEST(LockSearch, LockStepFindsTheLowestPeakOfTinyCases) {
  int above_the_bound = 0;
  int searched = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < few(12'000); ++seed) {
    Dice dice(seed);
    const Case the_case = draw(dice, dice.between(2, 5));
    SCOPED_TRACE(testing::Message() << "seed " << seed << words(the_case));
    const std::optional<std::int64_t> lowest = Brute(the_case).lowest();
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
    expect_plan(the_case, *plan);
    EXPECT_EQ(plan->peak, *lowest);
    EXPECT_TRUE(plan->optimal);
    above_the_bound += *lowest > bound ? 1 : 0;
    searched += plan->found_by == "search" ? 1 : 0;

    options.minimize = false;
    for (const std::int64_t capacity : {*lowest - 1, *lowest}) {
      options.capacity = capacity;
      const Result<LockStep> within = lock_step(the_case.lives, the_case.sizes, bound, options);
      ASSERT_TRUE(within) << within.error().message;
      expect_plan(the_case, *within);
      EXPECT_EQ(within->peak <= capacity, capacity == *lowest);
      EXPECT_EQ(within->proven_not_to_fit, capacity < *lowest);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(above_the_bound, static_cast<int>(few(300)));
  EXPECT_GT(searched, static_cast<int>(few(30)));
  EXPECT_GT(refused, static_cast<int>(few(100)));
}

/// A search over all buffers at once, with nothing found before it.
struct Alone {
  explicit Alone(const Case& the_case, const SolveOptions& options)
      : packing(*pack(largest(the_case), {}, FixedBlocks::kMayMeet)),
        relation(*relate(packing, the_case.sizes)),
        patience(options),
        blocks(relation, all()),
        cliques(find_cliques(relation, blocks)),
        search(blocks, cliques, options.techniques, patience) {}

  static Problem largest(const Case& the_case) {
    Problem problem = the_case.on(0);
    for (const std::vector<std::int64_t>& of_class : the_case.sizes) {
      for (std::size_t i = 0; i < of_class.size(); ++i) {
        problem.buffers[i].size = std::max(problem.buffers[i].size, of_class[i]);
      }
    }
    return problem;
  }
  std::vector<std::uint32_t> all() const {
    std::vector<std::uint32_t> ids(packing.blocks.size());
    std::iota(ids.begin(), ids.end(), 0u);
    return ids;
  }
  /// The plan that was found, as lock_step would tell it.
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
  Patience patience;
  LockBlocks blocks;
  std::vector<LockClique> cliques;
  LockSearch search;
};

TEST(LockSearch, DecidesTinyCasesAlone) {
  int above_the_cliques = 0;
  for (std::uint64_t seed = 0; seed < few(12'000); ++seed) {
    Dice dice(seed + 100'000);
    const Case the_case = draw(dice, dice.between(2, 6));
    SCOPED_TRACE(testing::Message() << "seed " << seed << words(the_case));
    const std::optional<std::int64_t> lowest = Brute(the_case).lowest();
    if (!lowest) continue;
    SolveOptions options;
    if (dice.chance(70)) switch_some_off(dice, options.techniques);
    Alone found(the_case, options);
    EXPECT_LE(found.search.bound(), *lowest);
    EXPECT_EQ(found.search.within(*lowest), SearchEnd::kFound);
    expect_plan(the_case, found.plan());
    // The same search goes on with what it remembers, and a new one does without.
    EXPECT_EQ(found.search.within(*lowest - 1), SearchEnd::kNone);
    Alone none(the_case, options);
    EXPECT_EQ(none.search.within(*lowest - 1), SearchEnd::kNone);
    EXPECT_EQ(none.search.within(*lowest + dice.between(0, 2)), SearchEnd::kFound);
    expect_plan(the_case, none.plan());
    std::int64_t peak = 100;
    std::int64_t proven = 0;
    Alone minimised(the_case, options);
    EXPECT_EQ(minimised.search.lowest(0, 0, peak, proven), SearchEnd::kFound);
    EXPECT_EQ(peak, *lowest);
    EXPECT_EQ(proven, *lowest);
    expect_plan(the_case, minimised.plan());
    if (HasFailure()) return;
    above_the_cliques += *lowest > found.search.bound() ? 1 : 0;
  }
  EXPECT_GT(above_the_cliques, static_cast<int>(few(200)));
}

// Too large for brute force: with every technique, without each of them, and without any.
TEST(LockSearch, TechniquesDoNotChangeTheAnswer) {
  for (std::uint64_t seed = 0; seed < few(60); ++seed) {
    Dice dice(seed + 200'000);
    const Case the_case = draw(dice, 9);
    if (!Brute(the_case).are_fixed_apart()) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed << words(the_case));
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

/// Many buffers on a few classes, each absent from some and a little smaller on others.
Case crowd(std::uint64_t seed, std::int64_t buffers) {
  Dice dice(seed * 1000 + static_cast<std::uint64_t>(buffers));
  Case out;
  for (std::int64_t i = 0; i < buffers; ++i) {
    Buffer buffer;
    buffer.lower = dice.below(buffers);
    buffer.upper = buffer.lower + dice.between(1, 12);
    out.lives.buffers.push_back(buffer);
  }
  out.sizes.resize(static_cast<std::size_t>(dice.between(3, 8)));
  std::vector<std::int64_t> largest;
  for (std::int64_t i = 0; i < buffers; ++i) largest.push_back(dice.between(4, 60));
  for (std::vector<std::int64_t>& of_class : out.sizes) {
    for (const std::int64_t size : largest) {
      const bool is_absent = dice.chance(50);
      const std::int64_t less = dice.chance(50) ? 0 : dice.between(0, 4);
      of_class.push_back(is_absent ? 0 : std::max<std::int64_t>(1, size - less));
    }
  }
  return out;
}

// 80 buffers: first-fit ends above the lowest plan, which the search finds and proves; the bound of
// the classes is far below it.
TEST(LockSearch, FindsWhatFirstFitMisses) {
  const Case the_case = crowd(2, 80);
  const std::int64_t bound = the_case.lower_bound();
  SolveOptions options;
  options.minimize = true;
  options.techniques.exact = false;
  const LockStep before = *lock_step(the_case.lives, the_case.sizes, bound, options);
  expect_plan(the_case, before);
  EXPECT_FALSE(before.optimal);
  options.techniques.exact = true;
  const auto start = std::chrono::steady_clock::now();
  const LockStep after = *lock_step(the_case.lives, the_case.sizes, bound, options);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  expect_plan(the_case, after);
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
  expect_plan(the_case, none);
}

// Every pair meets on a place of its own: no place has more than 6 bytes, all together need 9.
TEST(LockSearch, CliquesOverSeveralClassesAreABound) {
  Case the_case;
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

TEST(LockSearch, EndsWhenItIsToldTo) {
  const Case the_case = crowd(3, 80);  // which takes long
  const std::int64_t bound = the_case.lower_bound();
  SolveOptions options;
  options.minimize = true;
  options.nodes = 3'000;
  const LockStep one = *lock_step(the_case.lives, the_case.sizes, bound, options);
  const LockStep two = *lock_step(the_case.lives, the_case.sizes, bound, options);
  expect_plan(the_case, one);
  EXPECT_FALSE(one.optimal);
  EXPECT_EQ(one.offsets, two.offsets);

  options.nodes = INT64_MAX;
  options.seconds = 0.2;
  const auto start = std::chrono::steady_clock::now();
  const LockStep timed = *lock_step(the_case.lives, the_case.sizes, bound, options);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 1.5);
  expect_plan(the_case, timed);

  options.seconds = 60;
  Progress last;
  options.progress_context = &last;
  options.progress = [](void* context, const Progress& progress) {
    *static_cast<Progress*>(context) = progress;
    return false;
  };
  const LockStep stopped = *lock_step(the_case.lives, the_case.sizes, bound, options);
  expect_plan(the_case, stopped);
  EXPECT_GT(last.nodes, 0);
  EXPECT_GE(last.peak, stopped.peak);
  EXPECT_GE(last.lower_bound, bound);
}

/// Two buffers that live together, each fixed where it is said.
Case fixed_pair(std::int64_t first, std::int64_t second, ClassSizes sizes) {
  Case out;
  out.lives.buffers.resize(2);
  for (Buffer& buffer : out.lives.buffers) buffer.upper = 1;
  out.lives.buffers[0].fixed = first;
  out.lives.buffers[1].fixed = second;
  out.sizes = std::move(sizes);
  return out;
}

TEST(LockSearch, FixedBuffersMayMeetWhereNoPlaceHasBoth) {
  const std::vector<Case> fine = {
      fixed_pair(0, 0, {{8, 0}, {0, 6}}),          // on no place both
      fixed_pair(0, 4, {{8, 0}, {4, 6}}),          // where both are, the first ends at 4
      fixed_pair(4, 0, {{4, 4}, {0, 9}, {9, 0}}),  // the same the other way round
  };
  for (const Case& the_case : fine) {
    SCOPED_TRACE(words(the_case));
    for (const bool minimize : {false, true}) {
      SolveOptions options;
      options.minimize = minimize;
      const Result<LockStep> plan =
          lock_step(the_case.lives, the_case.sizes, the_case.lower_bound(), options);
      ASSERT_TRUE(plan) << plan.error().message;
      expect_plan(the_case, *plan);
      EXPECT_TRUE(plan->optimal);
    }
  }
  // A third buffer meets both, and goes between them where it fits.
  Case between = fixed_pair(0, 10, {{4, 0, 6}, {0, 4, 5}, {12, 0, 0}});
  between.lives.buffers.push_back(between.lives.buffers[0]);
  between.lives.buffers[2].fixed.reset();
  SolveOptions options;
  options.minimize = true;
  const LockStep plan = *lock_step(between.lives, between.sizes, between.lower_bound(), options);
  expect_plan(between, plan);
  EXPECT_EQ(plan.offsets, (std::vector<std::int64_t>{0, 10, 4}));

  const Case bad = fixed_pair(0, 3, {{8, 0}, {4, 6}});
  const Result<LockStep> refused = lock_step(bad.lives, bad.sizes, 9, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadBuffer);
  EXPECT_NE(refused.error().message.find("[3, 4)"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace tessera::memory
