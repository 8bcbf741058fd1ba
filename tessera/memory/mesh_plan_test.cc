// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/mesh_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/memory/lock_step/lock_step.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/build.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/memory/mesh_cases.h"
#include "tessera/testing/process.h"

namespace tessera::memory {
namespace {

using test::alive;
using test::check_mesh_case;
using test::check_mesh_plan;
using test::Dice;
using test::grid;
using test::lowered;
using test::MeshCase;
using test::planned;
using test::shape;

// Two halves of a mesh with separate tensors: in lock step they share addresses.
TEST(MeshPlan, SharesMemoryBetweenTensorsThatShareNoPlace) {
  MeshCase the_case;
  the_case.mesh = shape({2, 4});
  the_case.layouts = {lowered(grid(2, 2), {2, 20}), lowered(grid(2, 2, {0, 2}), {2, 20}),
                      lowered(grid(2, 4), {2, 4})};
  the_case.buffers = {alive(0, 2), alive(0, 2), alive(1, 3)};
  const PlaceSizes sizes = the_case.sizes();
  const MeshPlan plan = planned(the_case.buffers, sizes, OffsetMode::kLockStep);
  check_mesh_plan(the_case.buffers, sizes, plan);
  EXPECT_EQ(plan.lower_bound, 40 + 4);
  EXPECT_EQ(plan.peak, 44);  // the sum of the largest would be 84
  EXPECT_TRUE(plan.optimal);
  EXPECT_EQ(plan.found_by, "pairs");
}

TEST(MeshPlan, RefusesGaps) {
  MeshCase the_case;
  the_case.mesh = shape({2, 4});
  the_case.layouts = {lowered(grid(2, 2), {2, 20}), lowered(grid(2, 4), {2, 4})};
  the_case.buffers = {alive(0, 4), alive(0, 4)};
  the_case.buffers[1].gaps = {{1, 2}};
  for (const OffsetMode mode : {OffsetMode::kLockStep, OffsetMode::kPerClass}) {
    const Result<MeshPlan> plan = plan_mesh(the_case.buffers, the_case.sizes(), {.mode = mode});
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().code, ErrorCode::kNotSupported);
    EXPECT_EQ(plan.error().span, (Span{1, 2}));
    EXPECT_FALSE(plan.error().help.empty());
  }
  const Result<LockStep> step = lock_step({the_case.buffers}, {{4, 4}}, 8, {});
  ASSERT_FALSE(step.ok());
  EXPECT_EQ(step.error().code, ErrorCode::kNotSupported);
}

// Below b, only what a has on the places of both must be cleared: a is larger elsewhere.
TEST(MeshPlan, ClearsOnlyWhatIsOnPlacesOfBoth) {
  // a: 40 and 4 bytes on places 0 and 1; b: 60 bytes on place 1. Separately: 44 and 64 bytes.
  const ClassSizes sizes = {{40, 0}, {4, 60}};
  Problem lives;
  lives.buffers = {alive(0, 1), alive(0, 1)};
  const LockStep plan = *lock_step(lives, sizes, 64, {});
  EXPECT_EQ(plan.peak, 64);
  EXPECT_EQ(plan.found_by, "pairs");
  for (const std::vector<std::int64_t>& vector : sizes) {
    for (std::size_t i = 0; i < vector.size(); ++i) lives.buffers[i].size = vector[i];
    EXPECT_TRUE(validate(lives, plan.offsets, 64).empty());
  }
}

TEST(MeshPlan, KeepsTheLawOnSmallMeshes) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Dice dice(seed);
    MeshCase the_case;
    the_case.mesh = shape({dice.between(1, 6), dice.between(1, 6)});
    const std::int64_t tensors = dice.between(1, 9);
    for (std::int64_t t = 0; t < tensors; ++t) {
      const std::int64_t rows = dice.between(1, the_case.mesh[0]);
      const std::int64_t cols = dice.between(1, the_case.mesh[1]);
      notation::PyflameLayout terms = grid(
          rows, cols,
          {dice.between(0, the_case.mesh[0] - rows), dice.between(0, the_case.mesh[1] - cols)});
      if (dice.chance(20)) terms.replicate = {static_cast<int>(dice.below(2))};
      if (dice.chance(20)) {
        terms.kind = notation::PyflameLayout::Kind::kCustom;
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t c = 0; c < cols; ++c) terms.pes.push_back({r, cols - 1 - c});
        }
      }
      the_case.layouts.push_back(lowered(terms, {dice.between(1, 12), dice.between(1, 12)}));
      const std::int64_t from = dice.below(10);
      Buffer buffer = alive(from, from + dice.between(1, 5), dice.chance(30) ? 16 : 1);
      if (t > 0 && dice.chance(20)) {
        const auto of = static_cast<std::size_t>(dice.below(t));
        buffer.alias = Alias{of, 0};
        buffer.alignment = 1;
      }
      the_case.buffers.push_back(buffer);
    }
    check_mesh_case(the_case);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

