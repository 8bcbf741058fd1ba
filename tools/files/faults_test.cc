// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "tessera/base/thread_pool.h"
#include "tools/files/mapped_file.h"
#include "tools/files/replace_file.h"
#include "tools/testing/folder_testing.h"

/// Files that change or vanish, signals and links: what must not end the process, and what must not
/// be left behind.
namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

class Faults : public TestFolder, public testing::Test {
 protected:
  using Names = std::vector<std::string>;

  /// The wait status of a separate process that does this.
  template <typename Work>
  static int status_of(const Work& work) {
    const pid_t child = fork();
    if (child == 0) _exit(work());
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
};

/// 0 when every worker has read zeros where the file has ended, and the file knows it.
int read_what_has_gone(const std::string& name, int threads) {
  const auto file = MappedInput::open(name);
  if (!file) return 2;
  fs::resize_file(name, 5000);
  const std::span<const std::byte> bytes = file->bytes();
  ThreadPool pool(threads);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(pool.threads()), 0);
  std::atomic<int> workers_left{pool.threads() - 1};
  const Status ran = pool.run([&](int worker) {
    // The calling thread comes last: the first to miss a page replaces all that follow.
    while (worker == 0 && workers_left.load() > 0) sched_yield();
    const auto [from, to] = ThreadPool::share(std::ssize(bytes), worker, pool.threads());
    for (std::int64_t i = from; i < to; ++i) {
      sums[static_cast<std::size_t>(worker)] +=
          static_cast<int>(bytes[static_cast<std::size_t>(i)]);
    }
    if (worker > 0) workers_left.fetch_sub(1);
  });
  std::int64_t sum = 0;
  for (const std::int64_t part : sums) sum += part;
  if (!ran || sum != std::int64_t{5000} * 'x') return 3;
  return !file->check() && file->check().error().code == ErrorCode::kIo ? 0 : 4;
}

TEST_F(Faults, AFileThatShrinksWhileWorkersReadItIsAnError) {
  for (const int threads : {1, 2, 5}) {
    write("a", std::string(1 << 20, 'x'));
    EXPECT_EQ(status_of([&] { return read_what_has_gone(path("a"), threads); }), 0) << threads;
  }
}

TEST_F(Faults, SignalsRemoveAnyNumberOfTemporaryFiles) {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    const int status = status_of([&] {
      std::vector<MappedOutput> files;
      for (int i = 0; i < 100; ++i) {
        auto file = MappedOutput::create(path(std::to_string(i)), 10, Unfinished::kTemporaryName);
        if (!file) return 3;
        file->unmap();
        files.push_back(*std::move(file));
      }
      files.erase(files.begin() + 10, files.begin() + 30);  // and their entries are used again
      for (int i = 10; i < 20; ++i) {
        auto file = MappedOutput::create(path(std::to_string(i)), 10, Unfinished::kTemporaryName);
        if (!file) return 3;
        file->unmap();
        files.push_back(*std::move(file));
      }
      if (names().size() != 90) return 5;
      std::raise(signal_number);
      return 4;
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal_number) << status;
    EXPECT_EQ(names(), Names{});
  }
}

TEST_F(Faults, WhatWasCommittedStaysAfterASignal) {
  const int status = status_of([&] {
    auto done = MappedOutput::create(path("done"), 3, Unfinished::kTemporaryName);
    const auto open = MappedOutput::create(path("open"), 3, Unfinished::kTemporaryName);
    if (!done || !open || !done->commit()) return 3;
    std::raise(SIGTERM);
    return 4;
  });
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(names(), Names{"done"});
}

TEST_F(Faults, TemporaryNamesAreUsedOnce) {
  EXPECT_NE(temporary_name("./"), temporary_name("./"));
  const TemporaryFile file = create_temporary(path(""), 0600);
  ASSERT_GE(file.descriptor, 0);
  close(file.descriptor);
  EXPECT_EQ(names().size(), 1U);
}

TEST_F(Faults, ALinkToNoFileIsNotReplaced) {
  fs::create_symlink("gone", path("dangling"));
  fs::create_symlink("loop", path("loop"));
  for (const Unfinished unfinished : {Unfinished::kNameless, Unfinished::kTemporaryName}) {
    for (const char* name : {"dangling", "loop"}) {
      const auto file = MappedOutput::create(path(name), 1, unfinished);
      ASSERT_FALSE(file) << name;
      EXPECT_EQ(file.error().code, ErrorCode::kIo);
      EXPECT_TRUE(fs::is_symlink(path(name)));
    }
  }
  const Status written = write_whole(path("dangling"), "text");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
  ASSERT_FALSE(check_folder_of(path("dangling")));
  EXPECT_TRUE(check_folder_of(path("new")));
  EXPECT_EQ(names(), (Names{"dangling", "loop"}));
}

}  // namespace
}  // namespace tessera::tools
