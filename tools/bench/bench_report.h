// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"

namespace tessera::tools {

/// What one case of a benchmark suite measured.
struct BenchCase {
  std::string name;
  std::string dtype = "f32";
  std::int64_t elements = 0;  ///< handled by one call; 0 when the call is one question
  double seconds = 0;         ///< median of one call
  std::vector<std::pair<std::string, double>> peers;  ///< the same work done otherwise
  std::optional<double> ratio;                        ///< seconds over those of the first peer
  std::optional<std::int64_t> peak_bytes;             ///< allocated at one time by one call
  int threads = 1;
  std::string outcome;                                  ///< of a search, in one word
  std::vector<std::pair<std::string, double>> figures;  ///< what else there is to say
  std::string goal;                                     ///< what the case should reach, if anything
  std::optional<bool> met;
};

struct BenchReport {
  std::string suite;
  std::vector<BenchCase> cases;
  std::vector<std::pair<std::string, double>> geometric_means;  ///< of ratios, by group of cases
  std::vector<std::pair<std::string, double>>
      growth;  ///< seconds on the largest mesh over smallest
};

struct BenchOptions {
  bool quick = false;  ///< small and few: shows that everything runs, measures nothing
};

/// Sets `ratio` from the first peer.
void set_ratio(BenchCase& bench_case);
/// kOutOfRange unless all numbers that --`flag` got are from `low` to `high`.
Status check_range(const std::vector<std::int64_t>& numbers, std::string_view flag,
                   std::int64_t low, std::int64_t high);
double geometric_mean(const std::vector<double>& values);

// One function a suite. This one: finding elements at random and in bulk, and what questions about
// whole layouts cost on meshes up to a wafer.
Result<BenchReport> bench_layout(const BenchOptions& options);

// The two halves of the layout suite.
Status bench_layout_access(const BenchOptions& options, BenchReport& report);
Status bench_layout_mesh(const BenchOptions& options, BenchReport& report);

}  // namespace tessera::tools
