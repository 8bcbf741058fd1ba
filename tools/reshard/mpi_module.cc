// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/mpi_module.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/mpi/module.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "tessera_mpi.so";
constexpr std::string_view kHow =
    "build Tessera where Open MPI is installed (libopenmpi-dev), or install the module with it";

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

/// Where the module may be: next to the command, and in tessera/ of lib, lib64, .. next to its
/// folder, also below the name of an architecture as on Debian (lib/x86_64-linux-gnu).
std::vector<fs::path> candidates() {
  std::error_code error;
  const fs::path command = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> paths = {command / kFile};
  const auto is_library = [](const std::string& name) { return name.starts_with("lib"); };
  const auto is_machine = [](const std::string& name) {
    return name.find("-linux-") != std::string::npos;
  };
  for (const fs::path& library : folders_in(command.parent_path(), is_library)) {
    paths.push_back(library / "tessera" / kFile);
    for (const fs::path& machine : folders_in(library, is_machine)) {
      paths.push_back(machine / "tessera" / kFile);
    }
  }
  return paths;
}

Result<fs::path> find_module() {
  const std::vector<fs::path> paths = candidates();
  for (const fs::path& path : paths) {
    std::error_code ignored;
    if (fs::exists(path, ignored)) return path;
  }
  return Error{
      ErrorCode::kNotSupported,
      cat("this installation has no MPI: there is no ", kFile, " in ",
          quote(paths.front().parent_path().string()), ", nor in lib/tessera next to that folder"),
      std::nullopt, std::string(kHow)};
}

/// The number in a variable of the environment, or `otherwise`.
int environment_number(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return otherwise;
  const std::string_view digits(text);
  int number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && stop == digits.data() + digits.size() ? number : otherwise;
}

/// The variables that Open MPI, and MPICH and its derivatives (Hydra), set for the processes that
/// they start.
/// https://docs.open-mpi.org/en/v5.0.x/tuning-apps/environment-var.html
constexpr std::array<const char*, 2> kProcesses = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
constexpr std::array<const char*, 2> kLocalRank = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"};

}  // namespace

Result<std::unique_ptr<exchange::Exchange>> load_mpi_exchange(const mpi::MpiOptions& options) {
  TESSERA_TRY(const fs::path path, find_module());
  // Never unloaded: MPI has threads and handlers that live as long as the process.
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return Error{ErrorCode::kIo, cat("cannot load MPI: ", printable(why == nullptr ? "" : why)),
                 std::nullopt, "install the libraries of Open MPI that it was built with"};
  }
  const auto module =
      reinterpret_cast<mpi::MpiModuleFunction>(dlsym(handle, mpi::kMpiModuleSymbol));
  if (module == nullptr) {
    return Error{ErrorCode::kContradiction,
                 cat(quote(path.string()), " is not a module of Tessera: it has no symbol ",
                     mpi::kMpiModuleSymbol),
                 std::nullopt, "install the module and the command from the same build"};
  }
  const std::string_view version = module()->version;
  if (version != mpi::kMpiModuleVersion) {
    return Error{ErrorCode::kContradiction,
                 cat(quote(path.string()), " is of version ", version, ", the command of ",
                     mpi::kMpiModuleVersion),
                 std::nullopt, "install both from the same build"};
  }
  return module()->open(options);
}

int started_processes() {
  int most = 1;
  for (const char* const name : kProcesses) most = std::max(most, environment_number(name, 1));
  return most;
}

int rank_here() {
  int most = 0;
  for (const char* const name : kLocalRank) most = std::max(most, environment_number(name, 0));
  return most;
}

bool is_first_here() { return rank_here() == 0; }

void wait_to_be_ended(int status) {
  std::this_thread::sleep_for(std::chrono::seconds(60));
  std::_Exit(status);
}

}  // namespace tessera::tools
