// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tessera/base/result.h"
#include "tessera/exchange/exchange.h"
#include "tessera/mpi/mpi_exchange.h"

/// MPI for a command that is not linked with it: a module, tessera_mpi.so, that is loaded on
/// request, from the folder of the command or from tessera/ in a library folder next to it.
namespace tessera::tools {

/// The exchange of the processes that mpirun started, or of this one alone. Loads the module.
/// Errors: kNotSupported without a module; kIo for one that cannot be loaded, and for errors of
/// MPI; kContradiction for a library that is not a module of Tessera, or one of another version.
Result<std::unique_ptr<exchange::Exchange>> load_mpi_exchange(const mpi::MpiOptions& options);

/// The number of processes of this command that were started together, according to the
/// environment; 1 if the environment has no such number.
int started_processes();
/// The number of this process among those on its machine, from 0, according to the environment.
int rank_here();
/// Whether this is the first of them on its machine: the one that prints before an exchange exists.
bool is_first_here();
/// Ends a process whose error another process reports. mpirun ends all processes as soon as one
/// fails, and the first to fail should be the one that has reported the error. So this process
/// waits to be ended, and exits by itself after a minute.
[[noreturn]] void wait_to_be_ended(int status);

}  // namespace tessera::tools
