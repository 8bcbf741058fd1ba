// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tools/bench/bench_report.h"

namespace tessera::tools {

/// The time to plan models: well-known ones on several machines, with what their plans take beside
/// simpler ways; chains of diamonds of 10 to 10,000 nodes; an MLP on 4 to 745,500 places.
Result<BenchReport> bench_plan(const BenchOptions& options);

}  // namespace tessera::tools
