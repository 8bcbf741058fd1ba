// SPDX-License-Identifier: Apache-2.0
// What tessera_mpi.so of another version looks like to the command.
#include "tessera/mpi/module.h"

extern "C" __attribute__((visibility("default"))) const tessera::mpi::MpiModule*
tessera_mpi_module() {
  static constexpr tessera::mpi::MpiModule kModule{"0.0.7 by hand", nullptr};
  return &kModule;
}
