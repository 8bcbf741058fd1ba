// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_step/lock_step.h"

#include <gtest/gtest.h>

#include "tessera/testing/memory/lock_cases.h"
#include "tessera/testing/memory/solve_laws.h"
#include "tessera/testing/process.h"

namespace tessera::memory {
namespace {

using test::cpu_seconds;
using test::expect_lock_step;
using test::lock_crowd;
using test::LockCase;

TEST(LockStep, EndsWhenItIsToldTo) {
  const LockCase the_case = lock_crowd(3, 80);  // which takes long
  const std::int64_t bound = the_case.lower_bound();
  SolveOptions options;
  options.minimize = true;
  options.nodes = 3'000;
  const LockStep one = *lock_step(the_case.lives, the_case.sizes, bound, options);
  const LockStep two = *lock_step(the_case.lives, the_case.sizes, bound, options);
  expect_lock_step(the_case, one);
  EXPECT_FALSE(one.optimal);
  EXPECT_EQ(one.offsets, two.offsets);

  options.nodes = INT64_MAX;
  options.seconds = 0.2;
  const double start = cpu_seconds();
  const LockStep timed = *lock_step(the_case.lives, the_case.sizes, bound, options);
  EXPECT_LT(cpu_seconds() - start, 1.5);
  expect_lock_step(the_case, timed);

  options.seconds = 60;
  Progress last;
  options.progress_context = &last;
  options.progress = [](void* context, const Progress& progress) {
    *static_cast<Progress*>(context) = progress;
    return false;
  };
  const LockStep stopped = *lock_step(the_case.lives, the_case.sizes, bound, options);
  expect_lock_step(the_case, stopped);
  EXPECT_GT(last.seconds, 0);
  EXPECT_GE(last.peak, stopped.peak);
  EXPECT_GE(last.lower_bound, bound);
  EXPECT_LE(last.lower_bound, stopped.proven_bound);
}

// 20,000 crowds of three; first-fit alone would repair each for a tenth of a millisecond.
TEST(LockStep, FirstFitEndsWhenItIsToldTo) {
  LockCase the_case;
  the_case.sizes.resize(3);
  for (std::int64_t crowd = 0; crowd < 20'000; ++crowd) {
    for (std::size_t i = 0; i < 3; ++i) {
      Buffer buffer;
      buffer.lower = crowd;
      buffer.upper = crowd + 1;
      the_case.lives.buffers.push_back(buffer);
      for (std::size_t c = 0; c < 3; ++c) {
        the_case.sizes[c].push_back(c == i ? 0 : 100 + crowd % 50);
      }
    }
  }
  SolveOptions options;
  options.minimize = true;
  options.seconds = 0.05;
  const double start = cpu_seconds();
  const LockStep plan = *lock_step(the_case.lives, the_case.sizes, 298, options);
  EXPECT_LT(cpu_seconds() - start, 1);
  expect_lock_step(the_case, plan);
  EXPECT_EQ(plan.peak, 447);  // no crowd needs less than its sum
}

/// Two buffers that are live together, each fixed at the given offset.
LockCase fixed_pair(std::int64_t first, std::int64_t second, ClassSizes sizes) {
  LockCase out;
  out.lives.buffers.resize(2);
  for (Buffer& buffer : out.lives.buffers) buffer.upper = 1;
  out.lives.buffers[0].fixed = first;
  out.lives.buffers[1].fixed = second;
  out.sizes = std::move(sizes);
  return out;
}

TEST(LockStep, FixedBuffersMayMeetWhereNoPlaceHasBoth) {
  const std::vector<LockCase> fine = {
      fixed_pair(0, 0, {{8, 0}, {0, 6}}),          // no place has both
      fixed_pair(0, 4, {{8, 0}, {4, 6}}),          // where both are, the first ends at 4
      fixed_pair(4, 0, {{4, 4}, {0, 9}, {9, 0}}),  // the same in the other order
  };
  for (const LockCase& the_case : fine) {
    SCOPED_TRACE(the_case.description());
    for (const bool minimize : {false, true}) {
      SolveOptions options;
      options.minimize = minimize;
      const Result<LockStep> plan =
          lock_step(the_case.lives, the_case.sizes, the_case.lower_bound(), options);
      ASSERT_TRUE(plan) << plan.error().message;
      expect_lock_step(the_case, *plan);
      EXPECT_TRUE(plan->optimal);
    }
  }
  // A third buffer conflicts with both, and goes between them where it fits.
  LockCase between = fixed_pair(0, 10, {{4, 0, 6}, {0, 4, 5}, {12, 0, 0}});
  between.lives.buffers.push_back(between.lives.buffers[0]);
  between.lives.buffers[2].fixed.reset();
  SolveOptions options;
  options.minimize = true;
  const LockStep plan = *lock_step(between.lives, between.sizes, between.lower_bound(), options);
  expect_lock_step(between, plan);
  EXPECT_EQ(plan.offsets, (std::vector<std::int64_t>{0, 10, 4}));
  // However much memory there is, a plan is made.
  options.minimize = false;
  options.capacity = INT64_MAX;
  expect_lock_step(between,
                   *lock_step(between.lives, between.sizes, between.lower_bound(), options));

  const LockCase bad = fixed_pair(0, 3, {{8, 0}, {4, 6}});
  const Result<LockStep> refused = lock_step(bad.lives, bad.sizes, 9, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadBuffer);
  EXPECT_NE(refused.error().message.find("[3, 4)"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace tessera::memory
