// SPDX-License-Identifier: Apache-2.0
#include "tessera/mpi/module.h"

extern "C" __attribute__((visibility("default"))) const tessera::mpi::MpiModule*
tessera_mpi_module() {
  static constexpr tessera::mpi::MpiModule kModule{tessera::mpi::kMpiModuleVersion,
                                                   &tessera::mpi::mpi_exchange};
  return &kModule;
}
