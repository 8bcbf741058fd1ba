// SPDX-License-Identifier: Apache-2.0
#include "tools/files/commit_together.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/testing/folder_testing.h"

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

class CommitTogether : public testing::TestWithParam<Unfinished>, protected TestFolder {
 protected:
  using Names = std::vector<std::string>;
};

/// Several files appear together, or keep what they had.
TEST_P(CommitTogether, AllAppearOrNone) {
  write("a", "before");
  const auto outputs = [&] {
    std::vector<NamedOutput> files;
    for (const std::string name : {"a", "b", "c"}) {
      auto file = MappedOutput::create(path(name), 3, GetParam());
      EXPECT_TRUE(file) << file.error().message;
      std::memcpy(file->bytes().data(), "new", 3);
      files.push_back({path(name), *std::move(file)});
    }
    return files;
  };
  {
    std::vector<NamedOutput> files = outputs();
    fs::create_directory(path("c"));  // the last name cannot be given any more
    EXPECT_EQ(commit_together(files).error().code, ErrorCode::kIo);
  }
  EXPECT_EQ(read("a"), "before");
  EXPECT_EQ(names(), (Names{"a", "c"}));
  fs::remove(path("c"));
  std::vector<NamedOutput> files = outputs();
  ASSERT_TRUE(commit_together(files));
  for (const std::string name : {"a", "b", "c"}) EXPECT_EQ(read(name), "new");
  EXPECT_EQ(names(), (Names{"a", "b", "c"}));
}

/// Where the first name is a link, the file behind it is what comes back.
TEST_P(CommitTogether, LinksStayLinks) {
  write("old", "before");
  fs::create_symlink("old", path("link"));
  const auto outputs = [&] {
    std::vector<NamedOutput> files;
    for (const std::string name : {"link", "other"}) {
      auto file = MappedOutput::create(path(name), 3, GetParam());
      EXPECT_TRUE(file) << file.error().message;
      std::memcpy(file->bytes().data(), "new", 3);
      files.push_back({path(name), *std::move(file)});
    }
    return files;
  };
  {
    std::vector<NamedOutput> files = outputs();
    fs::create_directory(path("other"));
    EXPECT_FALSE(commit_together(files));
  }
  EXPECT_EQ(read("old"), "before");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  fs::remove(path("other"));
  std::vector<NamedOutput> files = outputs();
  ASSERT_TRUE(commit_together(files));
  EXPECT_EQ(read("old"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(names(), (Names{"link", "old", "other"}));
}

INSTANTIATE_TEST_SUITE_P(Unfinished, CommitTogether,
                         testing::Values(Unfinished::kNameless, Unfinished::kTemporaryName));

}  // namespace
}  // namespace tessera::tools
