// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tessera/exchange/agreement.h"
#include "tessera/exchange/exchange.h"
#include "tessera/mpi/mpi_exchange.h"
#include "tools/command/command.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

struct RankedStatus {
  int exit = 0;
  bool is_abandoned = false;  ///< Agreement::is_over: the ranks cannot continue together
};
/// A verb that several processes answer together (`--mpi`): each process calls this with its own
/// arguments and an exchange with the others.
///
/// Only rank 0 prints the answer. Before the verb runs, the ranks agree that the arguments are
/// valid and the same on all ranks. An error on one rank is an error on all: one rank, which
/// reports for all, prints it once, and every rank has the same exit status. When the ranks cannot
/// continue together, the reporting rank ends all processes, and the others wait for that.
RankedStatus run_on_ranks(const Verb& verb, const std::vector<std::string>& args,
                          exchange::Exchange& exchange, std::ostream& out, std::ostream& err,
                          const Terminal& terminal);

/// The timeouts of --timeout: the given time without progress, and the same, at most 5 seconds,
/// for an answer.
exchange::Timeouts timeouts_for(std::int64_t seconds);

/// Options with which this process reports an error and ends, and so ends the job, when ranks do
/// not come to the start or the end of MPI in time. On each machine the first process that waits is
/// the one to report: each of the others waits longer than the one before it, by the timeout of an
/// answer, and is ended meanwhile.
mpi::MpiOptions watched_mpi(exchange::Timeouts timeouts, bool json, std::ostream& out,
                            std::ostream& err);

}  // namespace tessera::tools
