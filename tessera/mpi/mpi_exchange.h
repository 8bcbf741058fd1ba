// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tessera/base/result.h"
#include "tessera/exchange/exchange.h"

/// mpi/: the Exchange of MPI processes. A library of its own (tessera_mpi), so that nothing else
/// needs MPI: the command loads it when asked, and programs link tessera::mpi.
namespace tessera::mpi {

struct MpiOptions {
  /// Packets between ranks of one node go through memory that they share; else through messages.
  bool shared_memory = true;
};

/// The exchange of all processes of MPI_COMM_WORLD. Initialises MPI where that has not happened,
/// and then finalises it when the exchange goes. Errors of MPI are values (kIo), also after
/// abandon().
Result<std::unique_ptr<exchange::Exchange>> mpi_exchange(const MpiOptions& options = {});

}  // namespace tessera::mpi
