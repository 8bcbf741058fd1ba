// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tessera/base/result.h"

namespace tessera::tools {

/// A module of Tessera: code that the command loads on request, because it needs libraries that the
/// command itself does not.
struct ModuleFile {
  std::string_view file;       ///< "tessera_mpi.so"
  std::string_view part;       ///< what it adds, as in "this installation has no MPI"
  std::string_view symbol;     ///< its entry point
  std::string_view build;      ///< how to get it
  std::string_view libraries;  ///< what it needs when it is loaded
};

/// Loads the module from the folder of the command, from tessera/ in a library folder next to it,
/// or from the same places around the Python package, and finds its entry point. It is never
/// unloaded. Errors: kNotSupported without a module, kIo for one that cannot be loaded,
/// kContradiction for a file without the symbol.
struct LoadedModule {
  void* entry = nullptr;
  std::string path;
};
Result<LoadedModule> load_module(const ModuleFile& module);

}  // namespace tessera::tools
