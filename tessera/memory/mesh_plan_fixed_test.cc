// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/memory/lock_step/lock_step.h"
#include "tessera/memory/mesh_plan.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/build.h"
#include "tessera/testing/memory/mesh_cases.h"

namespace tessera::memory {
namespace {

using test::alive;
using test::check_mesh_plan;
using test::grid;
using test::lowered;
using test::MeshCase;
using test::planned;
using test::shape;

TEST(MeshPlan, KeepsFixedOffsetsAndTellsWhenTheyAreTooHigh) {
  MeshCase the_case;
  the_case.mesh = shape({1, 2});
  the_case.layouts = {lowered(grid(1, 1), {1, 4}), lowered(grid(1, 2), {1, 4})};
  the_case.buffers = {alive(0, 1), alive(0, 1)};
  the_case.buffers[0].fixed = 100;
  const PlaceSizes sizes = the_case.sizes();
  for (const OffsetMode mode : {OffsetMode::kLockStep, OffsetMode::kPerClass}) {
    const MeshPlan plan = planned(the_case.buffers, sizes, mode, 50);
    EXPECT_EQ(plan.outcome, Outcome::kDoesNotFit);
    EXPECT_EQ(plan.offsets[0][0], 100);
    EXPECT_EQ(plan.peak, 116);
    EXPECT_EQ(planned(the_case.buffers, sizes, mode, 116).outcome, Outcome::kFits);
  }
}

TEST(MeshPlan, CountsWhatIsFixedThroughAnAlias) {
  // The second tensor begins 16 bytes into the first, at 116, and has 16 bytes itself; so the
  // lowest capacity of any plan is 132, which no single buffer shows.
  MeshCase the_case;
  the_case.mesh = shape({1, 2});
  the_case.layouts = {lowered(grid(1, 1), {1, 4}), lowered(grid(1, 1), {1, 4})};
  the_case.buffers = {alive(0, 1), alive(0, 1)};
  the_case.buffers[0].fixed = 100;
  the_case.buffers[1].alias = Alias{0, 16};
  const PlaceSizes sizes = the_case.sizes();
  for (const OffsetMode mode : {OffsetMode::kLockStep, OffsetMode::kPerClass}) {
    SCOPED_TRACE(offset_mode_name(mode));
    for (const std::optional<std::int64_t> capacity : {std::optional<std::int64_t>{}, {120}}) {
      const Result<MeshPlan> plan = plan_mesh(the_case.buffers, sizes, {mode, {capacity}});
      ASSERT_TRUE(plan) << plan.error().message;
      EXPECT_EQ(plan->peak, 132);
      EXPECT_EQ(plan->lower_bound, 132);
      EXPECT_EQ(plan->outcome, capacity ? Outcome::kDoesNotFit : Outcome::kFits);
      EXPECT_EQ(plan->offsets[0], (std::vector<std::int64_t>{100, 116}));
    }
  }
}

// Each place has a separate tensor, and all are fixed at one address; one more is everywhere. Below
// and above 64 classes, where plans per class begin to be shared.
TEST(MeshPlan, TensorsOfDifferentPlacesMayBeFixedOnTheSameBytes) {
  for (const std::int64_t places : {3, 70}) {
    MeshCase the_case;
    the_case.mesh = shape({1, places});
    for (std::int64_t t = 0; t < places; ++t) {
      the_case.layouts.push_back(lowered(grid(1, 1, {0, t}), {1, 1 + t % 5}));
      the_case.buffers.push_back(alive(0, 2));
      the_case.buffers.back().fixed = 8;
    }
    the_case.layouts.push_back(lowered(grid(1, places), {1, 2 * places}));
    the_case.buffers.push_back(alive(1, 3));
    const PlaceSizes sizes = the_case.sizes();
    EXPECT_EQ(sizes.maximal().size(), static_cast<std::size_t>(places));
    for (const OffsetMode mode : {OffsetMode::kLockStep, OffsetMode::kPerClass}) {
      SCOPED_TRACE(offset_mode_name(mode));
      const MeshPlan plan = planned(the_case.buffers, sizes, mode);
      const std::int64_t end = 8 + 4 * std::min<std::int64_t>(places, 5);
      EXPECT_EQ(plan.peak, end);  // the last tensor goes below the fixed ones
      EXPECT_TRUE(plan.optimal);
      EXPECT_EQ(planned(the_case.buffers, sizes, mode, end).outcome, Outcome::kFits);
      EXPECT_EQ(planned(the_case.buffers, sizes, mode, end - 1).outcome, Outcome::kDoesNotFit);
      for (std::size_t c = 0; c < sizes.classes(); ++c) {
        EXPECT_TRUE(
            validate(problem_of(the_case.buffers, sizes, c), plan.offsets_of(sizes, c), plan.peak)
                .empty());
      }
    }
    the_case.buffers.back().fixed = 4;  // [4, 12) where all others are at 8
    for (const OffsetMode mode : {OffsetMode::kLockStep, OffsetMode::kPerClass}) {
      EXPECT_EQ(plan_mesh(the_case.buffers, sizes, {mode, {}}).error().code, ErrorCode::kBadBuffer);
    }
  }
}

// The search decides in lock step what the bound of the classes leaves open.
TEST(MeshPlan, TellsThatLockStepDoesNotFitWhereEveryClassWould) {
  MeshCase the_case;
  the_case.mesh = shape({1, 3});
  the_case.layouts = {lowered(grid(1, 2), {1, 6}), lowered(grid(1, 2, {0, 1}), {1, 6}),
                      lowered(grid(1, 1), {1, 3}), lowered(grid(1, 1, {0, 2}), {1, 3})};
  the_case.buffers = {alive(0, 1), alive(0, 1), alive(0, 1), alive(0, 1)};
  // One tensor on the first and the last place: two buffers that share their memory.
  the_case.buffers[3].alias = Alias{2, 0};
  const PlaceSizes sizes = the_case.sizes();
  EXPECT_EQ(planned(the_case.buffers, sizes, OffsetMode::kPerClass, 24).outcome, Outcome::kFits);
  for (const std::int64_t capacity : {24, 35}) {
    const MeshPlan plan = planned(the_case.buffers, sizes, OffsetMode::kLockStep, capacity);
    check_mesh_plan(the_case.buffers, sizes, plan);
    EXPECT_EQ(plan.outcome, Outcome::kDoesNotFit);
    EXPECT_TRUE(plan.optimal);
    EXPECT_EQ(plan.lower_bound, 24);
    EXPECT_EQ(plan.peak, 36);
  }
  EXPECT_EQ(planned(the_case.buffers, sizes, OffsetMode::kLockStep, 36).outcome, Outcome::kFits);
}

}  // namespace
}  // namespace tessera::memory
