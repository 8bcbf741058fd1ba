// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/memory/solve_laws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tessera/memory/validate.h"
#include "tessera/testing/memory/naive_alloc.h"

namespace tessera::test {

using memory::Buffer;
using memory::Finding;
using memory::Outcome;
using memory::Problem;
using memory::Solution;
using memory::SolveOptions;

namespace {

std::int64_t end_of(const Problem& problem, const Array<std::int64_t>& offsets) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (problem.buffers[i].size > 0) end = std::max(end, offsets[i] + problem.buffers[i].size);
  }
  return end;
}

/// Whether nothing determines the offset of a buffer without bytes.
bool is_nowhere(const Problem& problem, std::size_t i) {
  const Buffer& buffer = problem.buffers[i];
  return buffer.size == 0 && !buffer.fixed && !buffer.alias &&
         std::none_of(problem.buffers.begin(), problem.buffers.end(),
                      [&](const Buffer& other) { return other.alias && other.alias->of == i; });
}

}  // namespace

bool hopeless(const Problem& problem, std::int64_t capacity) {
  return std::any_of(problem.buffers.begin(), problem.buffers.end(), [&](const Buffer& buffer) {
    return buffer.size > 0 && buffer.fixed.value_or(0) + buffer.size > capacity;
  });
}

void expect_laws(const Problem& problem, const SolveOptions& options, const Solution& solution) {
  const std::vector<Finding> findings = validate(problem, solution.offsets);
  EXPECT_TRUE(findings.empty()) << findings.at(0).message;
  EXPECT_EQ(solution.peak, end_of(problem, solution.offsets));
  EXPECT_GE(solution.lower_bound, test::naive_max_live(problem).bytes);
  EXPECT_GE(solution.proven_bound, solution.lower_bound);
  EXPECT_GE(solution.peak, solution.proven_bound);
  EXPECT_EQ(solution.optimal, solution.peak == solution.proven_bound);
  const bool within = !options.capacity || solution.peak <= *options.capacity;
  EXPECT_EQ(solution.outcome == Outcome::kFits, within);
  if (solution.outcome == Outcome::kDoesNotFit) {
    EXPECT_GT(solution.proven_bound, *options.capacity);
  }
  if (options.capacity && hopeless(problem, *options.capacity)) {
    EXPECT_EQ(solution.outcome, Outcome::kDoesNotFit);
  }
  const double gap =
      solution.lower_bound == 0
          ? 0
          : static_cast<double>(solution.peak) / static_cast<double>(solution.lower_bound) - 1;
  EXPECT_DOUBLE_EQ(solution.gap(), gap);
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (is_nowhere(problem, i)) {
      EXPECT_EQ(solution.offsets[i], 0);
    }
  }
}

Solution expect_solved(const Problem& problem, const SolveOptions& options) {
  Result<Solution> solution = solve(problem, options);
  if (!solution) {
    ADD_FAILURE() << solution.error().message;
    return {};
  }
  expect_laws(problem, options, *solution);
  return *std::move(solution);
}

Solution expect_optimum(const Problem& problem, const SolveOptions& options, std::int64_t lowest) {
  Solution solution = expect_solved(problem, options);
  EXPECT_EQ(solution.peak, lowest);
  EXPECT_TRUE(solution.optimal);
  return solution;
}

void expect_live_bound(const Problem& problem, bool is_exact) {
  const auto lowest = lowest_plan(problem);
  const Result<memory::MaxLive> live = max_live(problem);
  ASSERT_TRUE(lowest.has_value() && live.ok());
  const NaiveLive naive = naive_max_live(problem);
  EXPECT_GE(live->bytes, naive.bytes);
  EXPECT_LE(live->bytes, lowest->peak);
  if (!is_exact) return;
  EXPECT_EQ(live->bytes, naive.bytes);
  EXPECT_EQ(live->moment, naive.moment);
}

}  // namespace tessera::test
