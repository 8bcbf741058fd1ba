// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "tessera/base/result.h"
#include "tessera/exchange/exchange.h"

/// mpi/: the Exchange of MPI processes. In: the processes of MPI_COMM_WORLD. Out: an Exchange over
/// them. It is a separate library (tessera_mpi), so that nothing else needs MPI: the command loads
/// it on request, and programs link tessera::mpi.
namespace tessera::mpi {

struct MpiOptions {
  /// Packets between ranks of one node go through shared memory; otherwise through MPI messages.
  bool shared_memory = true;
  /// How long the start and the end of MPI, and the opening of memory for packets, may take: these
  /// wait for all ranks inside MPI. Later waits have the timeouts of an Agreement.
  exchange::Timeouts timeouts = {};
  /// Called on a separate thread, with kRankSilent, when one of them takes longer than
  /// `timeouts.silence`. MPI cannot be interrupted there, so the function should report the error
  /// and end the process, which ends the job. Without it, this rank waits as long as MPI does.
  std::function<void(const Error&)> on_silence = nullptr;
};

/// The exchange of all processes of MPI_COMM_WORLD. Initialises MPI if necessary, and then
/// finalises it when the exchange is destroyed. Errors of MPI are values (kIo), also after
/// abandon().
Result<std::unique_ptr<exchange::Exchange>> mpi_exchange(const MpiOptions& options = {});

}  // namespace tessera::mpi
