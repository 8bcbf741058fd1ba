// SPDX-License-Identifier: Apache-2.0
// Programs between a shard and a packed slab, made by hand as a product of segment lists: plans do
// what plain loops over the program's nests do. Each case is a random seed, which the message
// names.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/exchange/slab_programs.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/process.h"
#include "tessera/testing/relayout/guarded_buffer.h"
#include "tessera/testing/relayout/plan_laws.h"

namespace tessera::test {
namespace {

std::string mistake_of(const relayout::Program& program, Dice& dice, std::uint64_t seed,
                       int trials) {
  std::vector<std::byte> source(static_cast<std::size_t>(program.from.bytes));
  std::vector<std::byte> before(static_cast<std::size_t>(program.to.bytes));
  randomize(source, seed);
  randomize(before, seed + 1);
  std::vector<std::byte> right = before;
  const std::int64_t width = *dtype_bits(program.to.storage()) / 8;
  for_each_step(program, [&](std::int64_t from, std::int64_t to) {
    std::memcpy(right.data() + to * width, source.data() + from * width,
                static_cast<std::size_t>(width));
  });
  for (int i = 0; i < trials; ++i) {
    Trial trial = random_trial(dice);
    trial.part = true;
    const std::string text = cat("\n  ", describe_trial(trial));
    const CrashNote note(cat("crashed with seed ", seed, text));
    const std::string mistake = trial_mistake(program, relayout::Rounding::kChecked, trial, source,
                                              before, {right, "", {}});
    if (!mistake.empty()) return mistake + text;
  }
  return "";
}

constexpr std::array kTypes = {DType::kU8, DType::kU16, DType::kF32, DType::kF64};

/// At least one in three of these cases must use the gather and scatter job, and one in twenty the
/// transpose table job.
void holds(int cases, std::int64_t longest, std::int64_t most_bytes) {
  if (kSanitized) cases /= 10;
  int gathered = 0;
  int transposed = 0;
  int tried = 0;
  for (int seed = 0; seed < cases; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const DType type = kTypes[static_cast<std::size_t>(dice.below(4))];
    const SlabDraw draw = random_slab(dice, type, longest);
    if (draw.program.from.bytes > most_bytes || draw.program.to.bytes > most_bytes) continue;
    ++tried;
    const Result<relayout::Plan> plan = relayout::Plan::make(draw.program, {.part = true});
    ASSERT_TRUE(plan.ok()) << plan.error().message << draw.text;
    const std::string how = plan->describe().front();
    if (how.starts_with("scatter: ") || how.starts_with("gather: ")) ++gathered;
    if (how.starts_with("transpose_table: ")) ++transposed;
    const std::string mistake = mistake_of(draw.program, dice, static_cast<std::uint64_t>(seed), 4);
    ASSERT_EQ(mistake, "") << "seed " << seed << draw.text << "\n  " << how;
  }
  EXPECT_GE(tried, cases / 2);
  EXPECT_GE(gathered, tried / 3);
  EXPECT_GE(transposed, tried / 20);
}

TEST(GatherScatter, ShortSegmentsMoveAsPlainLoopsDo) { holds(1200, 24, 1 << 18); }
TEST(GatherScatter, LongSegmentsMoveAsPlainLoopsDo) { holds(120, 3000, 1 << 22); }

/// 8x8 blocks to 100x100 on a 2x2 grid, from the rank (0, 0) to itself: the segments of a period of
/// 400 are the overlaps of even blocks of 8 with even blocks of 100, cut at 8, 16, .. and 100.
TEST(GatherScatter, BlocksThatDoNotDivideAreOneJob) {
  Factor along[2];
  for (int dim = 0; dim < 2; ++dim) {
    std::int64_t packed = 0;
    for (std::int64_t x = 0; x < 400;) {
      std::int64_t end = x;
      while (end < 400 && end / 8 == x / 8 && end / 100 == x / 100) ++end;
      if (x / 8 % 2 == 0 && x / 100 % 2 == 0) {
        const std::int64_t shard = x / 200 * 100 + x % 100;
        const auto positions = [&](std::int64_t slab_step, std::int64_t shard_step) {
          return dim == 0 ? PositionPair{{0, slab_step * 100}, {0, shard_step * 200}}
                          : PositionPair{{0, slab_step}, {0, shard_step}};
        };
        along[dim].pieces.push_back(
            {{0}, positions(packed, shard), {{dim, end - x, 1, positions(1, 1)}}});
        packed += end - x;
      }
      x = end;
    }
    along[dim].dims = {dim};
    ASSERT_EQ(packed, 100);
  }
  relayout::Program program;
  program.from = one_place(std::int64_t{100} * 100, DType::kF32);
  program.to = one_place(std::int64_t{200} * 200, DType::kF32);
  program.copies.emplace_back(*Shape::make({100, 100}), Shape(), Shape(), PositionPair{},
                              std::vector<Factor>{along[0], along[1]});
  const Result<relayout::Plan> plan = relayout::Plan::make(program, {.part = true});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->describe().size(), 1u);
  EXPECT_EQ(figures(plan->describe()[0]), "16 32 1300 1");  // runs of 16 to 32 bytes in one row
  Dice dice(1);
  EXPECT_EQ(mistake_of(program, dice, 1, 8), "");
}

}  // namespace
}  // namespace tessera::test
