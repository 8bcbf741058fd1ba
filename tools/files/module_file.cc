// SPDX-License-Identifier: Apache-2.0
#include "tools/files/module_file.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

/// The sub-folders of `folder` whose names satisfy `wanted`, by name.
template <typename Wanted>
std::vector<fs::path> folders_in(const fs::path& folder, const Wanted& wanted) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (wanted(entry->path().filename().string()) && entry->is_directory(ignored)) {
      found.push_back(entry->path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool is_library_name(const std::string& name) { return name.starts_with("lib"); }

/// In tessera/ of a library folder, also below the name of an architecture as on Debian
/// (lib/x86_64-linux-gnu).
void add_library_folder(const fs::path& library, std::string_view file,
                        std::vector<fs::path>& paths) {
  const auto is_machine = [](const std::string& name) {
    return name.find("-linux-") != std::string::npos;
  };
  paths.push_back(library / "tessera" / file);
  for (const fs::path& machine : folders_in(library, is_machine)) {
    paths.push_back(machine / "tessera" / file);
  }
}

/// The folder of the library that has this code, such as the module of the Python package; empty
/// in the command itself.
fs::path own_folder() {
  static const char kHere = 0;
  Dl_info found = {};
  if (dladdr(&kHere, &found) == 0 || found.dli_fname == nullptr) return {};
  const fs::path own = found.dli_fname;
  std::error_code error;
  if (!own.is_absolute() || fs::equivalent(own, "/proc/self/exe", error)) return {};
  return own.parent_path();
}

/// Where the module may be: next to the command, and in lib, lib64, .. next to its folder. For a
/// library with this code: in modules/ next to it, where Python does not look for modules of its
/// own, and in the library folders that contain it (lib/python3.11/site-packages/tessera is in
/// lib).
std::vector<fs::path> candidates(std::string_view file) {
  std::error_code error;
  const fs::path command = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> paths = {command / file};
  for (const fs::path& library : folders_in(command.parent_path(), is_library_name)) {
    add_library_folder(library, file, paths);
  }
  const fs::path own = own_folder();
  if (own.empty()) return paths;
  paths.push_back(own / "modules" / file);
  for (fs::path folder = own; folder.has_relative_path(); folder = folder.parent_path()) {
    if (is_library_name(folder.filename().string())) add_library_folder(folder, file, paths);
  }
  return paths;
}

Result<fs::path> find_module(const ModuleFile& module) {
  const std::vector<fs::path> paths = candidates(module.file);
  for (const fs::path& path : paths) {
    std::error_code ignored;
    if (fs::exists(path, ignored)) return path;
  }
  return Error{
      ErrorCode::kNotSupported,
      cat("this installation has no ", module.part, ": there is no ", module.file, " in ",
          quote(paths.front().parent_path().string()), ", nor in lib/tessera next to that folder"),
      std::nullopt, std::string(module.build)};
}

}  // namespace

Result<LoadedModule> load_module(const ModuleFile& module) {
  TESSERA_TRY(const fs::path path, find_module(module));
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return Error{ErrorCode::kIo,
                 cat("cannot load ", module.part, ": ", printable(why == nullptr ? "" : why)),
                 std::nullopt, std::string(module.libraries)};
  }
  void* const entry = dlsym(handle, std::string(module.symbol).c_str());
  if (entry != nullptr) return LoadedModule{entry, path.string()};
  return Error{
      ErrorCode::kContradiction,
      cat(quote(path.string()), " is not a module of Tessera: it has no symbol ", module.symbol),
      std::nullopt, "install the module and the command from the same build"};
}

}  // namespace tessera::tools
