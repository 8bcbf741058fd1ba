// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tools/testing/command_testing.h"
#include "tools/testing/message_facts.h"

/// Files with valid and invalid layouts in a temporary folder, for the tests of `check`.
namespace tessera::tools {

namespace fs = std::filesystem;

// 53 rows on 3 cores are 18 per core, and 63 columns on 2 are 32: the memref must be 18x32.
inline const std::string kWrongMemref = "memref<17x32xf32, #tt.memory_space<l1>>";
inline const std::string kRightMemref = "memref<18x32xf32, #tt.memory_space<l1>>";
inline std::string layout(const std::string& memref) {
  return "#tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, " + memref + ">";
}
inline std::string inline_layout(const std::string& memref) {
  return "func.func private @f(tensor<53x63xf32, " + layout(memref) + ">)\n";
}
inline const std::string kRight = inline_layout(kRightMemref);
inline const std::string kWrong = inline_layout(kWrongMemref);
/// The same through an alias: the invalid text is in line 1, the tensor in line 3.
inline std::string by_alias(const std::string& memref) {
  return "#layout = " + layout(memref) +
         "\nmodule {\n  func.func private @f(tensor<53x63xf32, #layout>)\n}\n";
}
inline const std::string kAlias = by_alias(kWrongMemref);
// d0 * 96 + d1 of 8x96x32 next to a separate d1: 768x96x32 for 8x96x32, 96 times the data.
inline const std::string kWaste =
    "func.func private @w(tensor<8x96x32xf32, #tt.metal_layout<(d0, d1, d2) -> (d0 * 96 + d1, d1, "
    "d2), undef, <1x1x1>, memref<768x96x32xf32, #tt.memory_space<l1>>>>)\n";
// No grammar has a memref of 18y32, so there is no fix for it.
inline const std::string kUnfixable = inline_layout("memref<18y32xf32, #tt.memory_space<l1>>");

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::string content(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A separate folder for each test.
class Check : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "tessera_check_" + test->name() + "_" + std::to_string(getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  /// Everything in the folder, by name.
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      list.push_back(entry.path().filename());
    }
    std::sort(list.begin(), list.end());
    return list;
  }

  std::string folder_;
};

inline std::vector<Json> json_lines(const Answer& answer) {
  std::vector<Json> list;
  for (const std::string& line : answer.lines()) list.push_back(parsed(line));
  return list;
}

/// The text that a diagnostic marks as wrong, within one line.
inline std::string wrong_text(const Json& region, const std::string& line) {
  const auto from = region["column"].get<std::size_t>() - 1;
  const auto to = region["end_column"].get<std::size_t>() - 1;
  return line.substr(from, to - from);
}
/// The line after the fix of its diagnostic is applied.
inline std::string mended(const Json& diagnostic, const std::string& line) {
  if (!diagnostic["fix"].is_string()) return "no fix";
  const Json& region = diagnostic["fix_region"];
  const auto from = region["column"].get<std::size_t>() - 1;
  return std::string(line).replace(from, wrong_text(region, line).size(),
                                   diagnostic["fix"].get<std::string>());
}

}  // namespace tessera::tools
