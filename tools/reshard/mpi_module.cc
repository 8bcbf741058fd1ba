// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/mpi_module.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "tessera/base/text.h"
#include "tessera/mpi/module.h"
#include "tools/files/module_file.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr ModuleFile kModule = {
    "tessera_mpi.so", "MPI", mpi::kMpiModuleSymbol,
    "build Tessera where Open MPI is installed (libopenmpi-dev), or install the module with it",
    "install the libraries of Open MPI that it was built with"};

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
  TESSERA_TRY(const LoadedModule loaded, load_module(kModule));
  const auto module = reinterpret_cast<mpi::MpiModuleFunction>(loaded.entry);
  const std::string_view version = module()->version;
  if (version != mpi::kMpiModuleVersion) {
    return Error{ErrorCode::kContradiction,
                 cat(quote(loaded.path), " is of version ", version, ", the command of ",
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
