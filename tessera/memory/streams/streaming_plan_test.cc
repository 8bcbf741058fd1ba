// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/streams/streaming_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/memory/streams/streaming_slices.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/process.h"

namespace tessera::memory {
namespace {

/// The best of all sizes, one by one.
struct Tried {
  double total = 0;
  std::int64_t chunks = 0;
  std::int64_t chunk_bytes = 0;
};
std::optional<Tried> try_all(const StreamData& data, const StreamOptions& options,
                             const StreamCosts& costs) {
  std::optional<Tried> best;
  const std::int64_t granules = ceil_div(data.total_bytes, data.granule_bytes);
  for (std::int64_t size = granules; size >= 1; --size) {
    std::vector<Chunk> chunks;
    for (std::int64_t at = 0; at < data.total_bytes; at += size * data.granule_bytes) {
      const std::int64_t bytes = std::min(size * data.granule_bytes, data.total_bytes - at);
      chunks.push_back({bytes, costs.load(bytes), costs.compute(bytes)});
    }
    const std::int64_t buffers = std::min<std::int64_t>(options.buffers, std::ssize(chunks));
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(buffers), chunks[0].bytes);
    if (!place_stream(sizes, options).ok()) continue;
    const double total = schedule_stream(chunks, options)->times.total;
    const Tried tried{total, std::ssize(chunks), chunks[0].bytes};
    if (!best || total < best->total || (total == best->total && tried.chunks == best->chunks)) {
      best = tried;
    }
  }
  return best;
}

/// Integer costs, so that sums are exact and equal times are equal.
StreamCosts random_costs(std::mt19937& random) {
  const auto rate = [&] { return std::ldexp(1.0, -static_cast<int>(random() % 4)); };
  const auto latency = [&] { return random() % 3 == 0 ? 0.0 : static_cast<double>(random() % 40); };
  StreamCosts costs;
  costs.load_rate = rate();
  costs.compute_rate = rate();
  costs.load_latency = latency();
  costs.compute_latency = latency();
  return costs;
}

TEST(StreamingPlan, IsTheBestOfAllSizes) {
  std::mt19937 random(3);
  int fitting = 0;
  for (int i = 0; i < (test::kSanitized ? 1000 : 4000); ++i) {
    StreamData data;
    data.total_bytes = 1 + static_cast<std::int64_t>(random() % 150);
    data.granule_bytes = 1 + static_cast<std::int64_t>(random() % (i % 2 == 0 ? 3 : 20));
    StreamOptions options;
    options.buffers = 1 + static_cast<std::int64_t>(random() % 4);
    options.budget_bytes = static_cast<std::int64_t>(random() % 200);
    options.scratch_bytes = random() % 2 == 0 ? 0 : static_cast<std::int64_t>(random() % 20);
    options.alignment = random() % 2 == 0 ? 1 : 1 + static_cast<std::int64_t>(random() % 16);
    const StreamCosts costs = random_costs(random);
    const Result<StreamPlan> plan = plan_stream(data, options, costs);
    const std::optional<Tried> best = try_all(data, options, costs);
    ASSERT_EQ(plan.ok(), best.has_value()) << "case " << i;
    if (!best) {
      ASSERT_EQ(plan.error().code, ErrorCode::kDoesNotFit);
      continue;
    }
    ++fitting;
    ASSERT_EQ(plan->times.total, best->total) << "case " << i;
    ASSERT_EQ(plan->chunks, best->chunks) << "case " << i;
    ASSERT_EQ(plan->chunk_bytes, best->chunk_bytes) << "case " << i;
    ASSERT_EQ((plan->chunks - 1) * plan->chunk_bytes + plan->last_bytes, data.total_bytes);
    ASSERT_LE(plan->memory.used_bytes, options.budget_bytes);
    const Result<StreamSchedule> schedule = schedule_of(*plan, options);
    ASSERT_TRUE(schedule.ok());
    ASSERT_EQ(schedule->times.total, plan->times.total);
    ASSERT_EQ(schedule->times.bound, plan->times.bound);
    ASSERT_EQ(schedule->times.loads, plan->times.loads);
    ASSERT_EQ(schedule->times.computes, plan->times.computes);
  }
  EXPECT_GT(fitting, 500);
}

TEST(StreamingPlan, HidesLoadsBehindComputes) {
  StreamOptions options;
  options.budget_bytes = 36 << 10;
  options.scratch_bytes = 4 << 10;
  StreamCosts costs;
  costs.load_rate = 4;
  costs.load_latency = 1000;
  costs.compute_rate = 2;
  const Result<StreamPlan> plan = plan_stream({1 << 20, 16 << 10}, options, costs);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->chunks, 64);
  EXPECT_EQ(plan->chunk_bytes, 16 << 10);
  EXPECT_EQ(plan->memory.buffers[1].offset, 16 << 10);
  // The first load, 1000 + 16384/4, and all computes, 2^20/2.
  EXPECT_EQ(plan->times.total, 5096 + 524288);
  EXPECT_EQ(plan->times.loads, 64 * 5096);
  EXPECT_EQ(plan->times.hidden(), 63 * 5096);
  // With a finer granule the chunks are the smallest whose loads of 1000 + b/4 hide behind b/2.
  const Result<StreamPlan> finer = plan_stream({1 << 20, 1 << 10}, options, costs);
  EXPECT_EQ(finer->chunk_bytes, 4 << 10);
  EXPECT_EQ(finer->times.total, 2024 + 524288);
}

