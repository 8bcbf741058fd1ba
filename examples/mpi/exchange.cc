// SPDX-License-Identifier: Apache-2.0
// The same reshard between the processes of mpirun: mpirun -n 4 example_mpi_exchange
#include <cstdio>

#include "examples/rank_work.h"
#include "tessera/mpi/mpi_exchange.h"

int main() {
  auto exchange = tessera::mpi::mpi_exchange();  // initialises MPI if necessary
  if (!exchange.ok()) {
    std::fprintf(stderr, "%s\n", exchange.error().message.c_str());
    return 1;
  }
  const tessera::Status outcome = example::reshard_on(*exchange.value());
  if (outcome) return 0;
  if (exchange.value()->rank() == 0) {
    std::fprintf(stderr, "%s\n", outcome.error().message.c_str());
  }
  return 1;
}
