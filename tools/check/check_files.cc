// SPDX-License-Identifier: Apache-2.0
#include "tools/check/check_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "tessera/base/text.h"
#include "tools/files/text_file.h"

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHelp = "name files and folders that can be read";

bool is_folder(const std::string& name) {
  struct stat facts = {};
  return stat(name.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

Error cannot_read(const std::string& name, int error_number) {
  return file_error("cannot read", name, error_number, std::string(kHelp));
}

/// The path without links, or the name itself where there is no such file.
std::string real_path(const std::string& name) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(name.c_str(), nullptr), std::free);
  return real == nullptr ? name : std::string(real.get());
}

std::string inside(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : cat(folder, "/", name);
}

/// All *.mlir files below `root`, sorted; folders that cannot be read are included.
std::vector<FoundFile> files_below(const std::string& root) {
  std::vector<FoundFile> found;
  std::vector<std::string> folders = {root};
  while (!folders.empty()) {
    const std::string folder = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      const fs::directory_entry& entry = *entries;
      const std::string name = entry.path().filename().string();
      std::error_code no_type;  // an entry that vanishes meanwhile is skipped
      if (entry.is_directory(no_type)) {
        if (!entry.is_symlink(no_type)) folders.push_back(inside(folder, name));
      } else if (name.ends_with(".mlir") && entry.is_regular_file(no_type)) {
        found.push_back({inside(folder, name)});
      }
    }
    if (error) found.push_back({folder, false, cannot_read(folder, error.value())});
  }
  std::sort(found.begin(), found.end(),
            [](const FoundFile& a, const FoundFile& b) { return a.name < b.name; });
  return found;
}

}  // namespace

std::vector<FoundFile> find_mlir_files(const std::vector<std::string>& arguments) {
  std::vector<FoundFile> found;
  std::unordered_set<std::string> seen;
  const auto add = [&](FoundFile file) {
    const bool is_new = seen.insert(file.is_standard_input ? "-" : real_path(file.name)).second;
    if (is_new || !file.status.ok()) found.push_back(std::move(file));
  };
  for (const std::string& argument : arguments) {
    if (argument == "-") {
      add({"<stdin>", true});
    } else if (is_folder(argument)) {
      for (FoundFile& file : files_below(argument)) add(std::move(file));
    } else {
      add({argument});
    }
  }
  return found;
}

Result<std::string> read_mlir_file(const FoundFile& file, std::istream& in) {
  return file.is_standard_input ? read_text_stream(in, kMostMlirBytes)
                                : read_text_file(file.name, kMostMlirBytes, kHelp);
}

}  // namespace tessera::tools
