// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "tessera/mpi/mpi_exchange.h"

/// One process without mpirun is an exchange of one rank.
int main() {
  const auto exchange = tessera::mpi::mpi_exchange();
  if (!exchange) {
    std::puts(exchange.error().message.c_str());
    return 1;
  }
  return (*exchange)->ranks() == 1 && (*exchange)->rank() == 0 ? 0 : 1;
}
