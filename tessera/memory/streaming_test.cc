// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/streaming.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tessera/memory/validate.h"
#include "tessera/testing/figures.h"

namespace tessera::memory {
namespace {

constexpr std::int64_t kKb = 1024;

/// The definition in streaming.h, simulated moment by moment. Times are small integers.
struct Played {
  std::vector<StreamStep> steps;
  std::int64_t total = 0;
  std::int64_t together = 0;  ///< moments at which a load and a compute ran
};

Played play(const std::vector<Chunk>& chunks, std::size_t buffers) {
  enum class Is { kFree, kLoading, kFull, kUsed };
  std::vector<Is> buffer(buffers, Is::kFree);
  Played played;
  played.steps.resize(chunks.size());
  std::size_t next_load = 0;
  std::size_t next_compute = 0;
  bool loading = false;
  bool computing = false;
  std::int64_t now = 0;
  while (next_compute < chunks.size()) {
    for (bool changed = true; changed;) {  // everything that happens at this moment
      changed = false;
      const auto time = static_cast<double>(now);
      if (loading && played.steps[next_load].load_start + chunks[next_load].load == time) {
        played.steps[next_load].load_end = time;
        buffer[next_load % buffers] = Is::kFull;
        ++next_load;
        loading = false;
        changed = true;
      }
      if (computing &&
          played.steps[next_compute].compute_start + chunks[next_compute].compute == time) {
        played.steps[next_compute].compute_end = time;
        buffer[next_compute % buffers] = Is::kFree;
        ++next_compute;
        computing = false;
        changed = true;
      }
      if (!loading && next_load < chunks.size() && buffer[next_load % buffers] == Is::kFree) {
        played.steps[next_load].load_start = time;
        played.steps[next_load].buffer = next_load % buffers;
        buffer[next_load % buffers] = Is::kLoading;
        loading = changed = true;
      }
      if (!computing && next_compute < next_load && buffer[next_compute % buffers] == Is::kFull) {
        played.steps[next_compute].compute_start = time;
        buffer[next_compute % buffers] = Is::kUsed;
        computing = changed = true;
      }
    }
    played.total = now;
    if (loading && computing) ++played.together;
    ++now;
  }
  return played;
}

std::vector<Chunk> random_chunks(std::mt19937& random) {
  std::vector<Chunk> chunks(1 + random() % 12);
  const auto most_load = 1 + random() % 6;
  const auto most_compute = 1 + random() % 6;
  for (Chunk& chunk : chunks) {
    chunk = {static_cast<std::int64_t>(random() % 100), static_cast<double>(random() % most_load),
             static_cast<double>(random() % most_compute)};
  }
  return chunks;
}

/// Everything that the header promises about a schedule, checked against the simulated one.
void expect_schedule(const std::vector<Chunk>& chunks, const StreamOptions& options) {
  const Result<StreamSchedule> schedule = schedule_stream(chunks, options);
  ASSERT_TRUE(schedule.ok()) << schedule.error().message;
  const auto wanted = static_cast<std::size_t>(options.buffers);
  const Played played = play(chunks, wanted);
  ASSERT_EQ(schedule->steps.size(), chunks.size());
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    ASSERT_EQ(schedule->steps[k].buffer, played.steps[k].buffer);
    ASSERT_EQ(schedule->steps[k].load_start, played.steps[k].load_start) << "chunk " << k;
    ASSERT_EQ(schedule->steps[k].load_end, played.steps[k].load_end);
    ASSERT_EQ(schedule->steps[k].compute_start, played.steps[k].compute_start);
    ASSERT_EQ(schedule->steps[k].compute_end, played.steps[k].compute_end);
  }
  const StreamTimes& times = schedule->times;
  ASSERT_EQ(times.total, static_cast<double>(played.total));
  ASSERT_EQ(times.hidden(), static_cast<double>(played.together));
  ASSERT_EQ(times.bound, static_cast<double>(play(chunks, chunks.size()).total));
  ASSERT_LE(times.bound, times.total);

