// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/base/result.h"
#include "tools/bench/bench_report.h"

namespace tessera::tools {

struct BenchMemoryOptions {
  bool quick = false;
  std::string only;  ///< cases whose name contains this; empty for all
  std::string data;  ///< a folder of CSV files to plan as well; empty for none

  bool selects(std::string_view name) const { return name.find(only) != std::string_view::npos; }
};

/// Suite memory: a graph of 100 tensors on meshes up to a wafer, hard instances, long traces, and
/// the pool of host memory. Every plan is validated; an invalid plan is an error.
/// A file NAME.CAPACITY.csv is planned within its capacity; for any other file the peak is
/// minimized.
Result<BenchReport> bench_memory(const BenchMemoryOptions& options);

// The parts of the suite.
Status bench_memory_mesh(const BenchMemoryOptions& options, BenchReport& report);
Status bench_memory_hard(const BenchMemoryOptions& options, BenchReport& report);
Status bench_memory_traces(const BenchMemoryOptions& options, BenchReport& report);
Status bench_memory_pool(const BenchMemoryOptions& options, BenchReport& report);

}  // namespace tessera::tools
