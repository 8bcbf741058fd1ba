// SPDX-License-Identifier: Apache-2.0
// What plans promise beyond the bytes that pairs_test.cc compares: sizes are checked, and one plan
// runs on many threads, its own and its callers', without a race.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "tessera/relayout/plan.h"
#include "tessera/relayout/verify.h"
#include "tessera/testing/build.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/relayout_pairs.h"

namespace tessera::test {
namespace {

Plan plan_of(const Placement& from, const Placement& to, const PlanOptions& options = {}) {
  Result<Program> program = make_program(from, to, PaddingRule::kZero);
  EXPECT_TRUE(program.ok());
  Result<Plan> plan = Plan::make(*std::move(program), options);
  EXPECT_TRUE(plan.ok());
  return *plan;
}

std::vector<std::byte> bytes_of(std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 31 + i / 251);
  return bytes;
}

TEST(Plan, RefusesBuffersOfAnotherSize) {
  const Layout rows = *Layout::row_major(shape({4, 6}), DType::kF32);
  const Layout columns = *Layout::strided(shape({4, 6}), DType::kF32, {1, 4});
  const Plan plan = plan_of(rows, columns);
  ThreadPool pool(1);
  const auto run = [&](std::int64_t from, std::int64_t to) {
    const std::vector<std::byte> source = bytes_of(from);
    std::vector<std::byte> moved = bytes_of(to);
    const std::vector<std::byte> before = moved;
    const Status status = plan.run(source, moved, pool);
    EXPECT_TRUE(status.ok() || moved == before) << "nothing is written";
    return status;
  };
  EXPECT_TRUE(run(96, 96).ok());
  for (const auto& [from, to] :
       {std::pair{95, 96}, {97, 96}, {96, 95}, {96, 97}, {0, 96}, {96, 0}}) {
    const Status status = run(from, to);
    ASSERT_FALSE(status.ok()) << from << " and " << to;
    EXPECT_EQ(status.error().code, ErrorCode::kOutOfRange);
    EXPECT_FALSE(status.error().help.empty());
  }
}

TEST(Plan, EmptyTensorsMoveNothing) {
  const Layout none = *Layout::row_major(shape({0, 6}), DType::kF32);
  ThreadPool pool(2);
  EXPECT_TRUE(plan_of(none, none).run({}, {}, pool).ok());
}

TEST(Plan, SaysWhatItWillDo) {
  const Layout rows = *Layout::row_major(shape({64, 64}), DType::kF32);
  const Layout columns = *Layout::strided(shape({64, 64}), DType::kF32, {1, 64});
  for (const std::string& line : plan_of(rows, columns).describe()) EXPECT_FALSE(line.empty());
  EXPECT_FALSE(plan_of(rows, columns).describe().empty());
  EXPECT_EQ(plan_of(rows, columns).program().elements(), 64 * 64);
}

/// Several threads run one plan at the same time, each with threads of its own.
TEST(Plan, OnePlanRunsOnManyThreadsAtOnce) {
  Dice dice(3);
  for (int round = 0; round < 12; ++round) {
    const Shape extents = relayout_shape(dice, 4000);
    const DType dtype = relayout_dtype(dice);
    const Layout from = blocked_layout(dice, extents, dtype);
    const Layout to = blocked_layout(dice, extents, dtype);
    PlanOptions options;
    options.stores = dice.chance(50) ? Stores::kStreaming : Stores::kPlain;
    const Plan plan = plan_of(from, to, options);
    const std::vector<std::byte> source = bytes_of(from.allocated_bytes());
    std::vector<std::byte> right = bytes_of(to.allocated_bytes());
    ASSERT_TRUE(move_naively(from, source, to, right, PaddingRule::kZero).ok());
    ThreadPool callers(3);
    std::vector<std::vector<std::byte>> moved(3, bytes_of(to.allocated_bytes()));
    std::vector<int> fine(3, 0);
    callers.run([&](int caller) {
      const auto c = static_cast<std::size_t>(caller);
      ThreadPool own(2);
      fine[c] = plan.run(source, moved[c], own).ok() ? 1 : 0;
    });
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(fine[c], 1);
      EXPECT_EQ(moved[c], right);
    }
  }
}

}  // namespace
}  // namespace tessera::test
