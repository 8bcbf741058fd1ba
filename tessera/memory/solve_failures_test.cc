// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <new>

#include "bench/global_new.h"
#include "bench/hard_instance.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/solver/packing.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/memory/naive_alloc.h"
#include "tessera/testing/process.h"

// While a test has armed this, memory is refused to the whole program; such tests run on one
// thread.
namespace {

std::atomic<bool> armed{false};
std::atomic<std::int64_t> asked{0};        // allocations since then
std::atomic<std::int64_t> outstanding{0};  // of those, not yet released
std::int64_t first_refused = 0;
std::int64_t last_refused = 0;

}  // namespace

bool tessera::bench::may_allocate() {
  if (!armed.load(std::memory_order_relaxed)) return true;
  const std::int64_t turn = asked.fetch_add(1, std::memory_order_relaxed) + 1;
  return turn < first_refused || turn > last_refused;
}
void tessera::bench::allocated(void*) {
  if (armed.load(std::memory_order_relaxed)) outstanding.fetch_add(1, std::memory_order_relaxed);
}
void tessera::bench::releases(void*) {
  if (armed.load(std::memory_order_relaxed)) outstanding.fetch_sub(1, std::memory_order_relaxed);
}

namespace tessera::memory {
namespace {

/// The result of one solve() with refused allocations.
struct Trial {
  bool solved = false;
  bool escaped = false;  // an exception came out of it
  ErrorCode code = ErrorCode::kSyntax;
  std::vector<std::int64_t> offsets;
  std::int64_t peak = 0;
  std::int64_t asked = 0;
  std::int64_t leaked = 0;
};

/// Solves, while allocations `first` to `last` (the first ever is 1) are refused.
Trial solve_without(const Problem& problem, const SolveOptions& options, std::int64_t first,
                    std::int64_t last) {
  Trial trial;
  trial.offsets.resize(problem.buffers.size());
  first_refused = first;
  last_refused = last;
  asked = 0;
  outstanding = 0;
  armed = true;
  try {
    const Result<Solution> solution = solve(problem, options);
    trial.solved = solution.ok();
    if (solution.ok()) {
      std::copy_n(solution->offsets.begin(),
                  std::min(solution->offsets.size(), trial.offsets.size()), trial.offsets.begin());
      trial.peak = solution->peak;
    } else {
      trial.code = solution.error().code;
    }
  } catch (const std::bad_alloc&) {
    trial.escaped = true;
  }
  armed = false;
  trial.asked = asked;
  trial.leaked = outstanding;
  return trial;
}

/// Refuses the k-th allocation, alone and with all that follow, for every k until nothing is
/// refused any more: solve() reports it or continues without, and leaks nothing.
void expect_survives(const Problem& problem, const SolveOptions& options, std::string_view what) {
  SCOPED_TRACE(what);
  ASSERT_TRUE(solve(problem, options).ok());
  const Trial whole = solve_without(problem, options, 0, 0);
  ASSERT_TRUE(whole.solved);
  EXPECT_EQ(whole.leaked, 0);
  EXPECT_GT(whole.asked, 5) << "nothing to refuse";
  std::int64_t errors = 0;
  for (std::int64_t k = 1; k <= whole.asked; ++k) {
    for (const bool alone : {true, false}) {
      SCOPED_TRACE(testing::Message() << "allocation " << k << (alone ? "" : " and all after"));
      const Trial trial = solve_without(problem, options, k, alone ? k : INT64_MAX);
      ASSERT_FALSE(trial.escaped) << "an allocation that throws";
      ASSERT_EQ(trial.leaked, 0);
      if (trial.solved) {
        const std::vector<Finding> findings = validate(problem, trial.offsets, trial.peak);
        ASSERT_TRUE(findings.empty()) << findings[0].message;
      } else {
        ASSERT_EQ(code_name(trial.code), code_name(ErrorCode::kOutOfMemory));
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 0);
  EXPECT_TRUE(solve(problem, options).ok());
}

Problem hard(std::int64_t buffers, std::uint64_t seed) {
  return bench::hard_instance({.buffers = buffers,
                               .seed = seed,
                               .capacity = 64,
                               .span = 64,
                               .grain = 1,
                               .layers = 3,
                               .full_percent = 50,
                               .waste_permille = 20})
      .problem;
}

/// The first hard problem with this many buffers that gives the exact search some work.
Problem harder(std::int64_t buffers, const SolveOptions& options) {
  for (std::uint64_t seed = 1;; ++seed) {
    Problem problem = hard(buffers, seed);
    if (solve(problem, options)->nodes >= 40) return problem;
  }
}

SolveOptions bounded(std::int64_t nodes) {
  SolveOptions options;
  options.minimize = true;
  options.nodes = nodes;
  options.seconds = 1000;
  return options;
}

TEST(SolveFailures, SurvivesRefusalsInRulesOfThumb) {
  SolveOptions options;
  options.techniques.repair = false;
  options.techniques.exact = false;
  expect_survives(hard(30, 1), options, "greedy");
  // Enough of them for a ring, which is best for equal lifetimes.
  Problem pipeline;
  for (std::int64_t i = 0; i < 2100; ++i) pipeline.buffers.push_back({i, i + 9, 1 + i * 37 % 101});
  expect_survives(pipeline, options, "ring");
  options.techniques.greedy = false;
  expect_survives(hard(30, 1), options, "nothing at all");
}

TEST(SolveFailures, SurvivesRefusalsInRepair) {
  SolveOptions options = bounded(0);
  options.techniques.exact = false;
  expect_survives(hard(30, 2), options, "repair");
  // More than 48 at a time, whose edges are sorted by buckets, and alignments that leave gaps.
  Problem crowd;
  for (std::int64_t i = 0; i < 120; ++i) {
    const std::int64_t birth = i * 29 % 40;
    crowd.buffers.push_back({birth, birth + 10 + i * 17 % 30, 1 + i * 37 % 101, 1 + i % 7 * 5});
  }
  expect_survives(crowd, options, "repair of a crowd");
}

TEST(SolveFailures, SurvivesRefusalsInTheExactSearch) {
  SolveOptions options = bounded(200);
  options.techniques.greedy = false;
  options.techniques.repair = false;
  expect_survives(harder(24, options), options, "exact");
  options = bounded(100);
  expect_survives(harder(50, options), options, "all techniques");
  options.capacity = 64;
  options.minimize = false;
  expect_survives(harder(50, options), options, "all techniques, within a capacity");
  options.techniques.repair = false;
  options.techniques.decomposition = false;
  options.techniques.dynamic_decomposition = false;
  options.techniques.memory_of_failures = false;
  expect_survives(harder(40, options), options, "few techniques");
}

TEST(SolveFailures, SurvivesRefusalsWithFixedBuffersAndAliases) {
  int tried = 0;
  for (std::uint64_t seed = 0; tried < 5; ++seed) {
    test::Dice dice(seed);
    const Problem problem =
        test::random_problem(dice, {.max_buffers = 16, .alias = 30, .fixed = 25, .hint = 30});
    if (problem.buffers.size() < 10) continue;
    ++tried;
    expect_survives(problem, bounded(50), test::text_of(problem));
    if (HasFailure()) return;
  }
}

TEST(SolveFailures, SurvivesRefusalsWithGaps) {
  int tried = 0;
  for (std::uint64_t seed = 0; tried < 6; ++seed) {
    test::Dice dice(seed + 100);
    const Problem problem = test::random_problem(
        dice, {.max_buffers = 14, .alias = 10, .fixed = 15, .hint = 20, .gaps = 60});
    SolveOptions options = bounded(60);
    options.techniques.greedy = tried % 2 == 0;
    if (problem.buffers.size() < 10 || solve(problem, options)->nodes < 20) continue;
    ++tried;
    expect_survives(problem, options, test::text_of(problem));
    if (HasFailure()) return;
  }
}

TEST(SolveFailures, SurvivesRefusalsWhereManyStatesFail) {
  // More failures than the first table holds, which is 512.
  SolveOptions options = bounded(3000);
  options.techniques.greedy = false;
  options.techniques.repair = false;
  options.techniques.symmetry = false;
  options.techniques.section_inference = false;
  expect_survives(harder(60, options), options, "a table of failures that grows");
}

TEST(SolveFailures, SurvivesRefusalsInPartsOfTime) {
  // The same problem three times, one after the other: each is searched separately.
  SolveOptions options = bounded(300);
  options.techniques.repair = false;
  const Problem once = harder(30, options);
  Problem problem;
  for (std::int64_t time = 0; time < 3; ++time) {
    for (Buffer buffer : once.buffers) {
      buffer.lower += 1000 * time;
      buffer.upper += 1000 * time;
      problem.buffers.push_back(buffer);
    }
  }
  expect_survives(problem, options, "parts");
}

TEST(SolveFailures, SurvivesRefusalsAroundWhatIsPinned) {
  // So many that only those which overlap a fixed or hinted buffer are placed again.
  SolveOptions options = bounded(0);
  options.techniques.exact = false;
  Problem problem = hard(2300, 1);
  const Result<Solution> plan = solve(problem, options);
  ASSERT_TRUE(plan.ok());
  for (std::size_t i = 0; i < problem.buffers.size(); i += 100) {
    std::optional<std::int64_t>& given =
        i % 200 == 0 ? problem.buffers[i].fixed : problem.buffers[i].hint;
    given = plan->offsets[i];
  }
  expect_survives(problem, options, "around what is pinned");
}

TEST(SolveFailures, SaysThatMemoryIsOutWithoutAskingForMore) {
  // Even the first allocation is refused, and all that would be needed for a long message.
  const Trial trial = solve_without(hard(30, 1), {}, 1, INT64_MAX);
  EXPECT_FALSE(trial.solved);
  EXPECT_FALSE(trial.escaped);
  EXPECT_EQ(code_name(trial.code), "out_of_memory");
  EXPECT_EQ(trial.leaked, 0);
}

TEST(SolveFailures, ADeepSearchRarelyAsksForMemory) {
  // Down to 500 placed blocks: the undo list grows by doubling, not by steps.
  SolveOptions options = bounded(2000);
  options.minimize = false;
  options.capacity = 76;
  options.techniques.greedy = false;
  options.techniques.repair = false;
  const Trial trial = solve_without(hard(500, 1), options, 0, 0);
  EXPECT_TRUE(trial.solved);
  EXPECT_LE(trial.peak, 76);
  EXPECT_LT(trial.asked, 300);
}

TEST(SolveFailures, TheTestCanFail) {
  // A throwing allocation is detected as an escaped exception, and one that is kept as a leak.
  first_refused = 1;
  last_refused = 1;
  asked = 0;
  outstanding = 0;
  armed = true;
  void* refused = ::operator new(16, std::nothrow);
  void* kept = ::operator new(16, std::nothrow);
  armed = false;
  EXPECT_EQ(refused, nullptr);
  EXPECT_NE(kept, nullptr);
  EXPECT_EQ(outstanding, 1);
  ::operator delete(kept);
}

}  // namespace
}  // namespace tessera::memory
