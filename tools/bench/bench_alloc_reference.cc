// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_alloc_reference.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::tools {
namespace {

/// Elements of part `i` of `extent` elements cut into `parts`.
std::int64_t part_of(std::int64_t extent, std::int64_t parts, std::int64_t i) {
  const std::int64_t width = ceil_div(extent, parts);
  return std::min((i + 1) * width, extent) - std::min(i * width, extent);
}

PlaceByPlace::Plan plan_place(const std::vector<std::pair<std::size_t, std::size_t>>& tiles) {
  PlaceByPlace::Plan plan;
  for (const auto& [tensor, bytes] : tiles) {
    plan.used = (plan.used + 3) / 4 * 4;
    plan.region_of[tensor] = plan.regions.size();
    plan.regions.push_back({plan.used, bytes, cat("tensor_", tensor)});
    plan.used += bytes;
  }
  return plan;
}

}  // namespace

std::size_t PlaceByPlace::most_used() const {
  std::size_t most = 0;
  for (const auto& [spot, plan] : plans) most = std::max(most, plan.used);
  return most;
}

PlaceByPlace plan_place_by_place(const std::vector<SpreadMatrix>& tensors) {
  std::map<PlaceByPlace::Position, std::vector<std::pair<std::size_t, std::size_t>>> tiles;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const SpreadMatrix& tensor = tensors[t];
    for (std::int64_t row = 0; row < tensor.grid_rows; ++row) {
      for (std::int64_t col = 0; col < tensor.grid_cols; ++col) {
        const std::int64_t elements = part_of(tensor.rows, tensor.grid_rows, row) *
                                      part_of(tensor.cols, tensor.grid_cols, col);
        tiles[{row, col}].emplace_back(t,
                                       static_cast<std::size_t>(elements * tensor.element_bytes));
      }
    }
  }
  PlaceByPlace all;
  for (const auto& [spot, list] : tiles) all.plans[spot] = plan_place(list);
  return all;
}

}  // namespace tessera::tools
