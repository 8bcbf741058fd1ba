// SPDX-License-Identifier: Apache-2.0
#include "tessera/mpi/module.h"

extern "C" __attribute__((visibility("default"))) const tessera::MpiModule* tessera_mpi_module() {
  static constexpr tessera::MpiModule kModule{tessera::kMpiModuleVersion, &tessera::mpi_exchange};
  return &kModule;
}
