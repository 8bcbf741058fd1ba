// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/exchange/agreement.h"
#include "tessera/exchange/exchange.h"
#include "tessera/testing/exchange/faulty_exchange.h"
#include "tessera/testing/figures.h"

/// Agreements of ranks that are threads, some of which hang, leave, lag or lose notes. Time
/// advances on a clock that waits for all present ranks, so that a busy machine makes no rank
/// appear silent.
namespace tessera::exchange {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test::ExchangeCall;
using test::Faults;
using test::FaultyExchange;
using test::Pace;

/// No rank is reported as silent in a test that is not about silence, however busy the machine.
constexpr Timeouts kPatient{milliseconds(120'000), milliseconds(60'000)};
constexpr Timeouts kHasty{milliseconds(40), milliseconds(400)};

void on_threads(int ranks, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(work, rank);
  for (std::thread& thread : threads) thread.join();
}

/// The same, on a clock that continues without the ranks that are done.
void on_threads(int ranks, Pace& pace, const std::function<void(int)>& work) {
  on_threads(ranks, [&](int rank) {
    work(rank);
    pace.leave(rank);
  });
}

struct Ending {
  std::vector<std::optional<Error>> errors;  ///< of the ranks that are not silent
  int speakers = 0;
  int speaker = -1;
};

/// Every rank calls `work` until it returns an error, which it must then keep returning. `silent`
/// ranks do not take part, and are gone for good when `gone`.
Ending ended(int ranks, const std::vector<int>& silent, bool gone,
             const std::function<Status(Agreement&, steady_clock::time_point)>& work) {
  const auto pace = std::make_shared<Pace>(ranks);
  auto all = test::paced_exchange(pace, ranks);
  Ending ending;
  ending.errors.resize(static_cast<std::size_t>(ranks));
  std::atomic<int> speakers = 0;
  std::atomic<int> speaker = -1;
  std::atomic<int> changed = 0;
  for (const int rank : silent) {
    if (gone) all[static_cast<std::size_t>(rank)].reset();
  }
  on_threads(ranks, *pace, [&](int rank) {
    if (std::find(silent.begin(), silent.end(), rank) != silent.end()) return;
    Agreement agreement(*all[static_cast<std::size_t>(rank)], kHasty);
    const auto since = pace->now();
    Status status = ok_status();
    while (status.ok() && pace->now() - since < std::chrono::seconds(60)) {
      status = work(agreement, since);
    }
    if (status.ok()) return;
    ending.errors[static_cast<std::size_t>(rank)] = status.error();
    if (agreement.speaks()) {
      ++speakers;
      speaker = rank;
    }
    const Status settled = agreement.settle(ok_status());
    const auto sums = agreement.sums(std::vector<std::int64_t>{1});
    if (settled.ok() || settled.error().message != status.error().message) ++changed;
    if (sums.ok() || sums.error().message != status.error().message) ++changed;
  });
  EXPECT_EQ(changed, 0);
  ending.speakers = speakers;
  ending.speaker = speaker;
  return ending;
}

void expect_silent(const Ending& ending, int silent, const std::string& what) {
  const int ranks = static_cast<int>(ending.errors.size());
  const Error* first = nullptr;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == silent) continue;
    const auto& error = ending.errors[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(error) << what << ": rank " << rank;
    EXPECT_EQ(error->code, ErrorCode::kRankSilent) << what;
    if (first == nullptr) first = &*error;
    EXPECT_EQ(error->message, first->message) << what;
    EXPECT_EQ(error->help, first->help) << what;
  }
  EXPECT_TRUE(test::figures(first->message).starts_with(cat(silent, " ")))
      << what << ": " << first->message;
  EXPECT_EQ(ending.speakers, 1) << what;
  EXPECT_EQ(ending.speaker, silent == 0 ? 1 : 0) << what;
}

TEST(SilentRank, IsNamedWhereverItSitsInADecision) {
  for (int ranks = 2; ranks <= 6; ++ranks) {
    on_threads(ranks, [&](int silent) {  // all positions at the same time
      const Ending ending = ended(ranks, {silent}, silent % 2 == 0, [](Agreement& agreement, auto) {
        return agreement.settle(ok_status());
      });
      expect_silent(ending, silent, cat(silent, " of ", ranks));
    });
  }
}

