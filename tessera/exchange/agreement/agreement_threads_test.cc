// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/exchange/agreement.h"
#include "tessera/exchange/exchange.h"
#include "tessera/testing/figures.h"

/// Agreements of ranks that are threads. The decisions are collected and compared afterwards.
namespace tessera::exchange {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// No rank is reported as silent in a test that is not about silence, however busy the machine.
constexpr Timeouts kPatient{milliseconds(120'000), milliseconds(60'000)};

void on_threads(int ranks, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(work, rank);
  for (std::thread& thread : threads) thread.join();
}

/// Calls `work` for every rank on a separate thread, and returns the result of each.
template <typename T>
std::vector<T> decided(int ranks, const std::function<T(Agreement&)>& work) {
  const auto all = in_process_exchange(ranks);
  std::vector<std::optional<T>> answers(static_cast<std::size_t>(ranks));
  on_threads(ranks, [&](int rank) {
    Agreement agreement(*all[static_cast<std::size_t>(rank)], kPatient);
    answers[static_cast<std::size_t>(rank)].emplace(work(agreement));
  });
  std::vector<T> out;
  for (std::optional<T>& answer : answers) out.push_back(*std::move(answer));
  return out;
}

TEST(AgreementOfThreads, SettlesOnTheErrorOfTheLowestRank) {
  std::mt19937 random(1);
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (int round = 0; round < 4; ++round) {
      std::vector<bool> bad(static_cast<std::size_t>(ranks));
      for (auto&& is_bad : bad) is_bad = round > 0 && random() % (round == 1 ? ranks : 2) == 0;
      const auto first = std::find(bad.begin(), bad.end(), true);
      const auto outcomes = decided<Status>(ranks, [&](Agreement& agreement) -> Status {
        const int rank = agreement.rank();
        if (!bad[static_cast<std::size_t>(rank)]) return agreement.settle(ok_status());
        return agreement.settle(Error{ErrorCode::kDoesNotFit, cat("shard ", 10 * rank, " does not"),
                                      Span{rank, rank + 5}, cat("help ", rank),
                                      cat("right ", rank)});
      });
      for (const Status& outcome : outcomes) {
        ASSERT_EQ(outcome.ok(), first == bad.end());
        if (outcome.ok()) continue;
        const auto rank = first - bad.begin();
        EXPECT_EQ(outcome.error().code, ErrorCode::kDoesNotFit);
        const std::string number = ranks > 1 ? cat("rank ", rank, ": ") : "";
        EXPECT_EQ(outcome.error().message, cat(number, "shard ", 10 * rank, " does not"));
        EXPECT_EQ(outcome.error().span, (Span{rank, rank + 5}));
        EXPECT_EQ(outcome.error().help, cat("help ", rank));
        EXPECT_EQ(outcome.error().correction, cat("right ", rank));
      }
    }
  }
}

