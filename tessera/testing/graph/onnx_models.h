// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

/// ONNX's own test models, as Debian's package libonnx-testdata installs them: for each model its
/// inputs and outputs as files.
namespace tessera::test {

inline constexpr const char* kOnnxTestData = "/usr/share/libonnx-testdata/data";

inline std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The folders of all models, in order; empty if the package is not installed.
inline std::vector<std::filesystem::path> onnx_models() {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::recursive_directory_iterator at(kOnnxTestData, error), end; !error && at != end; ++at) {
    if (at->path().filename() == "model.onnx") folders.push_back(at->path().parent_path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace tessera::test
