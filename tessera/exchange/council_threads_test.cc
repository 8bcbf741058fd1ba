// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/exchange/council.h"
#include "tessera/exchange/in_process.h"
#include "tessera/testing/faulty_exchange.h"

/// Councils of ranks that are threads. What ranks decide is collected and compared afterwards.
namespace tessera {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test::ExchangeCall;
using test::Faults;
using test::FaultyExchange;

/// Nobody is called silent in a test that is not about silence, however busy the machine.
constexpr Patience kPatient{milliseconds(120'000), milliseconds(60'000)};
/// Short, but long enough for threads that wait for a processor to answer.
constexpr Patience kHasty{milliseconds(40), milliseconds(400)};

void on_threads(int ranks, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(work, rank);
  for (std::thread& thread : threads) thread.join();
}

/// Calls `work` for every rank on a thread of its own, and returns what each answers.
template <typename T>
std::vector<T> decided(int ranks, const std::function<T(Council&)>& work) {
  const auto all = in_process_exchange(ranks);
  std::vector<std::optional<T>> answers(static_cast<std::size_t>(ranks));
  on_threads(ranks, [&](int rank) {
    Council council(*all[static_cast<std::size_t>(rank)], kPatient);
    answers[static_cast<std::size_t>(rank)].emplace(work(council));
  });
  std::vector<T> out;
  for (std::optional<T>& answer : answers) out.push_back(*std::move(answer));
  return out;
}

TEST(CouncilOfThreads, SettlesOnTheErrorOfTheLowestRank) {
  std::mt19937 random(1);
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (int round = 0; round < 4; ++round) {
      std::vector<bool> bad(static_cast<std::size_t>(ranks));
      for (auto&& is_bad : bad) is_bad = round > 0 && random() % (round == 1 ? ranks : 2) == 0;
      const auto first = std::find(bad.begin(), bad.end(), true);
      const auto outcomes = decided<Status>(ranks, [&](Council& council) -> Status {
        const int rank = council.rank();
        if (!bad[static_cast<std::size_t>(rank)]) return council.settle(ok_status());
        return council.settle(Error{ErrorCode::kDoesNotFit, cat("shard ", 10 * rank, " does not"),
                                    Span{rank, rank + 5}, cat("help ", rank), cat("right ", rank)});
      });
      for (const Status& outcome : outcomes) {
        ASSERT_EQ(outcome.ok(), first == bad.end());
        if (outcome.ok()) continue;
        const auto rank = first - bad.begin();
        EXPECT_EQ(outcome.error().code, ErrorCode::kDoesNotFit);
        EXPECT_EQ(outcome.error().message, cat("rank ", rank, ": shard ", 10 * rank, " does not"));
        EXPECT_EQ(outcome.error().span, (Span{rank, rank + 5}));
        EXPECT_EQ(outcome.error().help, cat("help ", rank));
        EXPECT_EQ(outcome.error().correction, cat("right ", rank));
      }
    }
  }
}

TEST(CouncilOfThreads, LongErrorsAreTheSameOnAllRanks) {
  std::string name;
  for (int i = 0; i < 3000; ++i) name += "ß";
  const auto outcomes = decided<Status>(5, [&](Council& council) {
    return council.settle(council.rank() == 0
                              ? Status(Error{ErrorCode::kIo, name, std::nullopt, name})
                              : ok_status());
  });
  for (const Status& outcome : outcomes) {
    EXPECT_EQ(outcome.error().message, outcomes[0].error().message);
    EXPECT_TRUE(outcome.error().message.starts_with("rank 0: ßß"));
    EXPECT_TRUE(outcome.error().message.ends_with("ß.."));
    EXPECT_TRUE(outcome.error().help.ends_with("ß.."));
  }
}

/// Ranks in `odd` have another tile than the others.
std::vector<Status> compared(int ranks, const std::vector<int>& odd) {
  return decided<Status>(ranks, [&](Council& council) {
    const bool differs = std::find(odd.begin(), odd.end(), council.rank()) != odd.end();
    const std::vector<Fact> facts = {
        {"source layout", 17, "Grid(2, 2)"},
        {"destination layout", differs ? 6u : 5u, differs ? "tiles of 64" : "tiles of 32"},
        {"options", differs ? 2u : 1u, "threads"}};
    return council.same(facts);
  });
}

void expect_message(const std::vector<Status>& outcomes, const std::string& message) {
  for (const Status& outcome : outcomes) {
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, ErrorCode::kPlansDiffer);
    EXPECT_EQ(outcome.error().message, message);
  }
}

