// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/memory/mesh_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "tessera/memory/validate.h"
#include "tessera/testing/build.h"

namespace tessera::test {

using memory::Buffer;
using memory::Finding;
using memory::MeshPlan;
using memory::MeshPlanOptions;
using memory::OffsetMode;
using memory::Outcome;
using memory::PlaceSizes;
using memory::Problem;
using memory::SizedTensor;

notation::PyflameLayout grid(std::int64_t rows, std::int64_t cols,
                             notation::PyflameLayout::Pe origin) {
  notation::PyflameLayout terms;
  terms.kind = notation::PyflameLayout::Kind::kGrid;
  terms.rows = rows;
  terms.cols = cols;
  terms.origin = origin;
  return terms;
}

Layout lowered(const notation::PyflameLayout& terms, std::vector<std::int64_t> extents) {
  Result<Layout> layout = notation::lower(terms, shape(std::move(extents)), DType::kF32);
  EXPECT_TRUE(layout) << layout.error().message;
  return *std::move(layout);
}

Buffer alive(std::int64_t lower, std::int64_t upper, std::int64_t alignment) {
  Buffer buffer;
  buffer.lower = lower;
  buffer.upper = upper;
  buffer.alignment = alignment;
  return buffer;
}

PlaceSizes MeshCase::sizes() const {
  std::vector<SizedTensor> tensors;
  for (const Layout& layout : layouts) tensors.push_back({&layout});
  Result<PlaceSizes> made = PlaceSizes::make(mesh, tensors, {4});
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

MeshPlan planned(const std::vector<Buffer>& buffers, const PlaceSizes& sizes, OffsetMode mode,
                 std::optional<std::int64_t> capacity) {
  MeshPlanOptions options;
  options.mode = mode;
  options.solve.capacity = capacity;
  options.solve.seconds = 1000;  // so that the plan does not depend on the speed of the machine
  options.solve.nodes = 100'000;
  Result<MeshPlan> plan = plan_mesh(buffers, sizes, options);
  EXPECT_TRUE(plan) << plan.error().message;
  return *std::move(plan);
}

void check_mesh_plan(const std::vector<Buffer>& buffers, const PlaceSizes& sizes,
                     const MeshPlan& plan) {
  const std::vector<std::int64_t> used = plan.used_by_class(sizes);
  std::int64_t peak = 0;
  std::int64_t live = 0;         // the most bytes at one moment on one place
  std::int64_t bound = 0;        // the same including the unavoidable cost of alignments
  std::set<std::int64_t> steps;  // greatest common divisors of the alignments of each class
  for (std::int64_t i = 0; i < sizes.mesh().elements(); ++i) {
    const std::size_t c = sizes.class_of(sizes.mesh().delinear(i));
    const Problem problem = problem_of(buffers, sizes, c);
    const std::vector<std::int64_t>& offsets = plan.offsets_of(sizes, c);
    const std::vector<Finding> findings = validate(problem, offsets, plan.peak);
    ASSERT_TRUE(findings.empty()) << findings[0].message;
    std::int64_t end = 0;
    std::int64_t step = 0;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (problem.buffers[b].size == 0) continue;
      end = std::max(end, offsets[b] + problem.buffers[b].size);
      step = std::gcd(step, problem.buffers[b].alignment);
    }
    if (step > 0) steps.insert(step);
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
  // The class that dominates another may have one more buffer, whose alignment separates fewer
  // bytes.
  if (steps.size() <= 1) {
    EXPECT_EQ(plan.lower_bound, bound);
  }
  EXPECT_GE(plan.peak, bound);
  EXPECT_EQ(plan.peak, peak);
  EXPECT_EQ(max_live(problem_of(buffers, sizes, plan.worst))->bytes, plan.lower_bound);
  if (plan.mode == OffsetMode::kLockStep) {
    EXPECT_EQ(plan.offsets.size(), 1u);
  }
}

void check_mesh_case(const MeshCase& mesh_case) {
  const PlaceSizes sizes = mesh_case.sizes();
  for (const OffsetMode mode : {OffsetMode::kLockStep, OffsetMode::kPerClass}) {
    const MeshPlan plan = planned(mesh_case.buffers, sizes, mode);
    EXPECT_EQ(plan.outcome, Outcome::kFits);
    check_mesh_plan(mesh_case.buffers, sizes, plan);
    if (::testing::Test::HasFatalFailure()) return;
    for (const std::int64_t more : {-1, 0}) {
      const std::int64_t capacity = plan.lower_bound + more;
      if (capacity < 0) continue;
      const MeshPlan within = planned(mesh_case.buffers, sizes, mode, capacity);
      check_mesh_plan(mesh_case.buffers, sizes, within);
      EXPECT_EQ(within.outcome == Outcome::kFits, within.peak <= capacity);
      if (more < 0) {
        EXPECT_EQ(within.outcome, Outcome::kDoesNotFit);
      }
    }
  }
}

}  // namespace tessera::test
