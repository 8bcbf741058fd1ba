// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/dominance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace tessera::choose {
namespace {

/// The rows of an edge's table by the strategies of one end.
struct Rows {
  std::vector<std::int64_t> table;
  std::size_t width = 0;
  const std::int64_t* row(std::size_t k) const { return table.data() + k * width; }
};

Rows rows_of(const Simplified& problem, const Simplified::Edge& edge, std::size_t node) {
  const std::size_t height = problem.nodes[edge.a].costs.size();
  const std::size_t width = problem.nodes[edge.b].costs.size();
  if (edge.a == node) return {edge.table, width};
  Rows rows{std::vector<std::int64_t>(edge.table.size()), height};
  for (std::size_t k = 0; k < height; ++k) {
    for (std::size_t l = 0; l < width; ++l) rows.table[l * height + k] = edge.table[k * width + l];
  }
  return rows;
}

class Comparison {
 public:
  Comparison(const Simplified& problem, std::size_t node) : node_(problem.nodes[node]) {
    for (const std::size_t e : node_.edges) {
      rows_.push_back(rows_of(problem, problem.edges[e], node));
    }
  }

  /// Strategies by their average cost over all choices of the neighbours: one with a larger
  /// average cannot dominate one with a smaller average. The order is only a filter, so rounding
  /// is allowed for.
  std::vector<double> averages() const {
    std::vector<double> averages(node_.costs.size());
    for (std::size_t k = 0; k < averages.size(); ++k) {
      averages[k] = static_cast<double>(node_.costs[k]);
      for (const Rows& rows : rows_) {
        double sum = 0;
        for (std::size_t l = 0; l < rows.width; ++l) sum += static_cast<double>(rows.row(k)[l]);
        averages[k] += sum / static_cast<double>(rows.width);
      }
    }
    return averages;
  }

  bool dominates(std::size_t better, std::size_t worse) const {
    for (const Joined::Piece& piece : node_.pieces) {
      if (piece.usage[better] > piece.usage[worse]) return false;
    }
    // Differences of allowed costs are below 2^62 in total, so the sum cannot overflow.
    std::int64_t most = node_.costs[better] - node_.costs[worse];
    for (const Rows& rows : rows_) {
      const std::int64_t* low = rows.row(better);
      const std::int64_t* high = rows.row(worse);
      std::int64_t largest = INT64_MIN;
      for (std::size_t l = 0; l < rows.width; ++l) {
        if (high[l] >= kForbidden) continue;
        if (low[l] >= kForbidden) return false;
        largest = std::max(largest, low[l] - high[l]);
      }
      if (largest == INT64_MIN) return true;  // `worse` is never allowed
      most += largest;
    }
    return most <= 0;
  }

 private:
  const Simplified::Node& node_;
  std::vector<Rows> rows_;
};

}  // namespace

std::vector<bool> dominated_strategies(const Simplified& problem, std::size_t node) {
  const Comparison comparison(problem, node);
  const std::vector<double> averages = comparison.averages();
  std::vector<std::size_t> order(averages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return averages[x] != averages[y] ? averages[x] < averages[y] : x < y;
  });
  std::vector<bool> dominated(averages.size());
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::size_t worse = order[at];
    const double most = averages[worse] + 1e-9 * std::abs(averages[worse]) + 1;
    for (const std::size_t better : order) {
      if (averages[better] > most) break;
      if (better == worse || dominated[better]) continue;
      if (comparison.dominates(better, worse)) {
        dominated[worse] = true;
        break;
      }
    }
  }
  return dominated;
}

}  // namespace tessera::choose