TEST(CouncilOfThreads, NamesTheRankThatDiffersFromMost) {
  for (int ranks = 1; ranks <= 17; ranks += ranks < 6 ? 1 : 3) {
    for (const Status& outcome : compared(ranks, {})) EXPECT_TRUE(outcome.ok());
    if (ranks < 3) continue;
    for (const int odd : {0, 1, ranks / 2, ranks - 1}) {
      expect_message(compared(ranks, {odd}),
                     cat("rank ", odd, " has another destination layout than ", ranks - 1, " of ",
                         ranks, " ranks: tiles of 64 instead of tiles of 32"));
    }
    if (ranks < 5) continue;
    expect_message(compared(ranks, {0, 3}),
                   cat("rank 0 has another destination layout than ", ranks - 2, " of ", ranks,
                       " ranks: tiles of 64 instead of tiles of 32"));
  }
  expect_message(compared(2, {0}),
                 "rank 1 has another destination layout than rank 0: tiles of 32 instead of tiles "
                 "of 64");
  expect_message(compared(6, {0, 2, 5}),
                 "rank 1 has another destination layout than rank 0: tiles of 32 instead of tiles "
                 "of 64");
  expect_message(compared(4, {2, 3}),
                 "rank 2 has another destination layout than rank 0: tiles of 64 instead of tiles "
                 "of 32");
  expect_message(compared(7, {0, 1, 2, 5}),
                 "rank 3 has another destination layout than 4 of 7 ranks: tiles of 32 instead of "
                 "tiles of 64");
}

TEST(CouncilOfThreads, FindsTheFirstOfManyFactsThatDiffers) {
  const auto outcome_of = [](std::size_t count, std::size_t first, std::size_t count_odd) {
    const auto outcomes = decided<Status>(3, [&](Council& council) {
      std::vector<Fact> facts;
      const bool odd = council.rank() == 1;
      for (std::size_t i = 0; i < (odd ? count_odd : count); ++i) {
        facts.push_back({cat("fact ", i), i + (odd && i >= first ? 1 : 0), cat("said ", odd)});
      }
      return council.same(facts);
    });
    for (const Status& outcome : outcomes) {
      EXPECT_EQ(outcome.error().message, outcomes[0].error().message);
    }
    return outcomes[0].error().message;
  };
  for (const std::size_t first : {0u, 1u, 199u, 200u, 201u, 400u, 450u}) {
    EXPECT_EQ(outcome_of(500, first, 500), cat("rank 1 has another fact ", first,
                                               " than 2 of 3 ranks: said 1 instead of said 0"));
  }
  // One that only some have.
  EXPECT_EQ(outcome_of(200, 1000, 199),
            "rank 1 has another fact 199 than 2 of 3 ranks: nothing instead of said 0");
  EXPECT_EQ(outcome_of(200, 1000, 201),
            "rank 1 has another fact 200 than 2 of 3 ranks: said 1 instead of nothing");
  EXPECT_EQ(outcome_of(0, 1000, 1),
            "rank 1 has another fact 0 than 2 of 3 ranks: said 1 instead of nothing");
}

TEST(CouncilOfThreads, WhatIsSaidAlikeShowsItsHash) {
  const auto outcomes = decided<Status>(3, [](Council& council) {
    const std::uint64_t hash = council.rank() == 2 ? 0xfedcba9876543210 : 16;
    return council.same(std::vector<Fact>{{"map", hash, "4 places"}});
  });
  expect_message(outcomes,
                 "rank 2 has another map than 2 of 3 ranks: 4 places (hash fedcba9876543210) "
                 "instead of 4 places (hash 0000000000000010)");
}

using Numbers = std::vector<std::int64_t>;

TEST(CouncilOfThreads, AddsUpAndFindsTheLargest) {
  for (const int ranks : {1, 2, 3, 6, 13, 17}) {
    for (const std::size_t count : {0u, 1u, 3u, 249u, 250u, 251u, 499u, 500u, 1203u}) {
      const auto number = [](int rank, std::size_t i) {
        return (rank + 1) * (static_cast<std::int64_t>(i) - 7) * (i % 2 == 0 ? 1 : -1);
      };
      Numbers sums(count);
      Numbers largest(count, INT64_MIN);
      for (int rank = 0; rank < ranks; ++rank) {
        for (std::size_t i = 0; i < count; ++i) {
          sums[i] += number(rank, i);
          largest[i] = std::max(largest[i], number(rank, i));
        }
      }
      const auto outcomes = decided<std::vector<Numbers>>(ranks, [&](Council& council) {
        Numbers mine;
        for (std::size_t i = 0; i < count; ++i) mine.push_back(number(council.rank(), i));
        return std::vector<Numbers>{*council.sums(mine), *council.largest(mine)};
      });
      for (const auto& outcome : outcomes) {
        EXPECT_EQ(outcome[0], sums) << ranks << " " << count;
        EXPECT_EQ(outcome[1], largest) << ranks << " " << count;
      }
    }
  }
}

