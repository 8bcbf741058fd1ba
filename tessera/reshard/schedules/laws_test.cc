// SPDX-License-Identifier: Apache-2.0
// The cycles of schedules equal those of walking through every message; see naive_schedules.h.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>

#include "tessera/testing/reshard/naive_schedules.h"
#include "tessera/testing/reshard/reshard_runs.h"

namespace tessera::test {
namespace {

void cycles_are_those_of_every_message(int cases, ReshardSource source) {
  std::int64_t reductions = 0;
  std::size_t number = 0;
  const ReshardFeatures features =
      reshard_law_holds(cases, source, [&](const ReshardPair& pair, const NaiveReshard& moves) {
        // Few colours make more rounds, and leave out schedules.
        ReshardPair coloured = pair;
        const std::int64_t colours = std::array{21, 21, 6, 4, 2}[number++ % 5];
        if (coloured.physical.fabric) coloured.physical.fabric->colours = colours;
        return schedules_mistake(coloured, moves, reductions);
      });
  std::printf("%lld pairs, %lld with reductions along lines\n",
              static_cast<long long>(features.pairs()), static_cast<long long>(reductions));
  EXPECT_GE(reductions * 100, features.pairs());
}

TEST(Schedules, OfRandomPairsTakeTheCyclesOfEveryMessage) {
  cycles_are_those_of_every_message(4000, ReshardSource::kForms);
}

TEST(Schedules, OfTextsTakeTheCyclesOfEveryMessage) {
  cycles_are_those_of_every_message(1000, ReshardSource::kTexts);
}

}  // namespace
}  // namespace tessera::test