TEST(AgreementOfThreads, LongErrorsAreTheSameOnAllRanks) {
  std::string name;
  for (int i = 0; i < 3000; ++i) name += "ß";
  const auto outcomes = decided<Status>(5, [&](Agreement& agreement) {
    return agreement.settle(agreement.rank() == 0
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
  return decided<Status>(ranks, [&](Agreement& agreement) {
    const bool differs = std::find(odd.begin(), odd.end(), agreement.rank()) != odd.end();
    const std::vector<Fact> facts = {
        {"source layout", 17, "Grid(2, 2)"},
        {"destination layout", differs ? 6u : 5u, differs ? "tiles of 64" : "tiles of 32"},
        {"options", differs ? 2u : 1u, "threads"}};
    return agreement.same(facts);
  });
}

void expect_figures(const std::vector<Status>& outcomes, const std::string& figures) {
  for (const Status& outcome : outcomes) {
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, ErrorCode::kPlansDiffer);
    EXPECT_EQ(test::figures(outcome.error().message), figures);
  }
}

TEST(AgreementOfThreads, NamesTheRankThatDiffersFromMost) {
  for (int ranks = 1; ranks <= 17; ranks += ranks < 6 ? 1 : 3) {
    for (const Status& outcome : compared(ranks, {})) EXPECT_TRUE(outcome.ok());
    if (ranks < 3) continue;
    for (const int odd : {0, 1, ranks / 2, ranks - 1}) {
      expect_figures(compared(ranks, {odd}), cat(odd, " ", ranks - 1, " ", ranks, " 64 32"));
    }
    if (ranks < 5) continue;
    expect_figures(compared(ranks, {0, 3}), cat("0 ", ranks - 2, " ", ranks, " 64 32"));
  }
  expect_figures(compared(2, {0}), "1 0 32 64");
  expect_figures(compared(6, {0, 2, 5}), "1 0 32 64");
  expect_figures(compared(4, {2, 3}), "2 0 64 32");
  expect_figures(compared(7, {0, 1, 2, 5}), "3 4 7 32 64");
}

TEST(AgreementOfThreads, FindsTheFirstOfManyFactsThatDiffers) {
  const auto outcome_of = [](std::size_t count, std::size_t first, std::size_t count_odd) {
    const auto outcomes = decided<Status>(3, [&](Agreement& agreement) {
      std::vector<Fact> facts;
      const bool odd = agreement.rank() == 1;
      for (std::size_t i = 0; i < (odd ? count_odd : count); ++i) {
        facts.push_back({cat("fact ", i), i + (odd && i >= first ? 1 : 0), cat("said ", odd)});
      }
      return agreement.same(facts);
    });
    for (const Status& outcome : outcomes) {
      EXPECT_EQ(outcome.error().message, outcomes[0].error().message);
    }
    return test::figures(outcomes[0].error().message);
  };
  for (const std::size_t first : {0u, 1u, 199u, 200u, 201u, 400u, 450u}) {
    EXPECT_EQ(outcome_of(500, first, 500), cat("1 ", first, " 2 3 1 0"));
  }
  // A fact that only some ranks have.
  EXPECT_EQ(outcome_of(200, 1000, 199), "1 199 2 3 0");
  EXPECT_EQ(outcome_of(200, 1000, 201), "1 200 2 3 1");
  EXPECT_EQ(outcome_of(0, 1000, 1), "1 0 2 3 1");
}

TEST(AgreementOfThreads, WhatIsSaidAlikeShowsItsHash) {
  const auto outcomes = decided<Status>(3, [](Agreement& agreement) {
    const std::uint64_t hash = agreement.rank() == 2 ? 0xfedcba9876543210 : 16;
    return agreement.same(std::vector<Fact>{{"map", hash, "4 places"}});
  });
  expect_figures(outcomes, "2 2 3 4 fedcba9876543210 4 0000000000000010");
}

using Numbers = std::vector<std::int64_t>;

TEST(AgreementOfThreads, AddsUpAndFindsTheLargest) {
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
      const auto outcomes = decided<std::vector<Numbers>>(ranks, [&](Agreement& agreement) {
        Numbers mine;
        for (std::size_t i = 0; i < count; ++i) mine.push_back(number(agreement.rank(), i));
        return std::vector<Numbers>{*agreement.sums(mine), *agreement.largest(mine)};
      });
      for (const auto& outcome : outcomes) {
        EXPECT_EQ(outcome[0], sums) << ranks << " " << count;
        EXPECT_EQ(outcome[1], largest) << ranks << " " << count;
      }
    }
  }
}

std::vector<Result<Numbers>> summed(const std::vector<Numbers>& mine) {
  return decided<Result<Numbers>>(static_cast<int>(mine.size()), [&](Agreement& agreement) {
    return agreement.sums(mine[static_cast<std::size_t>(agreement.rank())]);
  });
}

