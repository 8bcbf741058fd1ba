// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/least.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/moves/price.h"
#include "tessera/notation/tensor.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/ops/random_calls.h"

namespace tessera::moves {
namespace {

/// The cycles of all steps; empty without a price.
std::optional<double> cycles_of(const MoveModel& model, const Stored& a, const Stored& b) {
  const Result<Move> move = model.price(a, b);
  if (!move) return std::nullopt;
  double sum = 0;
  for (const Step& step : move->steps) {
    if (!step.cycles) return std::nullopt;
    sum += *step.cycles;
  }
  return sum;
}

TEST(LeastCycles, AreNotAboveThePrice) {
  std::int64_t compared = 0;
  std::int64_t positive = 0;
  for (const std::string_view name :
       {"wse2", "wse3", "wormhole", "wormhole-8", "blackhole", "spyre"}) {
    const Result<MoveModel> model = MoveModel::make(**target::find_machine(name));
    ASSERT_TRUE(model) << model.error().message;
    for (std::uint64_t seed = 0; seed < test::tries(300); ++seed) {
      test::Dice dice(seed * 131 + 7);
      test::Limits limits;
      limits.max_mesh_rank = static_cast<std::int64_t>(model->machine().shape().rank());
      limits.max_extent = 64;
      limits.max_elements = 4096;
      limits.max_slots = 65536;
      const std::optional<Layout> a = test::random_layout(dice, limits);
      if (!a) continue;
      const std::optional<Layout> b = test::random_layout_of(dice, a->shape(), a->dtype(), limits);
      if (!b) continue;
      // Every other time from or to a memory outside of places, where the machine has one.
      const auto space = [&] {
        const std::vector<target::MemorySpace>& memory = model->machine().memory;
        if (seed % 2 == 0) return std::string();
        return memory[static_cast<std::size_t>(dice.below(std::ssize(memory)))].name;
      };
      const Stored from{Placement(*a), space()};
      const Stored to{Placement(*b), space()};
      const std::optional<double> price = cycles_of(*model, from, to);
      if (!price) continue;
      const double least = least_cycles(model->machine(), from, to);
      ++compared;
      if (least > 0) ++positive;
      EXPECT_LE(least, *price + 1e-9) << name << " seed " << seed << "\n"
                                      << notation::print_native(from.placement) << "\n"
                                      << notation::print_native(to.placement);
    }
  }
  EXPECT_GT(compared, 40);
  EXPECT_GT(positive, 5);
}

/// The example of the header: 16384 elements leave one place, which keeps 256.
TEST(LeastCycles, CountWhatTheFullestPlaceSends) {
  const Machine& wafer = **target::find_machine("wse2");
  const auto stored = [](std::string_view layout) {
    return Stored{parse_tensor(cat("tensor<64x256xf32, ", layout, ">"))->placement, ""};
  };
  EXPECT_EQ(least_cycles(wafer, stored("pyflame.SinglePE()"), stored("pyflame.Grid(2, 32)")),
            16384 - 256);
  EXPECT_EQ(least_cycles(wafer, stored("pyflame.Grid(2, 32)"), stored("pyflame.SinglePE()")),
            16384 - 256);
  EXPECT_EQ(least_cycles(wafer, stored("pyflame.Grid(2, 32)"), stored("pyflame.Grid(32, 2)")), 0);
}

}  // namespace
}  // namespace tessera::moves
