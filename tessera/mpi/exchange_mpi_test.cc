// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cstdint>

#include "tessera/mpi/mpi_exchange.h"
#include "tessera/mpi/mpi_lane.h"
#include "tessera/mpi/session.h"
#include "tessera/testing/exchange/exchange_laws.h"
#include "tessera/testing/figures.h"

namespace tessera::mpi {
namespace {

std::unique_ptr<exchange::Exchange> exchange_of(const MpiOptions& options) {
  auto exchange = mpi_exchange(options);
  EXPECT_TRUE(exchange.ok()) << exchange.error().message;
  return exchange.ok() ? std::move(*exchange) : nullptr;
}

TEST(MpiExchange, KeepsTheContractThroughSharedMemory) {
  const auto exchange = exchange_of({.shared_memory = true});
  ASSERT_NE(exchange, nullptr);
  EXPECT_EQ(test::exchange_mistake(*exchange, test::Nearness::kAll, 5), "");
}

TEST(MpiExchange, KeepsTheContractThroughMessages) {
  const auto exchange = exchange_of({.shared_memory = false});
  ASSERT_NE(exchange, nullptr);
  EXPECT_EQ(test::exchange_mistake(*exchange, test::Nearness::kAny, 6), "");
  const auto array = exchange->share(8);
  ASSERT_TRUE(array.ok());
  for (int rank = 0; rank < exchange->ranks(); ++rank) {
    EXPECT_EQ((*array)->of(rank).has_value(), rank == exchange->rank());
  }
}

/// Ranks 0, 2, .. and ranks 1, 3, .. share memory among themselves, as on two machines.
TEST(MpiExchange, KeepsTheContractThroughBothAtOnce) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto session = Session::begin({}, rank % 2);
  ASSERT_TRUE(session.ok()) << session.error().message;
  const auto exchange = exchange_over(std::move(*session));
  EXPECT_EQ(test::exchange_mistake(*exchange, test::Nearness::kAny, 8), "");
  const auto array = exchange->share(8);
  ASSERT_TRUE(array.ok());
  for (int other = 0; other < exchange->ranks(); ++other) {
    EXPECT_EQ((*array)->of(other).has_value(), (other - rank) % 2 == 0);
  }
}

TEST(MpiExchange, RanksMustWantTheSame) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto exchange = mpi_exchange({.shared_memory = rank != 1});
  ASSERT_FALSE(exchange.ok());
  EXPECT_EQ(exchange.error().code, ErrorCode::kPlansDiffer);
}

TEST(MpiExchange, LanesOfDifferentSizesAreRefusedByAll) {
  const auto exchange = exchange_of({});
  ASSERT_NE(exchange, nullptr);
  const auto lane = exchange->open({exchange->rank() == 1 ? 64 : 128, 1, 1});
  ASSERT_FALSE(lane.ok());
  EXPECT_EQ(lane.error().code, ErrorCode::kPlansDiffer);
  EXPECT_TRUE(exchange->open({64, 1, 1}).ok());
}

TEST(MpiExchange, MemoryThatAMachineHasNotIsRefusedByAll) {
  for (const bool shared_memory : {true, false}) {
    const auto exchange = exchange_of({.shared_memory = shared_memory});
    ASSERT_NE(exchange, nullptr);
    for (const std::int64_t bytes : {std::int64_t{1} << 45, INT64_MAX}) {
      const auto array = exchange->share(exchange->rank() == 1 ? bytes : 10);
      ASSERT_FALSE(array.ok());
      EXPECT_EQ(array.error().code, ErrorCode::kOutOfMemory) << array.error().message;
    }
    EXPECT_TRUE(exchange->share(10).ok());
  }
}

/// Rank 0 has a lane for longer packets than the others, as if it ran another program.
TEST(MpiExchange, ALongerMessageIsAnErrorThatNamesItsRank) {
  auto session = Session::begin({.shared_memory = false});
  ASSERT_TRUE(session.ok()) << session.error().message;
  const int rank = (*session)->rank();
  const int last = (*session)->ranks() - 1;
  const auto lane = open_mpi_lane(*session, {rank == 0 ? 500'000 : 400'000, 2, 2});
  ASSERT_TRUE(lane.ok());
  if (rank == 0) {
    ASSERT_TRUE((*lane)->room().ok());
    ASSERT_TRUE((*lane)->send(last, 450'000).ok());
  } else if (rank == last) {
    ASSERT_TRUE((*lane)->expect(0).ok());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    auto here = (*lane)->arrived(0);
    while (here.ok() && !*here && std::chrono::steady_clock::now() < end) {
      here = (*lane)->arrived(0);
    }
    ASSERT_FALSE(here.ok());
    EXPECT_EQ(here.error().code, ErrorCode::kBadPacket);
    EXPECT_EQ(test::figures(here.error().message), "0 400000");
    EXPECT_FALSE((*lane)->arrived(0).ok());  // and stays one
  }
  EXPECT_TRUE((*session)->settle(ok_status()).ok());  // MPI itself continues
}

}  // namespace
}  // namespace tessera::mpi

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  const int outcome = RUN_ALL_TESTS();
  MPI_Finalize();
  return outcome;
}