TEST(SilentRank, IsNamedAtTheEndOfAChain) {
  // Every rank waits for the next one; the last waits for nobody.
  on_threads(3, [](int which) {
    const int ranks = 2 + 2 * which;
    const Ending ending =
        ended(ranks, {ranks - 1}, false, [](Agreement& agreement, steady_clock::time_point since) {
          return agreement.wait(agreement.rank() + 1, since);
        });
    expect_silent(ending, ranks - 1, cat("a chain of ", ranks));
  });
}

TEST(SilentRank, IsNamedWhenOthersWaitInADecision) {
  // Rank 1 moves data and waits for rank 2, which is silent; the others are done and agree.
  const Ending ending =
      ended(4, {2}, false, [](Agreement& agreement, steady_clock::time_point since) {
        return agreement.rank() == 1 ? agreement.wait(2, since) : agreement.settle(ok_status());
      });
  expect_silent(ending, 2, "from both sides");
}

TEST(SilentRank, TwoOfThemLeaveOneFinalError) {
  const Ending ending =
      ended(6, {0, 5}, true, [](Agreement& agreement, steady_clock::time_point since) {
        return agreement.wait(5, since);
      });
  for (const int rank : {2, 3, 4}) {
    const auto& error = ending.errors[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message, ending.errors[1]->message);
    EXPECT_TRUE(test::figures(error->message).starts_with("0 5")) << error->message;
  }
  EXPECT_EQ(ending.speakers, 1);
  EXPECT_EQ(ending.speaker, 1);
}

TEST(SilentRank, HangsInsideADecision) {
  // Rank 2 of 4 stops while it waits inside settle(), and receives the final error when it
  // continues.
  const auto pace = std::make_shared<Pace>(4);
  const auto all =
      test::paced_exchange(pace, 4, 2, Faults{{}, {}, {}, {{ExchangeCall::kIdle, 3}}, {}});
  auto& hanging = static_cast<FaultyExchange&>(*all[2]);
  std::vector<std::optional<Status>> outcomes(4);
  std::atomic<int> done = 0;
  on_threads(4, *pace, [&](int rank) {
    Agreement agreement(*all[static_cast<std::size_t>(rank)], kHasty);
    if (rank == 3) {  // late, so that rank 2 has to wait for it
      while (!hanging.hangs()) std::this_thread::sleep_for(milliseconds(1));
    }
    outcomes[static_cast<std::size_t>(rank)] = agreement.settle(ok_status());
    if (++done == 3) hanging.let_go();
  });
  for (const auto& outcome : outcomes) {
    ASSERT_FALSE(outcome->ok());
    EXPECT_EQ(outcome->error().code, ErrorCode::kRankSilent);
    EXPECT_TRUE(test::figures(outcome->error().message).starts_with("2"))
        << outcome->error().message;
    EXPECT_EQ(outcome->error().message, outcomes[0]->error().message);
  }
}

TEST(SilentRank, IsNotOneThatIsSlow) {
  // Rank 1 packs for three times the timeout, and answers in time once it waits; rank 2 resumes
  // waiting only after half the time that an answer may take.
  const auto pace = std::make_shared<Pace>(3);
  const auto all = test::paced_exchange(pace, 3);
  std::vector<std::optional<Status>> outcomes(3);
  const Timeouts timeouts{milliseconds(40), milliseconds(600)};
  on_threads(3, *pace, [&](int rank) {
    Agreement agreement(*all[static_cast<std::size_t>(rank)], timeouts);
    if (rank == 1) pace->pass(rank, 3 * timeouts.silence);
    if (rank == 2) pace->pass(rank, timeouts.answer / 2);
    outcomes[static_cast<std::size_t>(rank)] = agreement.settle(ok_status());
  });
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome->ok());
}

TEST(SilentRank, ALostNoteNamesBothRanks) {
  // The first note of rank 3 to rank 2 is its contribution to the decision.
  const auto pace = std::make_shared<Pace>(4);
  const auto all = test::paced_exchange(pace, 4, 3, Faults{{{2, 0}}, {}, {}, {}, {}});
  std::vector<std::optional<Status>> outcomes(4);
  on_threads(4, *pace, [&](int rank) {
    Agreement agreement(*all[static_cast<std::size_t>(rank)], kHasty);
    outcomes[static_cast<std::size_t>(rank)] = agreement.settle(ok_status());
  });
  for (const auto& outcome : outcomes) {
    ASSERT_FALSE(outcome->ok());
    EXPECT_EQ(outcome->error().code, ErrorCode::kRankSilent);
    EXPECT_EQ(test::figures(outcome->error().message), "2 3");
  }
}

