// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <string>

#include "tessera/mpi/module.h"
#include "tessera/mpi/mpi_exchange.h"
#include "tessera/testing/exchange/exchange_laws.h"

// Only the exchange itself initialises MPI here.
namespace tessera::mpi {
namespace {

TEST(OwnMpi, IsBegunAndEndedByTheExchange) {
  {
    const auto exchange = mpi_exchange();
    ASSERT_TRUE(exchange.ok()) << exchange.error().message;
    EXPECT_GE((*exchange)->ranks(), 2);
    EXPECT_EQ(test::exchange_mistake(**exchange, test::Nearness::kAll, 7), "");
    // Messages that nobody will ever read or send must not keep MPI from ending.
    auto lane = (*exchange)->open({1'000'000, 1, 1});
    ASSERT_TRUE(lane.ok());
    ASSERT_TRUE((*exchange)->tell(0, {}).ok());
  }
  int ended = 0;
  MPI_Finalized(&ended);
  EXPECT_TRUE(ended);
  const auto again = mpi_exchange();
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kIo);
}

TEST(OwnMpi, TheModuleOpensWhereVersionAndCompilerAreTheSame) {
  EXPECT_EQ(kMpiModuleVersion, std::string(kVersion) + " by compiler " + __VERSION__);
  void* const module = dlopen(TESSERA_MPI_MODULE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << dlerror();
  const auto ask = reinterpret_cast<MpiModuleFunction>(dlsym(module, kMpiModuleSymbol));
  ASSERT_NE(ask, nullptr) << dlerror();
  ASSERT_EQ(ask()->version, kMpiModuleVersion);
  // The module and this program share one MPI, which the previous test has ended.
  const auto exchange = ask()->open({});
  ASSERT_FALSE(exchange.ok());
  EXPECT_EQ(exchange.error().code, ErrorCode::kIo);
}

/// The last rank ends all others, which wait forever.
int abandon_all() {
  const auto exchange = mpi_exchange();
  if (!exchange) return 1;
  if ((*exchange)->rank() == (*exchange)->ranks() - 1) (*exchange)->abandon(7);
  while (true) (*exchange)->idle();
}

}  // namespace
}  // namespace tessera::mpi

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--abandon") == 0) return tessera::mpi::abandon_all();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
