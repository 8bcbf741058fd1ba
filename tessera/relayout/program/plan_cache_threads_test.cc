// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <vector>

#include "tessera/relayout/program/plan_cache.h"
#include "tessera/testing/build.h"

namespace tessera::test {
namespace {

using Counts = relayout::PlanCache::Counts;

Layout rows(std::int64_t n) { return *Layout::row_major(shape({n, 3}), DType::kF32); }
Layout columns(std::int64_t n) { return *Layout::strided(shape({n, 3}), DType::kF32, {1, n}); }

/// Requests the transpose of [n, 3].
Result<relayout::Plan> ask(relayout::PlanCache& cache, std::int64_t n) {
  return cache.plan(rows(n), columns(n));
}

TEST(PlanCache, AnswersAgainWithoutMaking) {
  relayout::PlanCache cache;
  const Result<relayout::Plan> first = ask(cache, 4);
  const Result<relayout::Plan> again = ask(cache, 4);
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(&first->program(), &again->program()) << "the same plan";
  EXPECT_EQ(cache.counts(), (Counts{1, 1, 1}));
}

TEST(PlanCache, TellsMovesApart) {
  relayout::PlanCache cache;
  LayoutSpec promised = columns(4).spec();
  promised.padding = PaddingValue::of(1);
  relayout::PlanOptions saturating;
  saturating.rounding = relayout::Rounding::kSaturate;
  relayout::PlanOptions plain;
  plain.stores = relayout::Stores::kPlain;
  const Layout half = *Layout::row_major(shape({4, 3}), DType::kF16);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(cache.plan(rows(4), columns(4)).ok());
    EXPECT_TRUE(cache.plan(columns(4), rows(4)).ok());
    EXPECT_TRUE(cache.plan(rows(4), rows(4)).ok());
    EXPECT_TRUE(cache.plan(rows(5), columns(5)).ok());
    EXPECT_TRUE(cache.plan(rows(4), columns(4), relayout::PaddingRule::kZero).ok());
    EXPECT_TRUE(cache.plan(rows(4), columns(4), relayout::PaddingRule::kPromised, saturating).ok());
    EXPECT_TRUE(cache.plan(rows(4), columns(4), relayout::PaddingRule::kPromised, plain).ok());
    EXPECT_TRUE(cache.plan(rows(4), *Layout::make(promised)).ok());
    EXPECT_TRUE(cache.plan(half, half).ok());
    EXPECT_TRUE(cache.plan(View::of(rows(4)), columns(4)).ok()) << "a view is another description";
    EXPECT_EQ(cache.counts(), (Counts{10, std::int64_t{10} * round, 10}));
  }
}

TEST(PlanCache, ForgetsWhatWasNotAskedForTheLongest) {
  relayout::PlanCache cache(2);
  EXPECT_TRUE(ask(cache, 1).ok());
  EXPECT_TRUE(ask(cache, 2).ok());
  EXPECT_TRUE(ask(cache, 1).ok());  // now 2 is the older one
  EXPECT_TRUE(ask(cache, 3).ok());  // and is dropped
  EXPECT_EQ(cache.counts(), (Counts{2, 1, 3}));
  EXPECT_TRUE(ask(cache, 1).ok());
  EXPECT_EQ(cache.counts(), (Counts{2, 2, 3}));
  EXPECT_TRUE(ask(cache, 2).ok());
  EXPECT_EQ(cache.counts(), (Counts{2, 2, 4}));
}

TEST(PlanCache, NeverKeepsMoreThanItsCapacity) {
  for (const std::size_t capacity : {0U, 1U, 3U}) {
    relayout::PlanCache cache(capacity);
    EXPECT_EQ(cache.capacity(), capacity);
    for (std::int64_t n = 1; n < 20; ++n) {
      EXPECT_TRUE(ask(cache, n).ok());
      EXPECT_LE(cache.counts().kept, capacity);
    }
    EXPECT_EQ(cache.counts(), (Counts{capacity, 0, 19}));
  }
}

TEST(PlanCache, PlansOutliveTheCache) {
  std::vector<std::byte> source(48, std::byte{3});
  std::vector<std::byte> moved(48);
  ThreadPool pool(1);
  const Result<relayout::Plan> plan = [] {
    relayout::PlanCache cache(1);
    Result<relayout::Plan> made = ask(cache, 4);
    cache.clear();
    EXPECT_EQ(cache.counts(), (Counts{0, 0, 1}));
    return made;
  }();
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->run(source, moved, pool).ok());
  EXPECT_EQ(moved, source);
}

TEST(PlanCache, AnswersRefusalsAndDoesNotKeepThem) {
  relayout::PlanCache cache;
  for (std::int64_t times = 1; times < 3; ++times) {
    const Result<relayout::Plan> none = cache.plan(rows(2), rows(3));
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kShapeMismatch);
    EXPECT_EQ(cache.counts(), (Counts{0, 0, times}));
  }
}

TEST(PlanCache, ManyThreadsAskAtOnce) {
  relayout::PlanCache cache(4);
  ThreadPool pool(4);
  constexpr int kAsks = 300;
  std::atomic<int> wrong{0};
  const Status ran = pool.run([&](int worker) {
    for (int i = 0; i < kAsks; ++i) {
      const std::int64_t n = 1 + (i * (worker + 1)) % 7;
      const Result<relayout::Plan> plan = ask(cache, n);
      if (!plan.ok() || plan->program().elements() != 3 * n) wrong.fetch_add(1);
    }
  });
  EXPECT_TRUE(ran.ok());
  EXPECT_EQ(wrong.load(), 0);
  const Counts counts = cache.counts();
  EXPECT_EQ(counts.hits + counts.misses, 4 * kAsks);
  EXPECT_LE(counts.kept, 4U);
  EXPECT_GT(counts.hits, 0);
}

}  // namespace
}  // namespace tessera::test