TEST(StreamingPlan, TakesFewGranulesOrManyInBoundedTime) {
  StreamOptions options;
  options.budget_bytes = std::int64_t{1} << 30;
  const StreamCosts free_latency;  // the finer the better: all sizes matter
  const double begin = test::cpu_seconds();
  const Result<StreamPlan> plan = plan_stream({kMostGranules * 7, 7}, options, free_latency);
  const double taken = test::cpu_seconds() - begin;
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->chunk_bytes, 7);
  EXPECT_EQ(plan->chunks, kMostGranules);
  EXPECT_LT(taken, 5);
  EXPECT_EQ(schedule_of(*plan, options).error().code, ErrorCode::kTooLarge);
  const Error error = plan_stream({INT64_MAX, 1}, options, free_latency).error();
  EXPECT_EQ(error.code, ErrorCode::kTooLarge);
  EXPECT_EQ(test::figures(error.help), "8388608");
  options.budget_bytes = INT64_MAX;
  EXPECT_EQ(plan_stream({INT64_MAX, INT64_MAX}, options, free_latency)->chunks, 1);
  options.buffers = 1;
  EXPECT_EQ(plan_stream({kMostGranules, 1}, options, free_latency)->chunks, 1);
  EXPECT_EQ(plan_stream({0, 1}, options, free_latency)->chunks, 0);
}

TEST(StreamingPlan, SaysWhatWouldHelpWhenNotOneGranuleFits) {
  StreamOptions options;
  options.budget_bytes = 7000;
  options.scratch_bytes = 4096;
  const Error error = plan_stream({1 << 20, 2048}, options, {}).error();
  EXPECT_EQ(error.code, ErrorCode::kDoesNotFit);
  EXPECT_EQ(test::figures(error.message), "2 2048 4096 8192 1192 7000");
  EXPECT_EQ(test::figures(error.help), "1 1452 2904 8192");
}

