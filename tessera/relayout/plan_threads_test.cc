// SPDX-License-Identifier: Apache-2.0
// What plans promise in addition to the bytes that pairs_test.cc compares: sizes are checked, and
// one plan runs on many threads, its own and its callers', without a race.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/relayout/plan.h"
#include "tessera/relayout/verify.h"
#include "tessera/testing/build.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/relayout/cast_laws.h"
#include "tessera/testing/relayout/instruction_sets.h"
#include "tessera/testing/relayout/relayout_pairs.h"

namespace tessera::test {
namespace {

relayout::Plan plan_of(const Placement& from, const Placement& to,
                       const relayout::PlanOptions& options = {}) {
  Result<relayout::Program> program =
      relayout::make_program(from, to, relayout::PaddingRule::kZero);
  EXPECT_TRUE(program.ok());
  Result<relayout::Plan> plan = relayout::Plan::make(*std::move(program), options);
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
  const relayout::Plan plan = plan_of(rows, columns);
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

/// Several threads run one plan at the same time, each with its own thread pool.
TEST(Plan, OnePlanRunsOnManyThreadsAtOnce) {
  Dice dice(3);
  for (int round = 0; round < 12; ++round) {
    const Shape extents = relayout_shape(dice, 4000);
    const DType dtype = relayout_dtype(dice);
    const Layout from = blocked_layout(dice, extents, dtype);
    const Layout to = blocked_layout(dice, extents, dtype);
    relayout::PlanOptions options;
    options.stores = dice.chance(50) ? relayout::Stores::kStreaming : relayout::Stores::kPlain;
    const relayout::Plan plan = plan_of(from, to, options);
    const std::vector<std::byte> source = bytes_of(from.allocated_bytes());
    std::vector<std::byte> right = bytes_of(to.allocated_bytes());
    ASSERT_TRUE(relayout::move_naively(from, source, to, right, relayout::PaddingRule::kZero).ok());
    ThreadPool callers(3);
    std::vector<std::vector<std::byte>> moved(3, bytes_of(to.allocated_bytes()));
    std::vector<int> fine(3, 0);
    const Status ran = callers.run([&](int caller) {
      const auto c = static_cast<std::size_t>(caller);
      ThreadPool own(2);
      fine[c] = plan.run(source, moved[c], own).ok() ? 1 : 0;
    });
    EXPECT_TRUE(ran.ok());
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(fine[c], 1);
      EXPECT_EQ(moved[c], right);
    }
  }
}

/// A move that one kind of job executes, identified by the name of its kernel.
struct Kind {
  std::string kernel;
  Layout from;
  Layout to;
};

Layout rows(std::vector<std::int64_t> extents, DType dtype) {
  return *Layout::row_major(shape(std::move(extents)), dtype);
}
Layout strided(std::vector<std::int64_t> extents, DType dtype,
               const std::vector<std::int64_t>& strides) {
  return *Layout::strided(shape(std::move(extents)), dtype, strides);
}

/// `lines` lines of `extent` elements; the elements of each line go to `width` parts in turn.
Layout dealt(std::int64_t lines, std::int64_t extent, std::int64_t width) {
  const std::int64_t each = (extent + width - 1) / width;
  return layout(form({lines, extent}, {},
                     {fold({x(0)}, {mem(1, lines, each * width)}),
                      fold({x(1)}, {mem(width, each, 1), mem(1, width, each)})}),
                DType::kU8);
}

std::vector<Kind> kinds() {
  constexpr DType kF32 = DType::kF32;
  constexpr DType kBF16 = DType::kBF16;
  constexpr DType kI4 = DType::kI4;
  return {
      {"copy_runs: 400 ", rows({64, 100}, kF32), strided({64, 100}, kF32, {101, 1})},
      {"copy_runs: ", rows({8, 64, 4}, kF32), strided({8, 64, 4}, kF32, {4, 32, 1})},
      {"permute_blocks: ", rows({999, 4, 8}, DType::kU8),
       strided({999, 4, 8}, DType::kU8, {32, 1, 4})},
      {"interleave: ", rows({3, 9000}, kF32), strided({3, 9000}, kF32, {1, 3})},
      {"deinterleave: ", rows({9000, 3}, kF32), strided({9000, 3}, kF32, {1, 9000})},
      {"narrow_rows: ", rows({16, 9001}, kBF16), strided({16, 9001}, kBF16, {1, 16})},
      {"short_rows: ", rows({5, 15, 300}, kF32), strided({5, 15, 300}, kF32, {4500, 1, 15})},
      {"transpose: 4-", rows({256, 512}, kF32), strided({256, 512}, kF32, {1, 256})},
      {"transpose: 4-", rows({701, 130}, kF32), strided({701, 130}, kF32, {1, 703})},
      {"transpose: 1-", rows({701, 130}, DType::kU8), strided({701, 130}, DType::kU8, {1, 703})},
      {"transpose: 4-", rows({5001, 8}, kF32), strided({5001, 8}, kF32, {1, 5001})},
      {"transpose_joined: ", rows({75, 2000}, kF32), strided({75, 2000}, kF32, {1, 75})},
      {"strided: 4-", strided({300, 100}, kF32, {201, 2}), strided({300, 100}, kF32, {1, 300})},
      {"copy_bits: ", rows({33, 57}, kI4), strided({33, 57}, kI4, {1, 33})},
      {"gather_table: ", dealt(50, 1001, 8), dealt(50, 1001, 12)},
      {"cast_runs: ", rows({64, 4096}, kF32), kept_as(rows({64, 4096}, kF32), kBF16)},
      {"cast_blocks: ", rows({300, 200}, kF32), strided({300, 200}, kBF16, {1, 300})},
      {"cast_groups: ", rows({64, 2048}, kF32), kept_as(rows({64, 2048}, kF32), DType::kBfpBf8)},
      {"cast_image: ", rows({301, 57}, kF32), strided({301, 57}, kI4, {1, 301})},
      {"cast_image: ", rows({61, 301}, kF32),
       kept_as(strided({61, 301}, kF32, {1, 61}), DType::kBfpBf4)},
  };
}

/// Law: three threads give the same result as one, without a race. Destinations are not aligned to
/// lines, so that adjacent parts share lines; thread sanitizers see short vectors, but not long
/// ones.
TEST(Plan, EveryKindOfJobIsSharedWithoutARace) {
  const std::vector<std::int64_t> sets = instruction_sets();
  const OnlyInstructionSet shortest(sets.back());
  ThreadPool one(1);
  ThreadPool three(3);
  for (const Kind& kind : kinds()) {
    for (const relayout::Stores stores : {relayout::Stores::kPlain, relayout::Stores::kStreaming}) {
      relayout::PlanOptions options;
      options.stores = stores;
      options.rounding = relayout::Rounding::kSaturate;
      const relayout::Plan plan = plan_of(kind.from, kind.to, options);
      std::string described;
      for (const std::string& line : plan.describe()) described += line + "\n";
      EXPECT_NE(described.find(kind.kernel), std::string::npos) << kind.kernel << ":\n"
                                                                << described;
      const std::vector<std::byte> source = bytes_of(plan.program().from.bytes);
      std::vector<std::byte> alone = bytes_of(plan.program().to.bytes + 4);
      std::vector<std::byte> shared = alone;
      EXPECT_TRUE(plan.run(source, std::span(alone).subspan(4), one).ok());
      EXPECT_TRUE(plan.run(source, std::span(shared).subspan(4), three).ok());
      EXPECT_TRUE(alone == shared) << described;
    }
  }
}

/// Law: all parts, one after the other, leave what one run leaves.
TEST(Plan, PartsTogetherAreTheWhole) {
  ThreadPool pool(2);
  Dice dice(11);
  for (const Kind& kind : kinds()) {
    relayout::PlanOptions options;
    options.stores = dice.chance(50) ? relayout::Stores::kStreaming : relayout::Stores::kPlain;
    options.rounding = relayout::Rounding::kSaturate;
    const relayout::Plan plan = plan_of(kind.from, kind.to, options);
    const std::vector<std::byte> source = bytes_of(plan.program().from.bytes);
    std::vector<std::byte> whole = bytes_of(plan.program().to.bytes);
    std::vector<std::byte> in_parts = whole;
    EXPECT_TRUE(plan.run(source, whole, pool).ok());
    const int parts = static_cast<int>(dice.between(1, 9));
    for (int number = 0; number < parts; ++number) {
      EXPECT_TRUE(plan.run(source, in_parts, pool, {number, parts}).ok());
    }
    EXPECT_TRUE(whole == in_parts) << kind.kernel << parts;
  }
}

}  // namespace
}  // namespace tessera::test
