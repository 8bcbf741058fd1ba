// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tools/bench/bench_report.h"
#include "tools/bench/measure.h"

/// Suite run: what kernels, transfers and whole runs reach of what the machine can do.
///
///   bench_run_kernels.cc   one place, one thread: matmul, conv against oneDNN, others against
///   memcpy bench_run_device.cc    transfers against memcpy, runs in seconds and bytes
namespace tessera::tools {

/// The kernels of run/, transfers between host and device, and runs.
Result<BenchReport> bench_run(const BenchOptions& options);

// The two parts of the suite.
Status bench_run_kernels(const BenchOptions& options, BenchReport& report);
Status bench_run_device(const BenchOptions& options, BenchReport& report);

/// Whether a case is asked for.
bool is_chosen(const BenchOptions& options, std::string_view name);
MeasureOptions rounds_of(const BenchOptions& options);

/// Sets the peer and the share of its speed that a case reaches, and whether that is the goal.
/// A goal of 0 is none, and those of quick suites are left out: their times mean nothing.
void compare(BenchCase& bench_case, std::string_view peer, double peer_seconds, double goal,
             const BenchOptions& options);

}  // namespace tessera::tools