TEST(StreamingPlan, RefusesNumbersThatCannotBe) {
  StreamOptions options;
  options.budget_bytes = 100;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto code = [&](StreamData data, StreamCosts costs) {
    return plan_stream(data, options, costs).error().code;
  };
  EXPECT_EQ(code({-1, 1}, {}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({1, 0}, {}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({1, 1}, {0, 0, 1, 0}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({1, 1}, {1, 0, nan, 0}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({1, 1}, {1, -1, 1, 0}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({1, 1}, {1, 0, 1, std::numeric_limits<double>::infinity()}),
            ErrorCode::kOutOfRange);
  EXPECT_EQ(code({100, 1}, {1e-320, 0, 1, 0}), ErrorCode::kOverflow);
  // The same when not all of it fits at once: what has no finite time still fits.
  EXPECT_EQ(plan_stream({100, 1}, {50, 2, 0, 1}, {1e-320, 0, 1, 0}).error().code,
            ErrorCode::kOverflow);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(plan_stream({100, 10}, options, {infinity, 0, 1, 0})->times.total, 100);
}

/// The promises of a slicing, checked by counting tiles.
void expect_slicing(const std::vector<std::int64_t>& extents, const SliceRules& rules,
                    const StreamOptions& options, const StreamCosts& costs,
                    const Slicing& slicing) {
  const std::size_t plain = extents.size() - rules.tile.size();
  std::int64_t inside = rules.tile_bytes;  // of one step
  std::int64_t steps = 1;
  for (std::size_t dim = 0; dim < extents.size(); ++dim) {
    const std::int64_t tile = dim < plain ? 1 : rules.tile[dim - plain];
    const std::int64_t count = (extents[dim] + tile - 1) / tile;
    const bool cut = slicing.joined ? dim <= slicing.dim : dim == slicing.dim;
    (cut ? steps : inside) *= count;
  }
  ASSERT_EQ(slicing.steps, steps);
  const StreamPlan& plan = slicing.plan;
  std::int64_t next = 0;
  std::int64_t next_element = 0;
  for (std::int64_t slice = 0; slice < plan.chunks; ++slice) {
    const auto [from, to] = slicing.steps_of(slice);
    ASSERT_EQ(from, next);
    ASSERT_GT(to, from);
    ASSERT_EQ(plan.bytes_of(slice), (to - from) * inside);
    next = to;
    if (slicing.joined) continue;
    const auto [begin, end] = slicing.elements_of(slice);
    ASSERT_EQ(begin, next_element);
    ASSERT_GT(end, begin);
    next_element = end;
  }
  ASSERT_EQ(next, steps);
  ASSERT_TRUE(slicing.joined || next_element == extents[slicing.dim]);
  ASSERT_EQ(schedule_of(plan, options)->times.total, plan.times.total);
  ASSERT_EQ(plan.costs.load_latency - costs.load_latency,
            rules.run_latency * static_cast<double>(slicing.runs));
  ASSERT_LE(plan.memory.used_bytes, options.budget_bytes);
  ASSERT_LE(std::ssize(plan.memory.buffers), options.buffers);
}

TEST(StreamingSlices, CoverTheTensorWithRaggedEnds) {
  std::mt19937 random(9);
  int along[3] = {};
  int joined = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::int64_t> extents;
    for (int dim = 0; dim < 3; ++dim)
      extents.push_back(1 + static_cast<std::int64_t>(random() % 12));
    SliceRules rules;
    for (auto dims = random() % 4; dims > 0; --dims) {
      rules.tile.push_back(1 + static_cast<std::int64_t>(random() % 4));
    }
    rules.tile_bytes = 1 + static_cast<std::int64_t>(random() % 5);
    rules.run_latency = static_cast<double>(random() % 2);
    StreamOptions options;
    options.budget_bytes = 1 + static_cast<std::int64_t>(random() % 400);
    options.buffers = 1 + static_cast<std::int64_t>(random() % 3);
    const Shape shape = *Shape::make(extents);
    const StreamCosts costs = random_costs(random);
    const Result<Slicing> slicing = slice_stream(shape, rules, options, costs);
    if (!slicing.ok()) {
      ASSERT_EQ(slicing.error().code, ErrorCode::kDoesNotFit);
      // Then not even single tiles fit, each in a separate buffer.
      ASSERT_GT(rules.tile_bytes * options.buffers, options.budget_bytes);
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(expect_slicing(extents, rules, options, costs, *slicing))
        << "case " << i;
    ++(slicing->joined ? joined : along[slicing->dim]);
  }
  EXPECT_GT(std::min({along[0], along[1], along[2], joined}), 50);
}

TEST(StreamingSlices, CutRowsOfTiles) {
  // 228x64 bf16 in 32x32 tiles: 8 rows of 2 tiles of 2048 bytes. Two buffers of 2 rows are 16 KB.
  StreamOptions options;
  options.budget_bytes = 20 << 10;
  StreamCosts costs;
  costs.load_latency = 1e6;  // few slices
  const Result<Slicing> slicing =
      slice_stream(*Shape::make({228, 64}), {{32, 32}, 2048, 1e6}, options, costs);
  ASSERT_TRUE(slicing.ok());
  EXPECT_EQ(slicing->dim, 0u);
  EXPECT_EQ(slicing->runs, 1);
  EXPECT_EQ(slicing->plan.chunks, 4);
  EXPECT_EQ(slicing->plan.chunk_bytes, 8192);
  EXPECT_EQ(slicing->elements_of(0), (std::pair<std::int64_t, std::int64_t>(0, 64)));
  EXPECT_EQ(slicing->elements_of(3), (std::pair<std::int64_t, std::int64_t>(192, 228)));
}

TEST(StreamingSlices, ChooseTheDimThatFits) {
  StreamOptions options;
  options.budget_bytes = 1364 << 10;  // the memory of a Tensix core
  const StreamCosts costs{1, 100, 1, 0};
  // A row of 4 MB does not fit, a column of 256 bytes does.
  const Result<Slicing> wide =
      slice_stream(*Shape::make({64, 1000000}), {{}, 4, 0}, options, costs);
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(wide->dim, 1u);
  EXPECT_EQ(wide->runs, 64);
  EXPECT_FALSE(wide->joined);
  // No dim alone: a plane has 4 MB. Rows of the first two dims are 4000 bytes.
  const Result<Slicing> cube =
      slice_stream(*Shape::make({1000, 1000, 1000}), {{}, 4, 0}, options, costs);
  ASSERT_TRUE(cube.ok());
  EXPECT_TRUE(cube->joined);
  EXPECT_EQ(cube->dim, 1u);
  EXPECT_EQ(cube->steps, 1000000);
  EXPECT_EQ(cube->runs, 1);
  EXPECT_EQ(slice_stream(*Shape::make({}), {{}, 4, 0}, options, costs)->plan.chunks, 1);
  EXPECT_EQ(slice_stream(*Shape::make({0, 5}), {{}, 4, 0}, options, costs)->plan.chunks, 0);
}

TEST(StreamingSlices, RefuseTilesThatCannotBe) {
  StreamOptions options;
  options.budget_bytes = 1000;
  const Shape shape = *Shape::make({4, 4});
  const auto code = [&](const SliceRules& rules) {
    return slice_stream(shape, rules, options, {}).error().code;
  };
  EXPECT_EQ(code({{1, 1, 1}, 4, 0}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({{0, 1}, 4, 0}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({{}, 0, 0}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({{}, 4, -1}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code({{}, INT64_MAX, 0}), ErrorCode::kOverflow);
  EXPECT_EQ(code({{}, 4000, 0}), ErrorCode::kDoesNotFit);
}

}  // namespace
}  // namespace tessera::memory
