// SPDX-License-Identifier: Apache-2.0
#include "tools/files/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "tools/testing/folder_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

/// nohup and some shells start programs with these signals ignored, and the command then leaves
/// them so. The tests of signals need them as they are on a terminal, before any handler is set.
[[maybe_unused]] const bool kSignalsAreDefault = [] {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal_number, SIG_DFL);
  return true;
}();

namespace fs = std::filesystem;

class MappedFile : public testing::TestWithParam<Unfinished>, protected TestFolder {
 protected:
  using Names = std::vector<std::string>;
};

TEST_P(MappedFile, AppearsAtCommit) {
  auto file = MappedOutput::create(path("a"), 3, GetParam());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_FALSE(fs::exists(path("a")));
  std::memcpy(file->bytes().data(), "abc", 3);
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(read("a"), "abc");
  EXPECT_EQ(names(), Names{"a"});
}

TEST_P(MappedFile, ReplacesAtCommitAndKeepsPermissionsAndLinks) {
  write("old", "before");
  fs::create_symlink("old", path("link"));
  chmod(path("old").c_str(), 0640);
  auto file = MappedOutput::create(path("link"), 5, GetParam());
  ASSERT_TRUE(file) << file.error().message;
  std::memcpy(file->bytes().data(), "after", 5);
  EXPECT_EQ(read("old"), "before");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(read("old"), "after");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(fs::status(path("old")).permissions(), fs::perms(0640));
  EXPECT_EQ(names(), (Names{"link", "old"}));
}

TEST_P(MappedFile, DroppedItLeavesNothing) {
  write("old", "before");
  {
    ASSERT_TRUE(MappedOutput::create(path("old"), 1 << 20, GetParam()));
  }
  {
    ASSERT_TRUE(MappedOutput::create(path("new"), 0, GetParam()));
  }
  EXPECT_EQ(read("old"), "before");
  EXPECT_EQ(names(), Names{"old"});
}

TEST_P(MappedFile, ASignalLeavesNothing) {
  const Unfinished unfinished = GetParam();
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t child = fork();
    if (child == 0) {
      const auto file = MappedOutput::create(path("a"), 1 << 16, unfinished);
      if (!file) _exit(3);
      std::raise(signal_number);
      _exit(4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal_number) << status;
    EXPECT_EQ(names(), Names{});
  }
}

TEST_P(MappedFile, UnwritableFilesAreErrors) {
  fs::create_directory(path("folder"));
  const auto facts = [&](const std::string& name, std::int64_t size) {
    const auto file = MappedOutput::create(name, size, GetParam());
    EXPECT_FALSE(file) << name;
    if (file) return std::string("written");
    EXPECT_EQ(file.error().code, ErrorCode::kIo) << file.error().message;
    return facts_in(file.error().message);
  };
  const auto quoted = [&](const std::string& name) { return "'" + path(name) + "'"; };
  EXPECT_EQ(facts(path("folder"), 1), quoted("folder"));
  EXPECT_EQ(facts("/dev/null", 1), "'/dev/null'");
  EXPECT_EQ(facts(path("none/a"), 1), "1 " + quoted("none/a"));
  EXPECT_EQ(facts(path("a"), std::int64_t{1} << 62), "4611686018427387904 " + quoted("a"));
  write("kept", "x");
  chmod(path("kept").c_str(), 0444);
  EXPECT_EQ(facts(path("kept"), 1), quoted("kept"));
  EXPECT_EQ(names(), (Names{"folder", "kept"}));
}

INSTANTIATE_TEST_SUITE_P(Unfinished, MappedFile,
                         testing::Values(Unfinished::kNameless, Unfinished::kTemporaryName),
                         [](const auto& naming) {
                           return naming.param == Unfinished::kNameless ? "nameless"
                                                                        : "temporary_name";
                         });

class MappedInputs : public MappedFile {};

TEST_F(MappedInputs, Reads) {
  write("a", "abc");
  write("empty", "");
  const auto file = MappedInput::open(path("a"));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->bytes().size(), 3U);
  EXPECT_EQ(std::memcmp(file->bytes().data(), "abc", 3), 0);
  EXPECT_TRUE(file->check());
  EXPECT_TRUE(file->is_same_file(path("./a")));
  EXPECT_FALSE(file->is_same_file(path("empty")));
  EXPECT_FALSE(file->is_same_file(path("none")));
  const auto empty = MappedInput::open(path("empty"));
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->bytes().empty());
}

TEST_F(MappedInputs, UnreadableFilesAreErrors) {
  const auto facts = [](const std::string& name) {
    const Error error = MappedInput::open(name).error();
    EXPECT_EQ(error.code, ErrorCode::kIo) << error.message;
    return facts_in(error.message);
  };
  EXPECT_EQ(facts(path("none")), "'" + path("none") + "'");
  EXPECT_EQ(facts(folder_.string()), "'" + folder_.string() + "'");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(facts(path("pipe")), "'" + path("pipe") + "'");
}

TEST_F(MappedInputs, AFileThatShrinksWhileItIsReadIsAnError) {
  write("a", std::string(1 << 20, 'x'));
  const auto file = MappedInput::open(path("a"));
  ASSERT_TRUE(file);
  fs::resize_file(path("a"), 5000);
  // Reading past the end would end the process with SIGBUS; it reads zeros.
  std::int64_t sum = 0;
  for (const std::byte b : file->bytes()) sum += static_cast<int>(b);
  EXPECT_EQ(sum, 5000 * 'x');
  ASSERT_FALSE(file->check());
  EXPECT_EQ(file->check().error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace tessera::tools
