// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tools/command/command.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// The longest time of --timeout, in seconds.
inline constexpr std::int64_t kLongestTimeout = 86'400;

/// Answers `tessera reshard A B --in .. --out ..`: moves the data between the files of places. The
/// flags were checked; errors are those of move_shards (reshard_move.h) and of --threads.
Result<Verdict> move_files_of_places(const Request& request, Console& console);

/// run_on_ranks (run_ranks.h) with the processes that mpirun started, for Verb::run_with_mpi. Where
/// MPI is not available, reports it once per machine.
int run_with_mpi(const Verb& verb, const std::vector<std::string>& args, std::ostream& out,
                 std::ostream& err, const Terminal& terminal);

}  // namespace tessera::tools
