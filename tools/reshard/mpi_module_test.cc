// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/exchange/agreement.h"
#include "tessera/exchange/exchange.h"
#include "tessera/testing/exchange/faulty_exchange.h"
#include "tools/reshard/while_answering.h"
#include "tools/testing/folder_testing.h"
#include "tools/testing/shell_testing.h"

/// The command without MPI, and with modules of other versions; ranks that are busy.
namespace tessera::tools {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class MpiModule : public TestFolder, public testing::Test {
 protected:
  MpiModule() {
    fs::create_directories(path("bin"));
    fs::copy_file(TESSERA_COMMAND, path("bin/tessera"));
  }
  /// The answer to --mpi of a copy of the command in a separate folder.
  Answer ask() const {
    const std::string tensor = "'tensor<8xf32, pyflame.RowPartition(2)>'";
    return run_in_shell(cat("timeout 120 ", path("bin/tessera"), " reshard ", tensor, " ", tensor,
                            " --mpi --in 'x.{place}' --out 'y.{place}'"));
  }
};

TEST_F(MpiModule, AMissingOneIsReportedWithHelp) {
  const Answer answer = ask();
  EXPECT_EQ(answer.status, 2);
  EXPECT_TRUE(answer.out.starts_with("error[not_supported]: ")) << answer.out;
  EXPECT_NE(answer.out.find("tessera_mpi.so"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("\nhelp: "), std::string::npos) << answer.out;
}

TEST_F(MpiModule, TheCommandItselfIsNotLinkedWithMpi) {
  const Answer answer = run_in_shell("LD_TRACE_LOADED_OBJECTS=1 \"$T\"");
  EXPECT_NE(answer.out.find("libc.so"), std::string::npos) << answer.out;
  EXPECT_EQ(answer.out.find("libmpi"), std::string::npos) << answer.out;
}

TEST_F(MpiModule, OneThatCannotBeLoadedIsReportedInEveryFolder) {
  for (const std::string folder : {"lib/tessera", "lib64/tessera", "lib/any-linux-gnu/tessera"}) {
    fs::create_directories(path(folder));
    write(folder + "/tessera_mpi.so", "not a library");
    const Answer answer = ask();
    EXPECT_EQ(answer.status, 2);
    EXPECT_TRUE(answer.out.starts_with("error[io]: ")) << answer.out;
    EXPECT_NE(answer.out.find(folder), std::string::npos) << answer.out;
    fs::remove_all(path(folder));
  }
}

TEST_F(MpiModule, OneOfAnotherVersionIsRefused) {
  fs::copy_file(TESSERA_OTHER_MPI_MODULE, path("bin/tessera_mpi.so"));
  const Answer answer = ask();
  EXPECT_EQ(answer.status, 2);
  EXPECT_TRUE(answer.out.starts_with("error[contradiction]: ")) << answer.out;
  EXPECT_NE(answer.out.find(" 0.0.7 "), std::string::npos) << answer.out;
}

TEST_F(MpiModule, ALibraryThatIsNoModuleIsRefused) {
  fs::copy_file(TESSERA_FOREIGN_MODULE, path("bin/tessera_mpi.so"));
  const Answer answer = ask();
  EXPECT_EQ(answer.status, 2);
  EXPECT_TRUE(answer.out.starts_with("error[contradiction]: ")) << answer.out;
  EXPECT_NE(answer.out.find("tessera_mpi_module"), std::string::npos) << answer.out;
}

/// Rank 0 waits for rank 1, which is busy for much longer than any timeout, by a clock that waits
/// for both.
Status wait_for_busy(bool is_answering) {
  const exchange::Timeouts timeouts{milliseconds(50), milliseconds(400)};
  const auto pace = std::make_shared<test::Pace>(2);
  const auto exchanges = test::paced_exchange(pace, 2);
  std::thread busy([&] {
    exchange::Agreement agreement(*exchanges[1], timeouts);
    const auto work = [&] {
      if (is_answering) {  // the steps are taken by the thread that answers
        const auto end = pace->now() + milliseconds(1000);
        while (pace->now() < end) std::this_thread::sleep_for(milliseconds(1));
      } else {
        pace->pass(1, milliseconds(1000));
      }
      return ok_status();
    };
    (void)agreement.settle(is_answering ? while_answering(agreement, work) : work());
  });
  exchange::Agreement agreement(*exchanges[0], timeouts);
  Status status = agreement.settle(ok_status());
  pace->leave(0);
  busy.join();
  return status;
}

TEST(WhileAnswering, WhoAnswersIsNotTakenForSilent) {
  EXPECT_TRUE(wait_for_busy(/*is_answering=*/true).ok());
  const Status silent = wait_for_busy(/*is_answering=*/false);
  ASSERT_FALSE(silent.ok());
  EXPECT_EQ(silent.error().code, ErrorCode::kRankSilent);
}

TEST(WhileAnswering, ExceptionsAreErrors) {
  const auto exchanges = exchange::in_process_exchange(1);
  exchange::Agreement agreement(*exchanges[0], exchange::Timeouts());
  const Status status = while_answering(agreement, []() -> Status { throw std::bad_alloc(); });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemory);
}

}  // namespace
}  // namespace tessera::tools
