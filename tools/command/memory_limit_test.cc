// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/process.h"
#include "tools/testing/folder_testing.h"
#include "tools/testing/shell_testing.h"

/// The command with little address space: every verb answers, or reports out_of_memory with status
/// 2; it never ends by a signal.
namespace tessera::tools {
namespace {

class MemoryLimit : public TestFolder, public testing::Test {
 protected:
  void SetUp() override {
    if (test::kSanitized) GTEST_SKIP() << "the address sanitizer needs more address space";
    write("in.raw", std::string(std::size_t{4} << 20, 'x'));
    write("b.csv", "id,lower,upper,size\nw,0,9,64\nx,1,2,32\n");
    write("m.mlir", "!t = tensor<53x63xf32, strided<[63, 1]>>\n");
    start_ = least_to_start();
    if (start_ > kMostToStart) GTEST_SKIP() << "this build needs more than 1 GB to start";
  }

  Answer limited(std::int64_t kilobytes, const std::string& line) const {
    return run_in_shell(cat("ulimit -v ", kilobytes, "; cd ", folder_.string(), "; \"$T\" ", line));
  }

  /// Little more than the least address space with which the command starts at all.
  std::int64_t least_to_start() const {
    std::int64_t kilobytes = 4096;
    while (kilobytes <= kMostToStart && limited(kilobytes, "--version").status != 0) {
      kilobytes += 256 + kilobytes / 64;
    }
    return kilobytes;
  }

  static constexpr std::int64_t kMostToStart = 1 << 20;
  std::int64_t start_ = 0;
};

TEST_F(MemoryLimit, EveryVerbAnswersOrReportsIt) {
  const std::string tensor = "'tensor<1024x1024xf32, strided<[1024, 1]>>'";
  const std::string turned = "'tensor<1024x1024xf32, strided<[1, 1024]>>'";
  // Tables of short runs, a cast through an image, and block floats: workers allocate.
  const std::string move = " --in in.raw --out out.raw --raw --threads ";
  const std::vector<std::string> lines = {
      cat("show ", tensor),
      cat("locate ", tensor, " --all > all.txt"),
      cat("convert ", tensor, " --to native"),
      cat("diff ", tensor, " ", turned),
      cat("relayout ", tensor, " ", turned, move, 1),
      cat("relayout ", tensor, " ", turned, move, 4),
      cat("relayout ", tensor, " 'tensor<1024x1024xbf16, strided<[1, 1024]>>'", move, 4),
      cat("relayout ", tensor, " ", turned, " --verify", move, 2),
      cat("reshard 'tensor<1024x1024xf32, pyflame.RowPartition(64)>' "
          "'tensor<1024x1024xf32, pyflame.BlockCyclic(8, 8, 5, 7)>'"),
      "alloc b.csv --capacity 100",
      "check m.mlir",
      "targets",
  };
  int refused = 0;
  for (const std::string& line : lines) {
    int answered = 0;
    // Steps grow, so that the last ones are enough for threads and their stacks.
    for (std::int64_t more = 0; more < 200'000 && answered < 2; more += 256 + more / 4) {
      const Answer answer = limited(start_ + more, line);
      ASSERT_LE(answer.status, 2) << line << " with " << start_ + more << " KB: " << answer.out;
      if (answer.status != 2) {
        ++answered;
        continue;
      }
      ++refused;
      EXPECT_NE(answer.out.find("error[out_of_memory]"), std::string::npos)
          << line << " with " << start_ + more << " KB: " << answer.out;
    }
  }
  EXPECT_GT(refused, 0) << "no limit was too low: the test shows nothing";
}

}  // namespace
}  // namespace tessera::tools