TEST(AgreementOfThreads, OnlyTheSumMustFit) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  for (const auto& outcome : summed({{0}, {kMost}, {kMost}, {kLeast}, {kLeast}, {2}, {0}})) {
    EXPECT_EQ(*outcome, Numbers{0});  // the partial sums were beyond both ends
  }
  for (const auto& outcome : summed({{kMost, kLeast}, {-1, 1}, {1, -1}})) {
    EXPECT_EQ(*outcome, (Numbers{kMost, kLeast}));
  }
  for (const auto& outcome : summed({{1, kMost}, {1, 0}, {1, 1}})) {
    EXPECT_EQ(outcome.error().code, ErrorCode::kOverflow);
    EXPECT_EQ(test::figures(outcome.error().message), "2 2 3 9223372036854775808 64-bit");
  }
  for (const auto& outcome : summed({{kLeast}, {kLeast}, {kLeast}, {-5}})) {
    EXPECT_EQ(test::figures(outcome.error().message), "1 1 4 -27670116110564327429 64-bit");
  }
}

TEST(AgreementOfThreads, RanksAtDifferentPointsAreTold) {
  for (const auto& outcome : summed({{1, 2}, {1, 2}, {1}, {1, 2}})) {
    EXPECT_EQ(outcome.error().code, ErrorCode::kPlansDiffer);
    EXPECT_EQ(test::figures(outcome.error().message), "3 2 2 1");
  }
  const auto outcomes = decided<Status>(4, [](Agreement& agreement) -> Status {
    if (agreement.rank() != 3) return agreement.settle(ok_status());
    return agreement.largest(Numbers{1}).error();
  });
  for (const Status& outcome : outcomes) {
    EXPECT_EQ(outcome.error().code, ErrorCode::kPlansDiffer);
    EXPECT_EQ(test::figures(outcome.error().message), "3 2");
  }
}

TEST(AgreementOfThreads, ManyDecisionsAndAgreementsInTurn) {
  // All kinds of decisions in a random order that all ranks know, through several agreements, with
  // ranks that are ahead and ranks that lag, some of which wait for others in between.
  constexpr int kDecisions = 400;
  for (const int ranks : {2, 5, 8}) {
    const auto all = in_process_exchange(ranks);
    std::atomic<int> wrong = 0;
    on_threads(ranks, [&](int rank) {
      Exchange& exchange = *all[static_cast<std::size_t>(rank)];
      std::mt19937 plan(ranks);              // the same on all ranks
      std::mt19937 own(100 * ranks + rank);  // different on each rank
      std::vector<std::unique_ptr<Agreement>> agreements;
      for (int i = 0; i < 3; ++i)
        agreements.push_back(std::make_unique<Agreement>(exchange, kPatient));
      for (int i = 0; i < kDecisions; ++i) {
        if (own() % 32 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 500));
        for (auto waits = own() % 3; waits > 0; --waits) {
          const int on = static_cast<int>(own() % static_cast<std::uint32_t>(ranks));
          if (!agreements[own() % 3]->wait(on, steady_clock::now()).ok()) ++wrong;
        }
        const auto which = plan() % 4;
        const int who = static_cast<int>(plan() % static_cast<std::uint32_t>(ranks));
        Agreement& agreement = *agreements[plan() % 3];
        if (which == 0) {
          const Status status =
              agreement.settle(rank >= who ? Status(Error{ErrorCode::kIo, cat(i)}) : ok_status());
          if (status.ok() || status.error().message != cat("rank ", who, ": ", i)) ++wrong;
        } else if (which == 1) {
          const auto sums = agreement.sums(Numbers{i, rank});
          const Numbers right{std::int64_t{ranks} * i, std::int64_t{ranks} * (ranks - 1) / 2};
          if (!sums || *sums != right) ++wrong;
        } else if (which == 2) {
          const auto largest = agreement.largest(Numbers{rank == who ? i : -i - 1});
          if (!largest || *largest != Numbers{i}) ++wrong;
        } else if (!agreement.same(
                       std::vector<Fact>{{"round", static_cast<std::uint64_t>(i), ""}})) {
          ++wrong;
        }
      }
    });
    EXPECT_EQ(wrong, 0) << ranks;
  }
}

}  // namespace
}  // namespace tessera::exchange
