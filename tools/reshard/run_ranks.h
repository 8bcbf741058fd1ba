// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tessera/exchange/agreement.h"
#include "tessera/exchange/exchange.h"
#include "tools/command/command.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// A verb that several processes answer together (`--mpi`): each of them calls this with its own
/// arguments and an exchange with the others.
///
/// Rank 0 alone prints. That arguments are good, and the same on all ranks, is agreed on before the
/// verb runs; an error of one rank is the error of all, is printed once, by whoever speaks for all,
/// and every rank has the same exit status. When a rank is silent the one that speaks ends all of
/// them, and the others wait for that.
struct RankedStatus {
  int exit = 0;
  bool is_abandoned = false;  ///< a rank is silent: nothing more can be done together
};
RankedStatus run_on_ranks(const Verb& verb, const std::vector<std::string>& args,
                          exchange::Exchange& exchange, std::ostream& out, std::ostream& err,
                          const Terminal& terminal);

inline constexpr std::int64_t kLongestPatience = 86'400;
/// What --patience says: how long without progress, and as long for an answer, up to 5 seconds.
exchange::Timeouts patience_for(std::int64_t seconds);

/// Whether the arguments of a verb ask for ranks.
bool wants_ranks(const Verb& verb, const std::vector<std::string>& args);

/// The same, with the processes that mpirun started. Where these cannot be had, says so once a
/// machine.
int run_with_mpi(const Verb& verb, const std::vector<std::string>& args, std::ostream& out,
                 std::ostream& err, const Terminal& terminal);

}  // namespace tessera::tools
