// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/collective_laws.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tessera/testing/build.h"
#include "tessera/testing/reshard/schedule_law.h"

// The laws of collectives must notice mistakes.

namespace tessera::test {
namespace {

using reshard::BlockRound;
using reshard::Collective;
using reshard::CollectiveKind;
using reshard::Collectives;
using reshard::Schedule;

Schedule changed(const Schedule& schedule, std::int64_t round,
                 const std::function<void(BlockRound&)>& change) {
  return Schedule(schedule.kind(), schedule.members(), schedule.blocks(), schedule.root(),
                  schedule.rounds(), [schedule, round, change](std::int64_t r) {
                    BlockRound sends = schedule.round(r);
                    if (r == round) change(sends);
                    return sends;
                  });
}

TEST(ScheduleLaw, NoticesMistakes) {
  const Schedule gather =
      *reshard::schedule_of(CollectiveKind::kAllGather, 5, 0, {reshard::Algorithm::kRing});
  EXPECT_EQ(schedule_mistake(gather), "");
  const auto breaks = [](const Schedule& schedule, std::int64_t round,
                         const std::function<void(BlockRound&)>& change) {
    return !schedule_mistake(changed(schedule, round, change)).empty();
  };
  EXPECT_TRUE(breaks(gather, 1, [](BlockRound& sends) { sends.pop_back(); }));
  EXPECT_TRUE(breaks(gather, 1, [](BlockRound& sends) { sends.push_back(sends.front()); }));
  EXPECT_TRUE(breaks(gather, 0, [](BlockRound& sends) { sends[0].blocks.back().first += 1; }));
  EXPECT_TRUE(breaks(gather, 3, [](BlockRound& sends) { sends[0].blocks.back().first = 5; }));
  EXPECT_TRUE(breaks(gather, 0, [](BlockRound& sends) { sends[0].to = sends[0].from; }));
  EXPECT_TRUE(breaks(gather, 2, [](BlockRound& sends) { sends.clear(); }));
  const Schedule reduce =
      *reshard::schedule_of(CollectiveKind::kAllReduce, 6, 0, {reshard::Algorithm::kDoubling});
  EXPECT_EQ(schedule_mistake(reduce), "");
  EXPECT_TRUE(breaks(reduce, 0, [](BlockRound& sends) { sends[0].combines = false; }));
  EXPECT_TRUE(breaks(reduce, 1, [](BlockRound& sends) { sends.push_back(sends[0]); }));
  EXPECT_TRUE(breaks(reduce, 2, [](BlockRound& sends) { sends[0].to = sends[1].to; }));
  EXPECT_TRUE(breaks(reduce, 3, [](BlockRound& sends) { sends.pop_back(); }));
}

/// 6 elements over 3 places to a copy on each, and what the recognised steps are.
struct Example {
  ReshardPair pair;
  NaiveReshard moves;
  Collectives found;
};
Example example() {
  const Placement from =
      Placement(layout(form({6}, {3}, {fold(x(0), {on(0, 2, 3), mem(1, 2, 1)})})));
  const Placement to =
      Placement(layout(form({6}, {3}, {fold(x(0), {mem(1, 6, 1)})}, {Fill::replicate(0, 3)})));
  ReshardPair pair{from, to, physical_of(shape({3}))};
  NaiveReshard moves = naive_reshard(from, to, pair.physical);
  const reshard::Reshard reshard = *reshard::Reshard::make(from, to, pair.physical);
  Collectives found = **reshard::collectives_of(reshard);
  return {std::move(pair), std::move(moves), std::move(found)};
}

TEST(CollectiveLaw, NoticesMistakes) {
  const Example right = example();
  ASSERT_EQ(right.found.steps.size(), 1U);
  EXPECT_EQ(steps_mistake(right.found, right.moves), "");
  EXPECT_EQ(collectives_mistake(right.pair, right.moves), "");
  const auto breaks = [&](const std::function<void(Collective&)>& change) {
    Collectives wrong = right.found;
    change(wrong.steps[0]);
    return !steps_mistake(wrong, right.moves).empty();
  };
  EXPECT_TRUE(breaks([](Collective& step) { step.kind = CollectiveKind::kBroadcast; }));
  EXPECT_TRUE(breaks([](Collective& step) { step.kind = CollectiveKind::kAllReduce; }));
  EXPECT_TRUE(breaks([](Collective& step) { step.kind = CollectiveKind::kGather; }));
  EXPECT_TRUE(breaks([](Collective& step) { step.kind = CollectiveKind::kSlice; }));
  EXPECT_TRUE(breaks([](Collective& step) { step.before.most = 3; }));
  EXPECT_TRUE(breaks([](Collective& step) { step.after.total = 6; }));
  EXPECT_TRUE(breaks([](Collective& step) { step.members = 2; }));
  EXPECT_TRUE(breaks([](Collective& step) { step.axes.clear(); }));
  Collectives nothing = right.found;
  nothing.steps.clear();
  EXPECT_NE(steps_mistake(nothing, right.moves), "");
}

}  // namespace
}  // namespace tessera::test