  // Chunks as buffers that are loaded, used and released at their positions in the schedule.
  Problem problem;
  std::vector<std::int64_t> offsets;
  const StreamMemory& memory = schedule->memory;
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const StreamStep& step = schedule->steps[k];
    if (step.load_start == step.compute_end) continue;  // takes no time
    ASSERT_LE(chunks[k].bytes, memory.buffers[step.buffer].bytes);
    Buffer buffer;
    buffer.lower = static_cast<std::int64_t>(step.load_start);
    buffer.upper = static_cast<std::int64_t>(step.compute_end);
    buffer.size = chunks[k].bytes;
    buffer.alignment = options.alignment;
    problem.buffers.push_back(buffer);
    offsets.push_back(memory.buffers[step.buffer].offset);
  }
  Buffer scratch;
  scratch.upper = played.total + 1;
  scratch.size = memory.scratch.bytes;
  scratch.alignment = options.alignment;
  problem.buffers.push_back(scratch);
  offsets.push_back(memory.scratch.offset);
  const std::vector<Finding> findings = validate(problem, offsets, options.budget_bytes);
  ASSERT_TRUE(findings.empty()) << findings[0].message;
  ASSERT_LE(memory.used_bytes, options.budget_bytes);
}

TEST(Streaming, KeepsToItsModelOnRandomChains) {
  std::mt19937 random(11);
  for (int i = 0; i < 5000; ++i) {
    const std::vector<Chunk> chunks = random_chunks(random);
    StreamOptions options;
    options.buffers = 1 + static_cast<std::int64_t>(random() % 4);
    options.scratch_bytes = random() % 2 == 0 ? 0 : static_cast<std::int64_t>(random() % 50);
    options.alignment = static_cast<std::int64_t>(1 + random() % 8);
    options.budget_bytes = 1000;
    ASSERT_NO_FATAL_FAILURE(expect_schedule(chunks, options)) << "case " << i;
    // The budget may shrink to what is used, and not one byte further.
    const std::int64_t used = schedule_stream(chunks, options)->memory.used_bytes;
    options.budget_bytes = used;
    ASSERT_TRUE(schedule_stream(chunks, options).ok());
    if (used == 0) continue;
    options.budget_bytes = used - 1;
    ASSERT_EQ(schedule_stream(chunks, options).error().code, ErrorCode::kDoesNotFit);
  }
}

/// The picture of the PyFlame document: [A: 16 KB][B: 16 KB][scratch: 4 KB], which are the 36 KB
/// that a PE of wse2 has for data; T0 loads A, T1 computes on A and loads B, T2 computes on B and
/// loads A.
TEST(Streaming, DoubleBuffersAsPyFlameDraws) {
  StreamOptions options;
  options.budget_bytes = 36 * kKb;
  options.scratch_bytes = 4 * kKb;
  options.alignment = 4;
  const std::vector<Chunk> chunks(5, Chunk{16 * kKb, 1, 1});
  ASSERT_NO_FATAL_FAILURE(expect_schedule(chunks, options));
  const Result<StreamSchedule> schedule = schedule_stream(chunks, options);
  ASSERT_EQ(schedule->memory.buffers.size(), 2u);
  EXPECT_EQ(schedule->memory.buffers[0].offset, 0);
  EXPECT_EQ(schedule->memory.buffers[0].bytes, 16 * kKb);
  EXPECT_EQ(schedule->memory.buffers[1].offset, 16 * kKb);
  EXPECT_EQ(schedule->memory.scratch.offset, 32 * kKb);
  EXPECT_EQ(schedule->memory.used_bytes, 36 * kKb);
  for (std::size_t k = 0; k < 5; ++k) {
    const auto at = static_cast<double>(k);
    EXPECT_EQ(schedule->steps[k].buffer, k % 2);
    EXPECT_EQ(schedule->steps[k].load_start, at);
    EXPECT_EQ(schedule->steps[k].load_end, at + 1);
    EXPECT_EQ(schedule->steps[k].compute_start, at + 1);
    EXPECT_EQ(schedule->steps[k].compute_end, at + 2);
  }
  EXPECT_EQ(schedule->times.total, 6);
  EXPECT_EQ(schedule->times.without_overlap(), 10);
  EXPECT_EQ(schedule->times.overlap(), 0.8);
  options.buffers = 1;
  EXPECT_EQ(schedule_stream(chunks, options)->times.total, 10);
  EXPECT_EQ(schedule_stream(chunks, options)->times.overlap(), 0);
}

