// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "tessera/mpi/mpi_exchange.h"
#include "tessera/mpi/watch.h"

namespace tessera::mpi {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Watch, ReportsWhatLastsTooLong) {
  std::promise<Error> reported;
  MpiOptions options;
  options.timeouts.silence = milliseconds(1);
  options.on_silence = [&](const Error& error) { reported.set_value(error); };
  const Watch watch(options, "nothing has happened");
  EXPECT_EQ(reported.get_future().get().code, ErrorCode::kRankSilent);
}

TEST(Watch, EndsAtOnceWithWhatItWatches) {
  int calls = 0;
  MpiOptions options;
  options.timeouts.silence = hours(1);
  options.on_silence = [&](const Error&) { ++calls; };
  for (int i = 0; i < 100; ++i) const Watch watch(options, "nothing has happened");
  EXPECT_EQ(calls, 0);
}

TEST(Watch, WatchesNothingWithoutAFunction) {
  MpiOptions options;
  options.timeouts.silence = milliseconds(0);
  const Watch watch(options, "nothing has happened");
}

/// Start, lanes and end of an exchange that all ranks take part in are not reported.
TEST(Watch, IsSilentWhenAllRanksCome) {
  MpiOptions options;
  options.timeouts.silence = hours(1);
  options.on_silence = [](const Error& error) { ADD_FAILURE() << error.message; };
  const auto exchange = mpi_exchange(options);
  ASSERT_TRUE(exchange.ok()) << exchange.error().message;
  EXPECT_TRUE((*exchange)->open({64, 1, 1}).ok());
  EXPECT_TRUE((*exchange)->share(64).ok());
}

}  // namespace
}  // namespace tessera::mpi

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
