// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/ranks/cluster_model.h"
#include "tessera/testing/pages/generated_page.h"
#include "tessera/testing/pages/line_chart.h"

/// How reshards scale according to the model: the tables of docs/mpi.md and its picture.
namespace tessera::test {

/// A reshard of a square f32 tensor on as many places as there are ranks, one per rank.
struct ScalingCase {
  std::string name;  ///< "rows to columns"
  std::string from;  ///< tensors
  std::string to;
};

/// The reshards of the page on `ranks` ranks, a power of 4, of a tensor extent x extent.
std::vector<ScalingCase> scaling_cases(std::int64_t ranks, std::int64_t extent);

/// The time of the slowest of the examined nodes, and the work of the rank that sends most.
struct ScalingPoint {
  std::string name;
  int ranks = 0;
  std::int64_t extent = 0;
  exchange::ClusterTime slow;  ///< with 100 Gb/s
  exchange::ClusterTime fast;  ///< with 400 Gb/s
  exchange::RankLoad load;
};

/// One tensor on more and more ranks, and a tensor that grows with them.
struct Scaling {
  std::vector<ScalingPoint> strong;
  std::vector<ScalingPoint> weak;
};
Result<Scaling> scaling();

/// The tables `scaling-strong`, `scaling-work` and `scaling-weak` of the page.
std::vector<PagePart> scaling_parts(const Scaling& scaling);
LineChart scaling_chart(const Scaling& scaling);

}  // namespace tessera::test
