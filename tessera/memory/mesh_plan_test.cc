// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/mesh_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/memory/lock_step.h"
#include "tessera/memory/validate.h"
#include "tessera/notation/pyflame.h"
#include "tessera/testing/build.h"
#include "tessera/testing/cpu_seconds.h"
#include "tessera/testing/generate.h"

namespace tessera::memory {
namespace {

using test::Dice;
using test::shape;

PyflameLayout grid(std::int64_t rows, std::int64_t cols, PyflameLayout::Pe origin = {0, 0}) {
  PyflameLayout words;
  words.kind = PyflameLayout::Kind::kGrid;
  words.rows = rows;
  words.cols = cols;
  words.origin = origin;
  return words;
}

Layout lowered(const PyflameLayout& words, std::vector<std::int64_t> extents) {
  Result<Layout> layout = lower(words, shape(std::move(extents)), DType::kF32);
  EXPECT_TRUE(layout) << layout.error().message;
  return *std::move(layout);
}

Buffer alive(std::int64_t lower, std::int64_t upper, std::int64_t alignment = 1) {
  Buffer buffer;
  buffer.lower = lower;
  buffer.upper = upper;
  buffer.alignment = alignment;
  return buffer;
}

/// A mesh with tensors on it.
struct Case {
  Shape mesh;
  std::vector<Layout> layouts;
  std::vector<Buffer> buffers;

  PlaceSizes sizes() const {
    std::vector<SizedTensor> tensors;
    for (const Layout& layout : layouts) tensors.push_back({&layout});
    Result<PlaceSizes> made = PlaceSizes::make(mesh, tensors, {4});
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
};

MeshPlan planned(const std::vector<Buffer>& buffers, const PlaceSizes& sizes, OffsetMode mode,
                 std::optional<std::int64_t> capacity = {}) {
  MeshPlanOptions options;
  options.mode = mode;
  options.solve.capacity = capacity;
  options.solve.seconds = 1000;  // the machine has no say in what is planned
  options.solve.nodes = 100'000;
  Result<MeshPlan> plan = plan_mesh(buffers, sizes, options);
  EXPECT_TRUE(plan) << plan.error().message;
  return *std::move(plan);
}

/// Every class of every plan by the validator, and every number of the plan by loops over places.
void check_plan(const std::vector<Buffer>& buffers, const PlaceSizes& sizes, const MeshPlan& plan) {
  const std::vector<std::int64_t> used = plan.used_by_class(sizes);
  std::int64_t peak = 0;
  std::int64_t live = 0;   // the most bytes at one moment on one place
  std::int64_t bound = 0;  // the same with alignments, which only some classes may all share
  for (std::int64_t i = 0; i < sizes.mesh().elements(); ++i) {
    const std::size_t c = sizes.class_of(sizes.mesh().delinear(i));
    const Problem problem = problem_of(buffers, sizes, c);
    const std::vector<std::int64_t>& offsets = plan.offsets_of(sizes, c);
    const std::vector<Finding> findings = validate(problem, offsets, plan.peak);
    ASSERT_TRUE(findings.empty()) << findings[0].message;
    std::int64_t end = 0;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (problem.buffers[b].size > 0) end = std::max(end, offsets[b] + problem.buffers[b].size);
    }
    ASSERT_EQ(used[c], end);
    ASSERT_EQ(plan.used(sizes, c), end);
    peak = std::max(peak, end);
    bound = std::max(bound, max_live(problem)->bytes);
    Problem anywhere = problem;
    for (Buffer& buffer : anywhere.buffers) buffer.alignment = 1;
    live = std::max(live, max_live(anywhere)->bytes);
  }
  EXPECT_GE(plan.lower_bound, live);
  EXPECT_LE(plan.lower_bound, bound);
  EXPECT_GE(plan.peak, bound);
  EXPECT_EQ(plan.peak, peak);
  EXPECT_EQ(max_live(problem_of(buffers, sizes, plan.worst))->bytes, plan.lower_bound);
  if (plan.mode == OffsetMode::kLockStep) {
    EXPECT_EQ(plan.offsets.size(), 1u);
  }
}

void check_case(const Case& the_case) {
  const PlaceSizes sizes = the_case.sizes();
  for (const OffsetMode mode : {OffsetMode::kLockStep, OffsetMode::kPerClass}) {
    const MeshPlan plan = planned(the_case.buffers, sizes, mode);
    EXPECT_EQ(plan.outcome, Outcome::kFits);
    check_plan(the_case.buffers, sizes, plan);
    if (testing::Test::HasFatalFailure()) return;
    for (const std::int64_t more : {-1, 0}) {
      const std::int64_t capacity = plan.lower_bound + more;
      if (capacity < 0) continue;
      const MeshPlan within = planned(the_case.buffers, sizes, mode, capacity);
      check_plan(the_case.buffers, sizes, within);
      EXPECT_EQ(within.outcome == Outcome::kFits, within.peak <= capacity);
      if (more < 0) {
        EXPECT_EQ(within.outcome, Outcome::kDoesNotFit);
      }
    }
  }
}

// Two halves of a mesh with tensors of their own: in lock step they share addresses.
TEST(MeshPlan, SharesMemoryBetweenTensorsThatShareNoPlace) {
  Case the_case;
  the_case.mesh = shape({2, 4});
  the_case.layouts = {lowered(grid(2, 2), {2, 20}), lowered(grid(2, 2, {0, 2}), {2, 20}),
                      lowered(grid(2, 4), {2, 4})};
  the_case.buffers = {alive(0, 2), alive(0, 2), alive(1, 3)};
  const PlaceSizes sizes = the_case.sizes();
  const MeshPlan plan = planned(the_case.buffers, sizes, OffsetMode::kLockStep);
  check_plan(the_case.buffers, sizes, plan);
  EXPECT_EQ(plan.lower_bound, 40 + 4);
  EXPECT_EQ(plan.peak, 44);  // the sum of the largest would be 84
  EXPECT_TRUE(plan.optimal);
  EXPECT_EQ(plan.found_by, "pairs");
}

// Below b only what a has on the places of both must be cleared: a is larger elsewhere.
TEST(MeshPlan, ClearsOnlyWhatIsOnPlacesOfBoth) {
  // a: 40 and 4 bytes on places 0 and 1; b: 60 bytes on place 1. Apart: 44 and 64 bytes.
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
    Case the_case;
    the_case.mesh = shape({dice.between(1, 6), dice.between(1, 6)});
    const std::int64_t tensors = dice.between(1, 9);
    for (std::int64_t t = 0; t < tensors; ++t) {
      const std::int64_t rows = dice.between(1, the_case.mesh[0]);
      const std::int64_t cols = dice.between(1, the_case.mesh[1]);
      PyflameLayout words = grid(
          rows, cols,
          {dice.between(0, the_case.mesh[0] - rows), dice.between(0, the_case.mesh[1] - cols)});
      if (dice.chance(20)) words.replicate = {static_cast<int>(dice.below(2))};
      if (dice.chance(20)) {
        words.kind = PyflameLayout::Kind::kCustom;
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t c = 0; c < cols; ++c) words.pes.push_back({r, cols - 1 - c});
        }
      }
      the_case.layouts.push_back(lowered(words, {dice.between(1, 12), dice.between(1, 12)}));
      const std::int64_t from = dice.below(10);
      Buffer buffer = alive(from, from + dice.between(1, 5), dice.chance(30) ? 16 : 1);
      if (t > 0 && dice.chance(20)) {
        const auto of = static_cast<std::size_t>(dice.below(t));
        buffer.alias = Alias{of, 0};
        buffer.alignment = 1;
      }
      the_case.buffers.push_back(buffer);
    }
    check_case(the_case);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

// Naive: each place planned alone. Classes lose nothing by it, lock step little.
TEST(MeshPlan, IsNoWorseThanPlanningEveryPlace) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Dice dice(seed);
    Case the_case;
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
  Case the_case;
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
  check_plan(the_case.buffers, sizes, one);
}