// Naive: each place is planned alone. Planning per class loses nothing against it, lock step
// little.
TEST(MeshPlan, IsNoWorseThanPlanningEveryPlace) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Dice dice(seed);
    MeshCase the_case;
    the_case.mesh = shape({4, 5});
    for (int t = 0; t < 8; ++t) {
      the_case.layouts.push_back(
          lowered(grid(dice.between(1, 4), dice.between(1, 5)), {dice.between(1, 30), 7}));
      const std::int64_t from = dice.below(8);
      the_case.buffers.push_back(alive(from, from + dice.between(1, 4)));
    }
    const PlaceSizes sizes = the_case.sizes();
    SolveOptions options;
    options.minimize = true;
    options.seconds = 1000;
    options.nodes = 100'000;
    std::int64_t naive = 0;
    for (std::int64_t i = 0; i < the_case.mesh.elements(); ++i) {
      const Problem problem =
          problem_of(the_case.buffers, sizes, sizes.class_of(the_case.mesh.delinear(i)));
      naive = std::max(naive, solve(problem, options)->peak);
    }
    for (const OffsetMode mode : {OffsetMode::kLockStep, OffsetMode::kPerClass}) {
      MeshPlanOptions mesh_options{mode, options};
      const MeshPlan plan = *plan_mesh(the_case.buffers, sizes, mesh_options);
      EXPECT_LE(plan.peak, naive) << "seed " << seed;
    }
  }
}

TEST(MeshPlan, IsTheSameEveryTime) {
  MeshCase the_case;
  the_case.mesh = shape({6, 6});
  Dice dice(3);
  for (int t = 0; t < 30; ++t) {
    const std::int64_t rows = dice.between(1, 5);
    const std::int64_t cols = dice.between(1, 5);
    the_case.layouts.push_back(
        lowered(grid(rows, cols, {dice.below(7 - rows), dice.below(7 - cols)}),
                {dice.between(5, 40), dice.between(5, 40)}));
    const std::int64_t from = dice.below(20);
    the_case.buffers.push_back(alive(from, from + dice.between(1, 9)));
  }
  const PlaceSizes sizes = the_case.sizes();
  const MeshPlan one = planned(the_case.buffers, sizes, OffsetMode::kLockStep);
  const MeshPlan two = planned(the_case.buffers, sizes, OffsetMode::kLockStep);
  EXPECT_EQ(one.offsets, two.offsets);
  check_mesh_plan(the_case.buffers, sizes, one);
}

TEST(MeshPlan, RefusesBuffersWithoutSizes) {
  MeshCase the_case;
  the_case.mesh = shape({1, 2});
  the_case.layouts = {lowered(grid(1, 1), {1, 4})};
  const PlaceSizes sizes = the_case.sizes();
  const std::vector<Buffer> two = {alive(0, 1), alive(0, 1)};
  EXPECT_EQ(plan_mesh(two, sizes, {}).error().code, ErrorCode::kBadBuffer);
  const std::vector<Buffer> backwards = {alive(3, 1)};
  EXPECT_EQ(plan_mesh(backwards, sizes, {}).error().code, ErrorCode::kBadBuffer);
}

/// 100 tensors on a wafer, each on a different grid, from one corner or from anywhere.
MeshCase wafer(bool anywhere) {
  MeshCase the_case;
  the_case.mesh = shape({994, 750});
  for (std::int64_t t = 0; t < 100; ++t) {
    const std::int64_t rows = anywhere ? 100 + t * 97 % 200 : 500 + t * 97 % 495;
    const std::int64_t cols = anywhere ? 80 + t * 61 % 150 : 400 + t * 61 % 351;
    const notation::PyflameLayout::Pe origin = {anywhere ? t * 353 % (995 - rows) : 0,
                                                anywhere ? t * 211 % (751 - cols) : 0};
    the_case.layouts.push_back(lowered(grid(rows, cols, origin), {rows * 7 - 3, cols * 10 - 4}));
    the_case.buffers.push_back(alive(t, t + 1 + t * 31 % 17));
  }
  return the_case;
}

// A map with one entry per place takes half a minute; milliseconds are measured by `bench memory`.
TEST(MeshPlan, PlansAWaferOfGridsInMilliseconds) {
  const MeshCase the_case = wafer(false);
  for (const OffsetMode mode : {OffsetMode::kLockStep, OffsetMode::kPerClass}) {
    const double start = test::cpu_seconds();
    const PlaceSizes sizes = the_case.sizes();
    const MeshPlan plan = planned(the_case.buffers, sizes, mode, 36864);
    const std::vector<std::int64_t> used = plan.used_by_class(sizes);
    const double seconds = test::cpu_seconds() - start;
    EXPECT_LT(seconds, 2);
    RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
    EXPECT_EQ(plan.outcome, Outcome::kFits);
    EXPECT_EQ(sizes.maximal().size(), 1u);
    for (std::size_t c = 0; c < sizes.classes(); c += 997) {
      EXPECT_TRUE(
          validate(problem_of(the_case.buffers, sizes, c), plan.offsets_of(sizes, c), plan.peak)
              .empty());
    }
  }
}

TEST(MeshPlan, PlansTensorsThatBeginAnywhere) {
  const MeshCase the_case = wafer(true);
  const PlaceSizes sizes = the_case.sizes();
  EXPECT_GT(sizes.maximal().size(), 100u);
  for (const OffsetMode mode : {OffsetMode::kLockStep, OffsetMode::kPerClass}) {
    const MeshPlan plan = planned(the_case.buffers, sizes, mode, 36864);
    EXPECT_EQ(plan.outcome, Outcome::kFits);
    for (const std::uint32_t c : sizes.maximal()) {
      ASSERT_TRUE(
          validate(problem_of(the_case.buffers, sizes, c), plan.offsets_of(sizes, c), plan.peak)
              .empty());
    }
    EXPECT_LE(plan.lower_bound, plan.peak);
  }
}

}  // namespace
}  // namespace tessera::memory
