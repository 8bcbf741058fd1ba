// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tessera/base/text.h"
#include "tools/bench/bench_mpi.h"
#include "tools/bench/bench_report.h"
#include "tools/command/run.h"
#include "tools/reshard/mpi_module.h"
#include "tools/reshard/run_ranks.h"

namespace tessera::tools {
namespace {

Result<MpiBenchOptions> mpi_options(const Request& request) {
  MpiBenchOptions options;
  options.quick = request.has("quick");
  options.peers = !request.has("no-peers");
  options.only = request.text("only");
  if (request.has("threads")) options.threads = request.numbers("threads");
  options.extent = request.has("extent") ? request.number("extent") : options.quick ? 300 : 8192;
  TESSERA_CHECK_OK(check_range({options.extent}, "extent", kLeastExtent, kMostExtent));
  TESSERA_CHECK_OK(check_range(options.threads, "threads", 1, 256));
  return options;
}

}  // namespace

Result<Verdict> run_bench_mpi(const Request& request, Console& console) {
  // An error before the exchange exists occurs on all ranks.
  const auto report_once = [](const Error& error) -> Result<Verdict> {
    if (!is_first_here()) wait_to_be_ended(kExitBadInput);
    return error;
  };
  const auto options = mpi_options(request);
  if (!options) return report_once(options.error());
  auto exchange =
      load_mpi_exchange(watched_mpi(kBenchTimeouts, console.json, console.out, console.err));
  if (!exchange) return report_once(exchange.error());
  exchange::Agreement agreement(**exchange, kBenchTimeouts);
  const bool prints = agreement.rank() == 0;
  const auto measure = [&]() -> Result<MpiReport> {
    const auto peers = load_mpi_peers();
    TESSERA_CHECK_OK(agreement.settle(peers ? ok_status() : Status(peers.error())));
    Crew crew(agreement, **peers);
    bool is_first = true;
    return bench_mpi(*options, crew, [&](const MpiRow& row) {
      if (!prints || console.json) return;
      console.out << (is_first ? mpi_head() : "") << mpi_line(row) << std::flush;
      is_first = false;
    });
  };
  const Result<MpiReport> report = measure();
  if (!report) {
    // Reported before the ranks disconnect: mpirun ends all of them as soon as one has failed.
    if (agreement.speaks()) {
      tools::report({report.error(), ""}, console.json, console.out, console.err);
      console.out.flush();
      console.err.flush();
    }
    if (agreement.is_over()) {  // they cannot disconnect from a rank that is missing
      if (agreement.speaks()) (*exchange)->abandon(kExitBadInput);
      wait_to_be_ended(kExitBadInput);
    }
    return Verdict::kBadInput;
  }
  if (prints) {
    console.out << (console.json ? cat(dump(mpi_json(*report)), "\n") : mpi_tail(*report));
  }
  return Verdict::kYes;
}

}  // namespace tessera::tools
