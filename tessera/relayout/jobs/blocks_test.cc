// SPDX-License-Identifier: Apache-2.0
// Sizes at which the blocks of a kernel have their maximum size: one column or row more than a
// tile, runs as long as the buffer that collects them, columns in another order. The parts of the
// scratch memory are adjacent, so only asserts in the kernels detect that one is too small.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/relayout/plan.h"
#include "tessera/testing/build.h"
#include "tessera/testing/relayout/cast_laws.h"
#include "tessera/testing/relayout/instruction_sets.h"
#include "tessera/testing/relayout/plan_laws.h"

namespace tessera::test {
namespace {

constexpr DType kTypes[] = {DType::kU8, DType::kBF16, DType::kF32, DType::kF64};
constexpr std::int64_t kBytes[] = {1, 2, 4, 8};

/// The law of plans, with both kinds of stores, every instruction set, and a destination that
/// begins a line or does not.
void expect_moves(const Layout& from, const Layout& to, int threads = 1) {
  std::vector<Trial> trials;
  const std::size_t sets = instruction_sets().size();
  for (std::size_t set = 1; set <= sets; ++set) {
    trials.push_back({relayout::Stores::kStreaming, threads, set, false, false, 0, 0});
    trials.push_back({relayout::Stores::kStreaming, threads, set, true, false, 0, 24});
    trials.push_back({relayout::Stores::kPlain, threads, set, true, true, 0, 0});
  }
  EXPECT_EQ(plan_mistake(from, to, relayout::PaddingRule::kLeave, trials, 7), "");
}

/// Columns that are not contiguous although the distance from the first to the last suggests it:
/// two loops between them have the opposite order in the destination.
TEST(Blocks, JoinedColumnsAreWrittenInTheirOwnOrder) {
  for (std::size_t type = 0; type < 4; ++type) {
    const std::int64_t rows = 300 / kBytes[type] + 3;
    for (const std::int64_t near : {2, 4, 8, 16}) {
      for (const std::int64_t times : {1, 3}) {
        const Shape extents = shape({rows, times, 2, 2, near});
        const Layout from = *Layout::row_major(extents, kTypes[type]);
        const std::int64_t step = near * rows;
        const Layout to =
            *Layout::strided(extents, kTypes[type], {1, 4 * step, step, 2 * step, rows});
        expect_moves(from, to);
      }
    }
  }
}

/// Runs around the size of the buffer that collects them, none of which begins a line.
TEST(Blocks, RunsAsLongAsTheirBufferAreCollected) {
  for (const std::int64_t bytes : {7999, 8000, 8001, 8127, 8128, 8129, 8191, 8192, 8193}) {
    const Shape extents = shape({5, bytes});
    expect_moves(*Layout::row_major(extents, DType::kU8),
                 *Layout::strided(extents, DType::kU8, {bytes + 1, 1}));
  }
}

/// Widths at which a block has the most rows, or the most unused room.
TEST(Blocks, BlocksOfTheWorstWidthsFitTheirBuffers) {
  for (std::size_t type = 0; type < 4; ++type) {
    for (const std::int64_t bytes : {8, 56, 65, 72, 128, 136, 193, 200, 328, 1032, 4152}) {
      const std::int64_t columns = bytes / kBytes[type];
      for (const std::int64_t rows : {67, 1407, 2111}) {
        if (columns * rows > 300000) continue;
        const Shape extents = shape({rows, columns});
        const Layout from = *Layout::row_major(extents, kTypes[type]);
        expect_moves(from, *Layout::strided(extents, kTypes[type], {1, rows}));
        expect_moves(from, *Layout::strided(extents, kTypes[type], {1, rows + 3}), 2);
      }
    }
  }
}

/// The same for columns that are assembled in the order of the destination.
TEST(Blocks, ShortRowsOfTheWorstHeightsFitTheirBuffers) {
  for (std::size_t type = 0; type < 4; ++type) {
    for (const std::int64_t bytes : {8, 16, 24, 40, 56, 64, 72, 128, 264}) {
      const std::int64_t rows = bytes / kBytes[type];
      for (const std::int64_t columns : {15, 64, 1000}) {
        const Shape extents = shape({3, rows, columns});
        const Layout from = *Layout::row_major(extents, kTypes[type]);
        expect_moves(from, *Layout::strided(extents, kTypes[type], {rows, 1, 3 * rows}));
      }
    }
  }
}

/// Plans are made of numbers from texts: no computation may overflow 64 bits.
TEST(Blocks, PlansOfMemoryThatNobodyHasAreMade) {
  constexpr std::int64_t kMost = INT64_MAX;
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  struct Case {
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> from;
    std::vector<std::int64_t> to;
  };
  const std::vector<Case> cases = {
      {{2}, {kMost - 1}, {1}},
      {{2}, {1}, {kMost - 1}},
      {{2, 2}, {1, kMost - 2}, {1, kMost - 2}},
      {{2, 2}, {kMost - 2, 1}, {1, kMost - 2}},
      {{kHuge / 3, 3}, {3, 1}, {1, kHuge / 3}},
      {{3, kHuge / 3}, {kHuge / 3, 1}, {1, 3}},
      {{200, kHuge / 200}, {kHuge / 200, 1}, {1, 200}},
      {{2}, {kHuge - 1}, {1}},
      {{2}, {1}, {kHuge - 1}},
      {{2}, {kHuge - 1}, {kHuge - 1}},
      {{2, 3}, {kHuge - 8, 1}, {1, 2}},
      {{2, 3}, {3, 1}, {kHuge - 8, 1}},
      {{3, 5}, {kHuge / 2 - 8, 2}, {1, kHuge / 4 - 2}},
      {{kHuge - 1}, {1}, {1}},
      {{kHuge - 1}, {0}, {1}},
      {{kHuge >> 31, kHuge >> 31}, {kHuge >> 31, 1}, {1, kHuge >> 31}},
      {{kHuge / 16, 16}, {16, 1}, {1, kHuge / 16}},
      {{16, kHuge / 16}, {kHuge / 16, 1}, {1, 16}},
      {{3, kHuge / 16}, {kHuge / 16, 1}, {1, 3}},
      {{7, 5, kHuge / 64}, {kHuge / 64, kHuge / 8, 1}, {5, 1, 35}},
      {{kHuge / 64, 4, 8}, {32, 8, 1}, {32, 1, 4}},
      {{kHuge / 4096, 4, 900}, {3600, 1, 4}, {900, kHuge / 4096 * 900, 1}},
  };
  int made = 0;
  for (const Case& c : cases) {
    const Shape extents = shape(c.extents);
    for (const DType type : {DType::kU8, DType::kF32, DType::kI4}) {
      for (const DType kept : {DType::kU8, DType::kBF16, DType::kF64, DType::kI4, DType::kBfpBf8}) {
        // Elements of 1 byte just fit; wider ones are rejected when layouts are made.
        const Result<Layout> from = Layout::strided(extents, type, c.from);
        const Result<Layout> to = Layout::strided(extents, kept, c.to);
        if (!from.ok() || !to.ok()) continue;
        const Result<relayout::Program> program =
            relayout::make_program(*from, *to, relayout::PaddingRule::kZero);
        if (!program.ok()) continue;
        for (const relayout::Stores stores :
             {relayout::Stores::kPlain, relayout::Stores::kStreaming}) {
          relayout::PlanOptions options;
          options.stores = stores;
          const Result<relayout::Plan> plan = relayout::Plan::make(*program, options);
          if (plan.ok()) made += plan->describe().empty() ? 0 : 1;
        }
      }
    }
  }
  EXPECT_GE(made, 50);
}

}  // namespace
}  // namespace tessera::test
