// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tessera/base/text.h"
#include "tools/testing/shell_testing.h"

/// The suite under the real mpirun, on small matrices whose extents the blocks do not divide.
namespace tessera::tools {
namespace {

/// The output of a command on `ranks` ranks, without what mpirun prints about a failure.
Answer on_ranks(int ranks, const std::string& command) {
  // Any number of ranks, on any machine, for any user; waiting ranks yield the processor.
  return run_in_shell(
      cat("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
          "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1; timeout -k 5 180 ",
          TESSERA_MPIRUN, " -n ", ranks, " ", command, " 2> /dev/null"));
}

Answer bench_mpi_on(int ranks, const std::string& arguments) {
  return on_ranks(ranks, cat("\"$T\" bench mpi ", arguments));
}

TEST(BenchMpiSuite, MeasuresAllCasesAndPrintsOnce) {
  const Answer answer = bench_mpi_on(2, "--quick --json");
  ASSERT_EQ(answer.status, 0) << answer.out;
  ASSERT_EQ(answer.lines().size(), 1U) << answer.out;
  const Json json = answer.json();
  EXPECT_EQ(json["suite"], "mpi");
  EXPECT_EQ(json["ranks"], 2);
  EXPECT_EQ(json["cases"].size(), 12U);
  for (const Json& c : json["cases"]) {
    for (const char* time : {"seconds", "shared_seconds", "floor_seconds", "memcpy_seconds",
                             "plan_seconds", "over_floor", "floor_over_memcpy"}) {
      EXPECT_GT(c[time].get<double>(), 0) << c["name"] << " " << time;
    }
    const auto bytes = c["bytes"].get<std::int64_t>();
    EXPECT_EQ(bytes, c["dtype"] == "f64" ? 300 * 300 * 8 : 300 * 300 * 4);
    EXPECT_GT(c["crossing_bytes"].get<std::int64_t>(), 0) << c["name"];
    EXPECT_LT(c["crossing_bytes"].get<std::int64_t>(), bytes) << c["name"];
    EXPECT_GT(c["staged_bytes"].get<std::int64_t>(), 0) << c["name"];
    EXPECT_EQ(c["peers"].size(), json.contains("peers_missing") ? 0U : 1U);
    EXPECT_TRUE(c["met"].is_boolean());
  }
}

TEST(BenchMpiSuite, TakesSomeCasesThreadsAndExtents) {
  const Answer answer =
      bench_mpi_on(4, "--quick --extent 131 --only 8x8-to-100x100 --threads 1,2 --no-peers");
  ASSERT_EQ(answer.status, 0) << answer.out;
  // Two header lines, f64 and f32 with 1 and 2 threads, three means and the goals.
  EXPECT_EQ(answer.lines().size(), 2U + 4U + 3U + 1U) << answer.out;
  EXPECT_NE(answer.out.find("4 ranks, 131x131"), std::string::npos) << answer.out;
}

TEST(BenchMpiSuite, ErrorsAreReportedOnce) {
  for (int turn = 0; turn < 4; ++turn) {  // losses are intermittent
    const Answer nothing = bench_mpi_on(3, "--quick --only nothing --json");
    EXPECT_EQ(nothing.status, 2);
    EXPECT_EQ(nothing.lines().size(), 1U) << nothing.out;
    EXPECT_EQ(nothing.error_code(), "usage") << nothing.out;
  }
  EXPECT_EQ(bench_mpi_on(2, "--extent 0 --json").error_code(), "out_of_range");
  EXPECT_EQ(bench_mpi_on(1, "--quick --json").error_code(), "usage");
}

// mpirun ends all ranks when the first of them fails: that must be the one that reports the error,
// even if it is late.
TEST(BenchMpiSuite, OtherRanksWaitForTheReportingRank) {
  const Answer late = on_ranks(3, R"(sh -c '
      if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then sleep 2; fi
      exec "$1" bench mpi --extent 0 --json' sh "$T")");
  EXPECT_EQ(late.status, 2);
  EXPECT_EQ(late.lines().size(), 1U) << late.out;
  EXPECT_EQ(late.error_code(), "out_of_range") << late.out;
}

}  // namespace
}  // namespace tessera::tools
