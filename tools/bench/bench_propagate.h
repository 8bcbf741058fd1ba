// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tools/bench/bench_report.h"

namespace tessera::tools {

/// The time to ask which layouts the ops of a transformer allow, on a small mesh and on a wafer.
Result<BenchReport> bench_propagate(const BenchOptions& options);

}  // namespace tessera::tools
