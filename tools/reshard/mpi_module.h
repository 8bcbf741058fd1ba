// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tessera/base/result.h"
#include "tessera/exchange/exchange.h"
#include "tessera/mpi/mpi_exchange.h"

/// MPI for a command that is not linked with it: a module, tessera_mpi.so, that is loaded when it
/// is asked for, from the folder of the command or from tessera/ in a library folder beside it.
namespace tessera::tools {

/// The exchange of the processes that mpirun started, or of this one alone. Loads the module.
/// Errors: kNotSupported without a module; kIo for one that cannot be loaded, and for errors of
/// MPI; kContradiction for one of another version.
Result<std::unique_ptr<exchange::Exchange>> load_mpi_exchange(const mpi::MpiOptions& options);

/// How many processes of this command were started together, as far as their environment tells; 1
/// without a word about it.
int started_processes();
/// Whether this is the first of them on its machine: who speaks before they can talk.
bool is_first_here();
/// The end of a process that leaves an error to another one to tell. mpirun ends all of them as
/// soon as one fails, and the first to fail should be the one that has told it: so this one waits
/// to be ended, and after a minute goes on its own.
[[noreturn]] void wait_to_be_ended(int status);

}  // namespace tessera::tools
