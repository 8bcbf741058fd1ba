// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_run.h"

#include <cmath>

#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {

bool is_chosen(const BenchOptions& options, std::string_view name) {
  return name.find(options.only) != std::string_view::npos;
}

MeasureOptions rounds_of(const BenchOptions& options) {
  return options.quick ? MeasureOptions{1, 1e-6} : MeasureOptions{11, 2e-3};
}

void compare(BenchCase& bench_case, std::string_view peer, double peer_seconds, double goal,
             const BenchOptions& options) {
  bench_case.peers.emplace_back(peer, peer_seconds);
  set_ratio(bench_case);
  const double share = peer_seconds / bench_case.seconds;
  bench_case.figures.emplace_back("per_cent_of_peer", std::round(1000 * share) / 10);
  if (options.quick || goal == 0) return;
  bench_case.goal = cat(">= ", static_cast<int>(std::lround(100 * goal)), " % of ", peer);
  bench_case.met = share >= goal;
}

Result<BenchReport> bench_run(const BenchOptions& options) {
  BenchReport report;
  report.suite = "run";
  TESSERA_CHECK_OK(bench_run_kernels(options, report));
  TESSERA_CHECK_OK(bench_run_device(options, report));
  if (report.cases.empty()) {
    return Error{ErrorCode::kUsage, cat("no case name contains '", printable(options.only), "'"),
                 std::nullopt, "tessera bench run --quick lists the names"};
  }
  return report;
}

}  // namespace tessera::tools
