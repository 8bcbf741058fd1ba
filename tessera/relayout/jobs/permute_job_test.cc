// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/kernels/kernels.h"

namespace tessera::relayout {
namespace {

struct Ends {
  std::int64_t src = 0;
  std::int64_t dst = 0;
};

/// One past the largest byte on either side.
Ends ends_of(const FlatNest& nest) {
  Ends ends{nest.src + nest.width, nest.dst + nest.width};
  for (const Axis& axis : nest.axes) {
    ends.src += std::max<std::int64_t>(0, (axis.extent - 1) * axis.src);
    ends.dst += (axis.extent - 1) * axis.dst;
  }
  return ends;
}

/// Law: the items of a job, in any order and shared in any way, move what the nest's loops move.
void check_job(const Job& job, const FlatNest& nest) {
  const Ends ends = ends_of(nest);
  std::vector<std::byte> from(static_cast<std::size_t>(ends.src));
  std::mt19937_64 random(3);
  for (std::byte& byte : from) byte = static_cast<std::byte>(random());
  std::vector<std::byte> expected(static_cast<std::size_t>(ends.dst));
  for (std::int64_t i = 0; i < nest.steps(); ++i) {
    const Offsets at = offsets_at(nest.axes, i);
    std::memcpy(expected.data() + nest.dst + at.dst, from.data() + nest.src + at.src,
                static_cast<std::size_t>(nest.width));
  }
  for (const bool streaming : {false, true}) {
    for (const int workers : {1, 3}) {
      std::vector<std::byte> to(expected.size());
      const Arrays arrays{from.data(), ends.src, to.data(), streaming, Scratch::mine()};
      for (int worker = workers; worker-- > 0;) {
        const std::int64_t items = job.items(workers);
        job.run(items * worker / workers, items * (worker + 1) / workers, workers, arrays);
      }
      finish_streaming();
      EXPECT_EQ(to, expected) << job.describe() << ", " << workers << " workers, streaming "
                              << streaming;
    }
  }
}

FlatNest nest_of(std::int64_t width, std::vector<Axis> axes) {
  return {8, 16, std::move(axes), width};
}

TEST(PermuteJob, MovesBlocksInRowsAndFarApart) {
  // Odd-even 16 of 4 bytes: one long line, longer than an item; then three lines with gaps.
  const FlatNest line = nest_of(4, {{2000, 64, 64}, {2, 4, 32}, {8, 8, 4}});
  const auto job = make_permute_job(line);
  ASSERT_NE(job, nullptr);
  EXPECT_GT(job->items(1), 1);
  check_job(*job, line);
  const FlatNest apart = nest_of(2, {{3, 5000, 6000}, {40, 32, 32}, {2, 2, 16}, {8, 4, 2}});
  const auto gaps = make_permute_job(apart);
  ASSERT_NE(gaps, nullptr);
  check_job(*gaps, apart);
}

TEST(PermuteJob, MovesSmallTransposes) {
  // 3x5 squares of bytes, side by side: blocks of 15, which fill no line.
  const FlatNest small = nest_of(1, {{100, 15, 15}, {5, 1, 3}, {3, 5, 1}});
  const auto job = make_permute_job(small);
  ASSERT_NE(job, nullptr);
  check_job(*job, small);
  // Three axes reversed: 2x3x4 elements of 8 bytes.
  const FlatNest three = nest_of(8, {{20, 192, 192}, {4, 8, 48}, {3, 32, 16}, {2, 96, 8}});
  const auto turned = make_permute_job(three);
  ASSERT_NE(turned, nullptr);
  check_job(*turned, three);
}

TEST(PermuteJob, RefusesOtherNests) {
  EXPECT_EQ(make_permute_job(nest_of(4, {})), nullptr);
  EXPECT_EQ(make_permute_job(nest_of(4, {{100, 4, 8}})), nullptr);                 // no block
  EXPECT_EQ(make_permute_job(nest_of(4, {{64, 4, 256}, {64, 256, 4}})), nullptr);  // too large
  EXPECT_EQ(make_permute_job(nest_of(4, {{2, 4, 32}, {8, 8, 4}})), nullptr);       // one block
  EXPECT_EQ(make_permute_job(nest_of(4, {{9, 128, 64}, {2, 8, 32}, {8, 16, 4}})), nullptr);  // gaps
}

TEST(InterleaveJob, PutsStreamsTogetherAndTakesThemApart) {
  for (const std::int64_t width : {1, 2, 4, 8}) {
    for (const std::int64_t k : {2, 3, 4}) {
      for (const std::int64_t n : {300, 20'001}) {
        const std::int64_t plane = n * width + 24;
        const FlatNest together = nest_of(
            width, {{2, k * plane, k * n * width + 8}, {n, width, k * width}, {k, plane, width}});
        const auto job = make_interleave_job(together);
        ASSERT_NE(job, nullptr);
        check_job(*job, together);
        const FlatNest apart = nest_of(
            width, {{2, k * n * width, k * plane}, {k, width, plane}, {n, k * width, width}});
        const auto back = make_interleave_job(apart);
        ASSERT_NE(back, nullptr);
        check_job(*back, apart);
      }
    }
  }
}

TEST(InterleaveJob, RefusesOtherNests) {
  EXPECT_EQ(make_interleave_job(nest_of(4, {})), nullptr);
  EXPECT_EQ(make_interleave_job(nest_of(4, {{300, 4, 20}, {5, 1200, 4}})), nullptr);  // 5 streams
  EXPECT_EQ(make_interleave_job(nest_of(4, {{30, 4, 12}, {3, 120, 4}})), nullptr);    // short
  EXPECT_EQ(make_interleave_job(nest_of(4, {{300, 4, 16}, {3, 1200, 4}})), nullptr);  // holes
  EXPECT_EQ(make_interleave_job(nest_of(16, {{300, 16, 48}, {3, 4800, 16}})), nullptr);
}

}  // namespace
}  // namespace tessera::relayout