std::vector<Result<Numbers>> summed(const std::vector<Numbers>& mine) {
  return decided<Result<Numbers>>(static_cast<int>(mine.size()), [&](Council& council) {
    return council.sums(mine[static_cast<std::size_t>(council.rank())]);
  });
}

TEST(CouncilOfThreads, OnlyTheSumMustFit) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  for (const auto& outcome : summed({{0}, {kMost}, {kMost}, {kLeast}, {kLeast}, {2}, {0}})) {
    EXPECT_EQ(*outcome, Numbers{0});  // on the way it was beyond both ends
  }
  for (const auto& outcome : summed({{kMost, kLeast}, {-1, 1}, {1, -1}})) {
    EXPECT_EQ(*outcome, (Numbers{kMost, kLeast}));
  }
  for (const auto& outcome : summed({{1, kMost}, {1, 0}, {1, 1}})) {
    EXPECT_EQ(outcome.error().code, ErrorCode::kOverflow);
    EXPECT_EQ(outcome.error().message,
              "the sum of number 2 of 2 over 3 ranks is 9223372036854775808, which does not fit a "
              "signed 64-bit integer");
  }
  for (const auto& outcome : summed({{kLeast}, {kLeast}, {kLeast}, {-5}})) {
    EXPECT_EQ(
        outcome.error().message,
        "the sum of number 1 of 1 over 4 ranks is -27670116110564327429, which does not fit a "
        "signed 64-bit integer");
  }
}

TEST(CouncilOfThreads, RanksAtDifferentPointsAreTold) {
  for (const auto& outcome : summed({{1, 2}, {1, 2}, {1}, {1, 2}})) {
    EXPECT_EQ(outcome.error().code, ErrorCode::kPlansDiffer);
    EXPECT_EQ(outcome.error().message,
              "rank 3 brings 2 numbers to a decision where rank 2 brings 1");
  }
  const auto outcomes = decided<Status>(4, [](Council& council) -> Status {
    if (council.rank() != 3) return council.settle(ok_status());
    return council.largest(Numbers{1}).error();
  });
  for (const Status& outcome : outcomes) {
    EXPECT_EQ(outcome.error().code, ErrorCode::kPlansDiffer);
    EXPECT_EQ(outcome.error().message, "rank 3 seeks the largest where rank 2 settles an outcome");
  }
}

TEST(CouncilOfThreads, ManyDecisionsAndCouncilsInTurn) {
  // All kinds of decisions in a random order that all ranks know, through several councils, with
  // ranks that are ahead and ranks that lag, some of which wait for others in between.
  constexpr int kDecisions = 400;
  for (const int ranks : {2, 5, 8}) {
    const auto all = in_process_exchange(ranks);
    std::atomic<int> wrong = 0;
    on_threads(ranks, [&](int rank) {
      Exchange& exchange = *all[static_cast<std::size_t>(rank)];
      std::mt19937 plan(ranks);              // the same on all ranks
      std::mt19937 own(100 * ranks + rank);  // its own
      std::vector<std::unique_ptr<Council>> councils;
      for (int i = 0; i < 3; ++i) councils.push_back(std::make_unique<Council>(exchange, kPatient));
      for (int i = 0; i < kDecisions; ++i) {
        if (own() % 32 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 500));
        for (auto waits = own() % 3; waits > 0; --waits) {
          const int on = static_cast<int>(own() % static_cast<std::uint32_t>(ranks));
          if (!councils[own() % 3]->wait(on, steady_clock::now()).ok()) ++wrong;
        }
        const auto which = plan() % 4;
        const int who = static_cast<int>(plan() % static_cast<std::uint32_t>(ranks));
        Council& council = *councils[plan() % 3];
        if (which == 0) {
          const Status status =
              council.settle(rank >= who ? Status(Error{ErrorCode::kIo, cat(i)}) : ok_status());
          if (status.ok() || status.error().message != cat("rank ", who, ": ", i)) ++wrong;
        } else if (which == 1) {
          const auto sums = council.sums(Numbers{i, rank});
          if (!sums || *sums != Numbers{ranks * i, ranks * (ranks - 1) / 2}) ++wrong;
        } else if (which == 2) {
          const auto largest = council.largest(Numbers{rank == who ? i : -i - 1});
          if (!largest || *largest != Numbers{i}) ++wrong;
        } else if (!council.same(std::vector<Fact>{{"round", static_cast<std::uint64_t>(i), ""}})) {
          ++wrong;
        }
      }
    });
    EXPECT_EQ(wrong, 0) << ranks;
  }
}