TEST(Streaming, SaysWhatWouldHelpWhenItDoesNotFit) {
  StreamOptions options;
  options.budget_bytes = 35 * kKb;
  options.scratch_bytes = 4 * kKb;
  const std::vector<Chunk> chunks(3, Chunk{16 * kKb, 1, 1});
  const Error error = schedule_stream(chunks, options).error();
  EXPECT_EQ(error.code, ErrorCode::kDoesNotFit);
  EXPECT_EQ(test::figures(error.message), "2 16384 4096 36864 1024 35840");
  EXPECT_EQ(test::figures(error.help), "1 15872 3072 36864");
  options.budget_bytes = 10 * kKb;
  EXPECT_EQ(test::figures(schedule_stream(chunks, options).error().help), "3072 36864");
  options.buffers = 1;
  options.scratch_bytes = 0;
  EXPECT_EQ(test::figures(schedule_stream(chunks, options).error().message),
            "1 16384 16384 6144 10240");
}

TEST(Streaming, EmptyChainsTakeNothing) {
  StreamOptions options;
  options.scratch_bytes = 10;
  options.budget_bytes = 10;
  const Result<StreamSchedule> schedule = schedule_stream({}, options);
  ASSERT_TRUE(schedule.ok());
  EXPECT_EQ(schedule->memory.buffers.size(), 0u);
  EXPECT_EQ(schedule->memory.used_bytes, 10);
  EXPECT_EQ(schedule->times.total, 0);
  EXPECT_EQ(schedule->times.overlap(), 1);
}

TEST(Streaming, RefusesNumbersThatCannotBe) {
  const std::vector<Chunk> one = {{8, 1, 1}};
  StreamOptions fine;
  fine.budget_bytes = 100;
  ASSERT_TRUE(schedule_stream(one, fine).ok());
  const auto code = [&](const auto& change) {
    StreamOptions options = fine;
    change(options);
    return schedule_stream(one, options).error().code;
  };
  EXPECT_EQ(code([](auto& o) { o.buffers = 0; }), ErrorCode::kOutOfRange);
  EXPECT_EQ(code([](auto& o) { o.buffers = 4097; }), ErrorCode::kOutOfRange);
  EXPECT_EQ(code([](auto& o) { o.budget_bytes = -1; }), ErrorCode::kOutOfRange);
  EXPECT_EQ(code([](auto& o) { o.scratch_bytes = -1; }), ErrorCode::kOutOfRange);
  EXPECT_EQ(code([](auto& o) { o.alignment = 0; }), ErrorCode::kBadAlignment);
  EXPECT_EQ(code([](auto& o) { o.scratch_bytes = INT64_MAX; }), ErrorCode::kOverflow);
  EXPECT_EQ(code([](auto& o) { o.alignment = INT64_MAX, o.scratch_bytes = 1; }),
            ErrorCode::kOverflow);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Chunk bad :
       {Chunk{-1, 1, 1}, Chunk{8, -1, 1}, Chunk{8, 1, nan}, Chunk{8, infinity, 1}}) {
    EXPECT_EQ(schedule_stream(std::vector<Chunk>{one[0], bad}, fine).error().code,
              ErrorCode::kOutOfRange);
  }
  EXPECT_EQ(schedule_stream(std::vector<Chunk>{{8, 1e308, 1e308}}, fine).error().code,
            ErrorCode::kOverflow);
  EXPECT_EQ(
      schedule_stream(std::vector<Chunk>{{INT64_MAX, 1, 1}, {INT64_MAX, 1, 1}}, fine).error().code,
      ErrorCode::kOverflow);
}

TEST(Streaming, IsPlannedTogetherWithOtherBuffers) {
  StreamOptions options;
  options.budget_bytes = 100;
  options.scratch_bytes = 10;
  const std::vector<Chunk> chunks = {{30, 1, 1}, {20, 1, 1}, {8, 1, 1}};
  const Result<StreamSchedule> schedule = schedule_stream(chunks, options);
  const Result<std::vector<Buffer>> buffers = stream_buffers(schedule->memory, 16, 3, 4);
  ASSERT_TRUE(buffers.ok());
  ASSERT_EQ(buffers->size(), 3u);
  EXPECT_EQ((*buffers)[0].size, 30);
  EXPECT_EQ((*buffers)[1].size, 20);
  EXPECT_EQ((*buffers)[2].size, 10);
  for (const Buffer& buffer : *buffers) {
    EXPECT_EQ(buffer.lower, 3);
    EXPECT_EQ(buffer.upper, 4);
    EXPECT_EQ(buffer.alignment, 16);
  }
  EXPECT_EQ(stream_buffers(schedule->memory, 16, 4, 4).error().code, ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace tessera::memory