TEST(MeshPlan, KeepsFixedOffsetsAndTellsWhenTheyAreTooHigh) {
  Case the_case;
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
  // The second tensor begins 16 bytes into the first, at 116, and has 16 bytes of its own; so the
  // lowest capacity that any plan fits in is 132, which no buffer says by itself.
  Case the_case;
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

// Each place has a tensor of its own, and all are fixed at one address; one more is everywhere.
// Below and above 64 classes, from where on plans per class are shared.
TEST(MeshPlan, TensorsOfDifferentPlacesMayBeFixedOnTheSameBytes) {
  for (const std::int64_t places : {3, 70}) {
    Case the_case;
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
  Case the_case;
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
    check_plan(the_case.buffers, sizes, plan);
    EXPECT_EQ(plan.outcome, Outcome::kDoesNotFit);
    EXPECT_TRUE(plan.optimal);
    EXPECT_EQ(plan.lower_bound, 24);
    EXPECT_EQ(plan.peak, 36);
  }
  EXPECT_EQ(planned(the_case.buffers, sizes, OffsetMode::kLockStep, 36).outcome, Outcome::kFits);
}

TEST(MeshPlan, RefusesBuffersWithoutSizes) {
  Case the_case;
  the_case.mesh = shape({1, 2});
  the_case.layouts = {lowered(grid(1, 1), {1, 4})};
  const PlaceSizes sizes = the_case.sizes();
  const std::vector<Buffer> two = {alive(0, 1), alive(0, 1)};
  EXPECT_EQ(plan_mesh(two, sizes, {}).error().code, ErrorCode::kBadBuffer);
  const std::vector<Buffer> backwards = {alive(3, 1)};
  EXPECT_EQ(plan_mesh(backwards, sizes, {}).error().code, ErrorCode::kBadBuffer);
}

/// 100 tensors on a wafer, each on a grid of its own, from one corner or from anywhere.
Case wafer(bool anywhere) {
  Case the_case;
  the_case.mesh = shape({994, 750});
  for (std::int64_t t = 0; t < 100; ++t) {
    const std::int64_t rows = anywhere ? 100 + t * 97 % 200 : 500 + t * 97 % 495;
    const std::int64_t cols = anywhere ? 80 + t * 61 % 150 : 400 + t * 61 % 351;
    const PyflameLayout::Pe origin = {anywhere ? t * 353 % (995 - rows) : 0,
                                      anywhere ? t * 211 % (751 - cols) : 0};
    the_case.layouts.push_back(lowered(grid(rows, cols, origin), {rows * 7 - 3, cols * 10 - 4}));
    the_case.buffers.push_back(alive(t, t + 1 + t * 31 % 17));
  }
  return the_case;
}

// A map with an entry a place takes half a minute; milliseconds are for `bench memory` to measure.
TEST(MeshPlan, PlansAWaferOfGridsInMilliseconds) {
  const Case the_case = wafer(false);
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
  const Case the_case = wafer(true);
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
