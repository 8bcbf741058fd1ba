// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "tessera/exchange/exchange.h"
#include "tessera/testing/exchange/exchange_laws.h"
#include "tessera/testing/figures.h"

namespace tessera::exchange {
namespace {

using Ranks = std::vector<std::unique_ptr<Exchange>>;

/// Runs `work` for every rank, each on a separate thread.
void on_all(Ranks& ranks, const std::function<void(Exchange&)>& work) {
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (const std::unique_ptr<Exchange>& rank : ranks) {
    threads.emplace_back([&work, &rank] { work(*rank); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(InProcess, KeepsTheContractOfExchanges) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    Ranks all = in_process_exchange(ranks);
    std::vector<std::string> mistakes(all.size());
    on_all(all, [&](Exchange& exchange) {
      mistakes[static_cast<std::size_t>(exchange.rank())] = test::exchange_mistake(
          exchange, test::Nearness::kAll, 17U + static_cast<unsigned>(ranks));
    });
    for (const std::string& mistake : mistakes) EXPECT_EQ(mistake, "");
  }
}

TEST(InProcess, HasNoRanksBelowOne) {
  EXPECT_TRUE(in_process_exchange(0).empty());
  EXPECT_TRUE(in_process_exchange(-3).empty());
}

/// A number visits all ranks in turn and grows by one at each.
TEST(InProcess, HundredsOfRanksWorkOnFewProcessors) {
  Ranks all = in_process_exchange(300);
  std::atomic<std::int64_t> end = 0;
  on_all(all, [&](Exchange& exchange) {
    const int next = (exchange.rank() + 1) % exchange.ranks();
    const int previous = (exchange.rank() + exchange.ranks() - 1) % exchange.ranks();
    auto lane = exchange.open({std::int64_t{1} << 20, 8, 8});
    ASSERT_TRUE(lane.ok());
    std::int64_t number = 0;
    if (exchange.rank() > 0) {
      ASSERT_TRUE((*lane)->expect(previous).ok());
      auto here = (*lane)->arrived(previous);
      for (; here.ok() && !*here; here = (*lane)->arrived(previous)) exchange.idle();
      ASSERT_TRUE(here.ok());
      ASSERT_EQ((**here).size(), sizeof number);
      std::memcpy(&number, (**here).data(), sizeof number);
      ASSERT_TRUE((*lane)->release(previous).ok());
    }
    ++number;
    if (next == 0) {
      end = number;
      return;
    }
    std::memcpy((*lane)->room()->data(), &number, sizeof number);
    ASSERT_TRUE((*lane)->send(next, sizeof number).ok());
  });
  EXPECT_EQ(end.load(), 300);
}

TEST(InProcess, MemoryOfAnEmptyLaneIsNotTakenUp) {
  // 4000 ranks with 16 packets of 1 MiB each: 64 GB, of which a rank touches the packets it sends.
  Ranks all = in_process_exchange(4000);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const auto& rank : all) {
    auto lane = rank->open({std::int64_t{1} << 20, 16, 16});
    ASSERT_TRUE(lane.ok()) << lane.error().message;
    lanes.push_back(std::move(*lane));
  }
  lanes[3999]->room()->front() = std::byte{7};
  ASSERT_TRUE(lanes[3999]->send(1234, 1).ok());
  ASSERT_TRUE(lanes[1234]->expect(3999).ok());
  const auto here = lanes[1234]->arrived(3999);
  ASSERT_TRUE(here.ok() && here->has_value());
  EXPECT_EQ((**here).front(), std::byte{7});
}

TEST(InProcess, AbandonEndsAllCallsOfAllRanks) {
  Ranks all = in_process_exchange(3);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const auto& rank : all) {
    auto lane = rank->open({64, 1, 1});
    ASSERT_TRUE(lane.ok());
    lanes.push_back(std::move(*lane));
  }
  ASSERT_TRUE(all[0]->tell(2, {}).ok());
  ASSERT_TRUE(lanes[0]->send(2, 5).ok());
  ASSERT_TRUE(lanes[2]->expect(0).ok());
  all[1]->abandon(3);
  const auto ended = [](const auto& result) {
    return !result.ok() && result.error().code == ErrorCode::kIo &&
           test::figures(result.error().message) == "3";
  };
  EXPECT_TRUE(ended(all[0]->tell(1, {})));
  EXPECT_TRUE(ended(all[2]->heard()));
  EXPECT_TRUE(ended(all[2]->open({64, 1, 1})));
  EXPECT_TRUE(ended(all[2]->share(10)));
  EXPECT_TRUE(ended(lanes[1]->room()));
  EXPECT_TRUE(ended(lanes[1]->send(0, 1)));
  EXPECT_TRUE(ended(lanes[2]->arrived(0)));
  EXPECT_TRUE(ended(lanes[2]->release(0)));
  EXPECT_TRUE(ended(lanes[2]->expect(0)));
}

TEST(InProcess, AbandonEndsThoseThatWaitInShare) {
  Ranks all = in_process_exchange(2);
  std::thread other([&] {
    const auto array = all[1]->share(10);
    EXPECT_TRUE(!array.ok() && array.error().code == ErrorCode::kIo);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  all[0]->abandon(1);
  other.join();
}

TEST(InProcess, WhatADroppedRankSentCanStillBeRead) {
  Ranks all = in_process_exchange(3);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const auto& rank : all) lanes.push_back(std::move(*rank->open({64, 1, 1})));
  std::vector<std::unique_ptr<SharedArray>> arrays(3);
  on_all(all, [&](Exchange& exchange) {
    const auto rank = static_cast<std::size_t>(exchange.rank());
    arrays[rank] = std::move(*exchange.share(100));
    arrays[rank]->mine()[99] = static_cast<std::byte>(rank + 40);
  });
  lanes[0]->room()->front() = std::byte{9};
  ASSERT_TRUE(lanes[0]->send(1, 1).ok());
  ASSERT_TRUE(all[0]->tell(1, {}).ok());
  arrays[0].reset();
  lanes[0].reset();
  all[0].reset();

  EXPECT_EQ(arrays[1]->of(0)->back(), std::byte{40});
  ASSERT_TRUE(lanes[1]->expect(0).ok());
  EXPECT_EQ((*lanes[1]->arrived(0))->front(), std::byte{9});
  EXPECT_TRUE(lanes[1]->release(0).ok());
  EXPECT_EQ((*all[1]->heard())->from, 0);
  EXPECT_TRUE(lanes[1]->send(0, 1).ok());  // does not block
  EXPECT_TRUE(all[1]->tell(0, {}).ok());

  const auto array = all[1]->share(10);
  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, ErrorCode::kRankSilent);
  EXPECT_EQ(test::figures(array.error().message), "0");
  lanes[1].reset();
  all.clear();
  EXPECT_TRUE(lanes[2]->room().ok());  // a lane outlives its exchange
}

TEST(InProcess, LanesOfDifferentSizesAreRefused) {
  Ranks all = in_process_exchange(2);
  ASSERT_TRUE(all[0]->open({64, 1, 1}).ok());
  const auto lane = all[1]->open({128, 1, 1});
  ASSERT_FALSE(lane.ok());
  EXPECT_EQ(lane.error().code, ErrorCode::kPlansDiffer);
  EXPECT_EQ(test::figures(lane.error().message), "1 128 64");
}

}  // namespace
}  // namespace tessera::exchange