TEST(SilentRank, ALostQuestionIsNoSilence) {
  // Rank 0 asks rank 1 once without an answer; the question is repeated, and rank 1 answers it.
  const auto pace = std::make_shared<Pace>(2);
  const auto all = test::paced_exchange(pace, 2, 0, Faults{{{1, 0}}, {}, {}, {}, {}});
  const Timeouts timeouts{milliseconds(20), milliseconds(200)};
  std::vector<std::optional<Status>> outcomes(2);
  on_threads(2, *pace, [&](int rank) {
    Agreement agreement(*all[static_cast<std::size_t>(rank)], timeouts);
    if (rank == 1) {  // busy, answering in between, for longer than any timeout
      const auto start = pace->now();
      while (pace->now() - start < milliseconds(300)) {
        ASSERT_TRUE(agreement.wait(-1, pace->now()).ok());
      }
    }
    outcomes[static_cast<std::size_t>(rank)] = agreement.settle(ok_status());
  });
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome->ok());
}

TEST(SilentRank, AMalformedNoteIsOneErrorForAll) {
  const auto all = in_process_exchange(5);
  std::vector<std::optional<Status>> outcomes(5);
  on_threads(5, [&](int rank) {
    Exchange& exchange = *all[static_cast<std::size_t>(rank)];
    Agreement agreement(exchange, kPatient);
    const std::vector<std::byte> noise(17, std::byte{99});
    if (rank == 3) {
      EXPECT_TRUE(exchange.tell(4, noise).ok());
    }
    // Rank 3 reaches the second decision only after it has received the final error.
    Status status = agreement.settle(ok_status());
    while (status.ok()) status = agreement.settle(ok_status());
    outcomes[static_cast<std::size_t>(rank)] = status;
  });
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(outcome->error().code, ErrorCode::kBadPacket);
    EXPECT_TRUE(test::figures(outcome->error().message).starts_with("3 4 17"))
        << outcome->error().message;
  }
}

TEST(FaultyExchange, CutsFlipsAndPassesOn) {
  auto all = in_process_exchange(2);
  Faults faults;
  faults.cut_packets = {{1, 1, 3}};
  faults.flipped_bits = {{1, 2, 13}};
  faults.dropped_notes = {{1, 1}};
  faults.delays = {{ExchangeCall::kIdle, 1, milliseconds(30)}};
  FaultyExchange faulty(std::move(all[0]), faults);
  const LaneSize size{64, 4, 4};
  const auto near = *faulty.open(size);
  const auto far = *all[1]->open(size);
  for (int packet = 0; packet < 4; ++packet) {
    const std::span<std::byte> room = *near->room();
    ASSERT_GE(room.size(), 10u);
    std::fill_n(room.begin(), 10, static_cast<std::byte>(packet));
    ASSERT_TRUE(near->send(1, 10).ok());
    ASSERT_TRUE(far->expect(0).ok());
    const auto arrived = *far->arrived(0);
    ASSERT_TRUE(arrived);
    std::vector<std::byte> expected(packet == 1 ? 7 : 10, static_cast<std::byte>(packet));
    if (packet == 2) expected[1] ^= std::byte{1 << 5};
    EXPECT_TRUE(std::equal(arrived->begin(), arrived->end(), expected.begin(), expected.end()));
    ASSERT_TRUE(far->release(0).ok());
  }
  for (const std::byte note : {std::byte{7}, std::byte{8}, std::byte{9}}) {
    ASSERT_TRUE(faulty.tell(1, std::span(&note, 1)).ok());
  }
  EXPECT_EQ((*all[1]->heard())->bytes, std::vector<std::byte>{std::byte{7}});
  EXPECT_EQ((*all[1]->heard())->bytes, std::vector<std::byte>{std::byte{9}});
  EXPECT_FALSE(*all[1]->heard());
  faulty.idle();
  const auto start = steady_clock::now();
  faulty.idle();
  EXPECT_GE(steady_clock::now() - start, milliseconds(30));
}

}  // namespace
}  // namespace tessera::exchange
