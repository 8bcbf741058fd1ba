// SPDX-License-Identifier: Apache-2.0
// A tessera_mpi.so of another version, as the command sees it.
#include "tessera/mpi/module.h"

extern "C" __attribute__((visibility("default"))) const tessera::mpi::MpiModule*
tessera_mpi_module() {
  static constexpr tessera::mpi::MpiModule kModule{"0.0.7 by hand", nullptr};
  return &kModule;
}
