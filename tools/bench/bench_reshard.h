// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/reshard/reshard.h"
#include "tools/bench/bench_report.h"

namespace tessera::tools {

/// The totals by which both ways of counting are compared.
struct PairTotals {
  std::int64_t bytes = 0;
  std::int64_t messages = 0;
  std::int64_t wavelets = 0;
  std::int64_t hops = 0;
  std::int64_t max_link_wavelets = 0;
  friend bool operator==(const PairTotals&, const PairTotals&) = default;
};

/// The peer: a program that keeps the elements of every pair of places in a map, and then walks the
/// route of each message link by link. Its work and memory grow with messages and hops. Only for
/// two dims, each of which adds its own contribution to the place, with every element on one place
/// and without a device map: that is what the suite measures.
PairTotals totals_by_pairs(const Layout& from, const Layout& to, const reshard::Reshard& reshard);

/// Suite reshard: the time to compute the cost of a reshard on meshes from 10x8 to a wafer, how
/// fast transfers are listed, and how fast the fabric is simulated.
Result<BenchReport> bench_reshard(const BenchOptions& options);

// The three parts of the suite.
Status bench_reshard_cost(const BenchOptions& options, BenchReport& report);
Status bench_reshard_transfers(const BenchOptions& options, BenchReport& report);
Status bench_reshard_fabric(const BenchOptions& options, BenchReport& report);

}  // namespace tessera::tools
