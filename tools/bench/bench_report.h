// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"

/// tools/bench/: the verb `bench`. Suites, sizes and numbers of threads come in; measured times,
/// ratios and goals go out. Libraries of others stay in modules of their own (peers/): neither the
/// library nor the command links to them.
namespace tessera::tools {

/// The measurements of one case of a benchmark suite.
struct BenchCase {
  std::string name;
  std::string dtype = "f32";
  std::int64_t elements = 0;  ///< processed by one call; 0 when the call answers one question
  double seconds = 0;         ///< median of one call
  std::vector<std::pair<std::string, double>> peers;  ///< the same work by other means
  std::optional<double> ratio;                        ///< seconds over those of the first peer
  std::optional<std::int64_t> peak_bytes;             ///< allocated at the same time by one call
  int threads = 1;
  std::string outcome;                                  ///< of a search, in one word
  std::vector<std::pair<std::string, double>> figures;  ///< further numbers
  std::string goal;  ///< what the case should reach; empty for no goal
  std::optional<bool> met;
};

struct BenchReport {
  std::string suite;
  std::vector<BenchCase> cases;
  std::vector<std::pair<std::string, double>> geometric_means;  ///< of ratios, by group of cases
  std::vector<std::pair<std::string, double>>
      growth;  ///< seconds on the largest mesh over those on the smallest
};

struct BenchOptions {
  bool quick = false;  ///< small and few cases: shows that everything runs; the times mean nothing
  std::string only;    ///< moves: cases whose name contains this; empty for all
};

/// Sets `ratio` from the first peer.
void set_ratio(BenchCase& bench_case);
/// kOutOfRange unless all numbers given to --`flag` are from `low` to `high`.
Status check_range(const std::vector<std::int64_t>& numbers, std::string_view flag,
                   std::int64_t low, std::int64_t high);
double geometric_mean(const std::vector<double>& values);

// One function per suite. This one: finding elements at random and in bulk, and the cost of
// questions about whole layouts on meshes up to a wafer.
Result<BenchReport> bench_layout(const BenchOptions& options);

// The time to price everyday moves on every machine that is built in (bench/everyday_moves.h).
Result<BenchReport> bench_moves(const BenchOptions& options);

// The two halves of the layout suite.
Status bench_layout_access(const BenchOptions& options, BenchReport& report);
Status bench_layout_mesh(const BenchOptions& options, BenchReport& report);

}  // namespace tessera::tools
