// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "tessera/base/text.h"
#include "tessera/testing/process.h"
#include "tools/command/command.h"
#include "tools/testing/folder_testing.h"
#include "tools/testing/shell_testing.h"

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

/// The command by its name, in a folder with the examples of the repository.
class Examples : public TestFolder, public testing::Test {
 protected:
  Examples() {
    fs::create_directories(path("bin"));
    fs::create_symlink(TESSERA_COMMAND, path("bin/tessera"));
    fs::create_directories(path("root"));
    fs::copy("examples", path("root/examples"), fs::copy_options::recursive);
  }
  /// A line as a user pastes it into bash.
  Answer paste(std::string_view line) const {
    write("line.sh",
          cat("cd '", path("root"), "'\nPATH='", path("bin"), "':\"$PATH\"\n", line, "\n"));
    // Only what hangs is stopped: sanitized builds take many times as long.
    const int seconds = test::kSanitized ? 1200 : 300;
    return run_in_shell(cat("timeout ", seconds, " bash '", path("line.sh"), "' < /dev/null"));
  }
};

/// The lines under each verb run in their order. Those of `bench` take long and are not run; those
/// that need mpirun or man are run only by users.
TEST_F(Examples, OfEveryVerbCanBePasted) {
  std::size_t pasted = 0;
  for (const Verb& verb : command_tree()) {
    // The answer of these may be "no".
    const int most = verb.name == "diff" || verb.name == "check" ? 1 : 0;
    for (const std::string_view example : verb.examples) {
      if (verb.name == "bench" || verb.name == "man" || example.starts_with("mpirun ")) continue;
      const Answer answer = paste(example);
      EXPECT_LE(answer.status, most) << example << "\n" << answer.out;
      ++pasted;
    }
  }
  EXPECT_GT(pasted, 15U);
}

TEST_F(Examples, AreOneLineOfTheHelpOnAnyTerminal) {
  for (const Verb& verb : command_tree()) {
    const Answer help = run({"help", std::string(verb.name)}, "", Terminal{.width = kMinWidth});
    for (const std::string_view example : verb.examples) {
      EXPECT_NE(help.out.find(cat("\n  ", example, "\n")), std::string::npos) << example;
    }
  }
}

}  // namespace
}  // namespace tessera::tools
