// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace tessera::tools {

/// A temporary folder that belongs to one test and is removed with it. Tests that need one inherit
/// from it.
class TestFolder {
 protected:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tessera.XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~TestFolder() {
    std::error_code left;  // a failure to remove it is not a failure of the test
    std::filesystem::remove_all(folder_, left);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name), std::ios::binary).rdbuf();
    return text.str();
  }
  /// Whether files in it can be nameless until they are committed, so that an aborted write leaves
  /// nothing.
  bool has_nameless_files() const {
    const int file = open(folder_.c_str(), O_TMPFILE | O_RDWR, 0600);
    if (file >= 0) close(file);
    return file >= 0;
  }
  /// The names of its files.
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      list.push_back(entry.path().filename().string());
    }
    std::sort(list.begin(), list.end());
    return list;
  }

  std::filesystem::path folder_;
};

}  // namespace tessera::tools
