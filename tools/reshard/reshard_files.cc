// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/reshard_files.h"

#include <memory>
#include <optional>
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/exchange/agreement.h"
#include "tessera/exchange/exchange.h"
#include "tools/command/thread_count.h"
#include "tools/reshard/mpi_module.h"
#include "tools/reshard/reshard_move.h"
#include "tools/reshard/run_ranks.h"

namespace tessera::tools {
namespace {

Error bad_usage(std::string message, std::string help) {
  return Error{ErrorCode::kUsage, std::move(message), std::nullopt, std::move(help)};
}

/// The number of threads that move data. There are usually as many ranks as cores.
Result<int> threads_of(const Request& request, bool is_alone) {
  const std::int64_t requested = request.number("threads");
  if (!request.has("threads")) return is_alone ? thread_count(0) : Result<int>(1);
  if (requested >= 1) return thread_count(requested);
  return bad_usage(cat("--threads is ", requested), "use at least 1");
}

/// Without --mpi this process does the work of all places; several processes would do it several
/// times, on the same files.
Status check_alone(const Request& request) {
  // Only a batch gets here with --mpi: Verb::run_with_mpi answers everything else.
  if (request.has("mpi")) {
    return bad_usage("--mpi cannot be part of a batch", "start a separate command under mpirun");
  }
  const int processes = started_processes();
  if (processes == 1) return ok_status();
  return bad_usage(cat(processes, " processes were started, and each of them would move all data"),
                   "add --mpi, so that they share the work");
}

}  // namespace

Result<Verdict> move_files_of_places(const Request& request, Console& console) {
  ShardMove move;
  move.in = request.text("in");
  move.out = request.text("out");
  move.raw = request.has("raw");
  move.target = request.text("target");
  move.ranks_of_places = request.text("ranks-of-places");
  move.relabel = request.has("relabel");
  exchange::ResharderOptions& options = move.options;
  options.padding = relayout::PaddingRule::kZero;  // so that equal tensors are equal files
  options.checksums = request.has("checksums");
  if (request.has("staging")) options.staging_bytes = request.number("staging");
  if (request.has("timeout")) options.timeouts = timeouts_for(request.number("timeout"));
  // The other ranks have no stream to show it on.
  const bool shows_progress = console.terminal.shows_progress || request.has("progress");
  move.progress = shows_progress && console.err.good();

  std::vector<std::unique_ptr<exchange::Exchange>> alone;
  std::optional<exchange::Agreement> one;
  if (console.agreement == nullptr) {
    TESSERA_CHECK_OK(check_alone(request));
    alone = exchange::in_process_exchange(1);
    one.emplace(*alone.front(), options.timeouts);
  }
  exchange::Agreement& agreement = one ? *one : *console.agreement;
  // The ranks may have different values, so only together they know whether all are valid.
  const Result<int> threads = threads_of(request, one.has_value());
  Status status = agreement.settle(threads ? ok_status() : Status(threads.error()));
  if (status) options.threads = *threads;
  const Result<ShardMoved> moved =
      status ? move_shards(request.tensor("a"), request.tensor("b"), move, agreement, console)
             : status.error();
  if (!moved) return moved.error();
  if (console.json) {
    print_moved_json(move, *moved, console.out);
  } else {
    print_moved_text(move, *moved, console.out, console.terminal);
  }
  return Verdict::kYes;
}

}  // namespace tessera::tools