// The silent. `silent` hangs or is gone; the others do as `work` says until an error comes.

struct Ending {
  std::vector<std::optional<Error>> errors;  ///< of the ranks that are not silent
  int speakers = 0;
  int speaker = -1;
};

/// Every rank calls `work` until it answers an error, which it must go on to answer; `silent` does
/// not take part, and is gone for good when `gone`.
Ending ended(int ranks, const std::vector<int>& silent, bool gone,
             const std::function<Status(Council&, steady_clock::time_point)>& work) {
  auto all = in_process_exchange(ranks);
  Ending ending;
  ending.errors.resize(static_cast<std::size_t>(ranks));
  std::atomic<int> speakers = 0;
  std::atomic<int> speaker = -1;
  std::atomic<int> changed = 0;
  for (const int rank : silent) {
    if (gone) all[static_cast<std::size_t>(rank)].reset();
  }
  on_threads(ranks, [&](int rank) {
    if (std::find(silent.begin(), silent.end(), rank) != silent.end()) return;
    Council council(*all[static_cast<std::size_t>(rank)], kHasty);
    const auto since = steady_clock::now();
    Status status = ok_status();
    while (status.ok() && steady_clock::now() - since < std::chrono::seconds(60)) {
      status = work(council, since);
    }
    if (status.ok()) return;
    ending.errors[static_cast<std::size_t>(rank)] = status.error();
    if (council.speaks()) {
      ++speakers;
      speaker = rank;
    }
    const Status settled = council.settle(ok_status());
    const auto sums = council.sums(Numbers{1});
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
  EXPECT_TRUE(first->message.starts_with(cat("rank ", silent, " is silent: rank ")))
      << what << ": " << first->message;
  EXPECT_EQ(ending.speakers, 1) << what;
  EXPECT_EQ(ending.speaker, silent == 0 ? 1 : 0) << what;
}

TEST(SilentRank, IsNamedWhereverItSitsInADecision) {
  for (int ranks = 2; ranks <= 6; ++ranks) {
    on_threads(ranks, [&](int silent) {  // all positions at the same time
      const Ending ending = ended(ranks, {silent}, silent % 2 == 0, [](Council& council, auto) {
        return council.settle(ok_status());
      });
      expect_silent(ending, silent, cat(silent, " of ", ranks));
    });
  }
}

TEST(SilentRank, IsNamedAtTheEndOfAChain) {
  // Every rank waits for the next one; the last waits for nobody any more.
  on_threads(3, [](int which) {
    const int ranks = 2 + 2 * which;
    const Ending ending =
        ended(ranks, {ranks - 1}, false, [](Council& council, steady_clock::time_point since) {
          return council.wait(council.rank() + 1, since);
        });
    expect_silent(ending, ranks - 1, cat("a chain of ", ranks));
  });
}

TEST(SilentRank, IsNamedWhenOthersWaitInADecision) {
  // Rank 1 moves data and waits for rank 2, which is silent; the others are done and agree.
  const Ending ending = ended(4, {2}, false, [](Council& council, steady_clock::time_point since) {
    return council.rank() == 1 ? council.wait(2, since) : council.settle(ok_status());
  });
  expect_silent(ending, 2, "from both sides");
}

TEST(SilentRank, TwoOfThemLeaveOneVerdict) {
  const Ending ending = ended(
      6, {0, 5}, true,
      [](Council& council, steady_clock::time_point since) { return council.wait(5, since); });
  for (const int rank : {2, 3, 4}) {
    const auto& error = ending.errors[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message, ending.errors[1]->message);
    EXPECT_TRUE(error->message.starts_with("ranks 0 and 5 are silent: rank ")) << error->message;
  }
  EXPECT_EQ(ending.speakers, 1);
  EXPECT_EQ(ending.speaker, 1);
}

TEST(SilentRank, HangsInsideADecision) {
  // Rank 2 of 4 stops while it waits inside of settle(), and hears the verdict when it goes on.
  auto all = in_process_exchange(4);
  FaultyExchange hanging(std::move(all[2]), Faults{{}, {}, {}, {{ExchangeCall::kIdle, 3}}, {}});
  std::vector<std::optional<Status>> outcomes(4);
  std::atomic<int> done = 0;
  on_threads(4, [&](int rank) {
    Council council(rank == 2 ? hanging : *all[static_cast<std::size_t>(rank)], kHasty);
    if (rank == 3) {  // late, so that rank 2 has to wait for it
      while (!hanging.hangs()) std::this_thread::sleep_for(milliseconds(1));
    }
    outcomes[static_cast<std::size_t>(rank)] = council.settle(ok_status());
    if (++done == 3) hanging.let_go();
  });
  for (const auto& outcome : outcomes) {
    ASSERT_FALSE(outcome->ok());
    EXPECT_EQ(outcome->error().code, ErrorCode::kRankSilent);
    EXPECT_TRUE(outcome->error().message.starts_with("rank 2 is silent: "))
        << outcome->error().message;
    EXPECT_EQ(outcome->error().message, outcomes[0]->error().message);
  }
}

TEST(SilentRank, IsNotOneThatIsSlow) {
  // Rank 1 packs for three times the patience, and answers in time once it waits; rank 2 comes back
  // to its waiting only after half the time that an answer may take.
  const auto all = in_process_exchange(3);
  std::vector<std::optional<Status>> outcomes(3);
  const Patience patience{milliseconds(40), milliseconds(600)};
  on_threads(3, [&](int rank) {
    Council council(*all[static_cast<std::size_t>(rank)], patience);
    if (rank == 1) std::this_thread::sleep_for(3 * patience.silence);
    if (rank == 2) std::this_thread::sleep_for(patience.answer / 2);
    outcomes[static_cast<std::size_t>(rank)] = council.settle(ok_status());
  });
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome->ok());
}

TEST(SilentRank, ALostNoteNamesBothRanks) {
  // The first note of rank 3 to rank 2 is its part of the decision.
  auto all = in_process_exchange(4);
  all[3] = std::make_unique<FaultyExchange>(std::move(all[3]), Faults{{{2, 0}}, {}, {}, {}, {}});
  std::vector<std::optional<Status>> outcomes(4);
  on_threads(4, [&](int rank) {
    Council council(*all[static_cast<std::size_t>(rank)], kHasty);
    outcomes[static_cast<std::size_t>(rank)] = council.settle(ok_status());
  });
  for (const auto& outcome : outcomes) {
    ASSERT_FALSE(outcome->ok());
    EXPECT_EQ(outcome->error().code, ErrorCode::kRankSilent);
    EXPECT_EQ(outcome->error().message,
              "ranks 2 and 3 wait for each other: a message between them was lost");
  }
}

TEST(SilentRank, ALostQuestionIsNoSilence) {
  // Rank 0 asks rank 1 in vain once; the question comes again, and rank 1 answers it.
  auto all = in_process_exchange(2);
  all[0] = std::make_unique<FaultyExchange>(std::move(all[0]), Faults{{{1, 0}}, {}, {}, {}, {}});
  const Patience patience{milliseconds(20), milliseconds(200)};
  std::vector<std::optional<Status>> outcomes(2);
  on_threads(2, [&](int rank) {
    Council council(*all[static_cast<std::size_t>(rank)], patience);
    if (rank == 1) {  // at work, answering in between, for longer than all patience
      const auto start = steady_clock::now();
      while (steady_clock::now() - start < milliseconds(300)) {
        ASSERT_TRUE(council.wait(-1, steady_clock::now()).ok());
      }
    }
    outcomes[static_cast<std::size_t>(rank)] = council.settle(ok_status());
  });
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome->ok());
}

TEST(SilentRank, AMalformedNoteIsOneErrorForAll) {
  const auto all = in_process_exchange(5);
  std::vector<std::optional<Status>> outcomes(5);
  on_threads(5, [&](int rank) {
    Exchange& exchange = *all[static_cast<std::size_t>(rank)];
    Council council(exchange, kPatient);
    const std::vector<std::byte> noise(17, std::byte{99});
    if (rank == 3) {
      EXPECT_TRUE(exchange.tell(4, noise).ok());
    }
    // Rank 3 comes to the second decision only once it has heard the verdict.
    Status status = council.settle(ok_status());
    while (status.ok()) status = council.settle(ok_status());
    outcomes[static_cast<std::size_t>(rank)] = status;
  });
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(outcome->error().code, ErrorCode::kBadPacket);
    EXPECT_TRUE(outcome->error().message.starts_with("rank 3 sent rank 4 a note of 17 bytes"))
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
}  // namespace tessera
