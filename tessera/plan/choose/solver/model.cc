// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/model.h"

#include <algorithm>

#include "tessera/base/checked.h"

namespace tessera::choose {

std::int64_t cost_of(const Model& model, std::span<const std::uint32_t> choice) {
  std::int64_t cost = model.constant;
  for (std::uint32_t node = 0; node < model.nodes(); ++node) {
    cost += model.costs_of(node)[choice[node]];
  }
  for (const Model::Link& link : model.links) {
    const std::int64_t pair =
        model.tables[link.table + std::size_t{choice[link.a]} * model.strategies(link.b) +
                     choice[link.b]];
    if (pair >= kForbidden) return kForbidden;
    cost += pair;
  }
  return cost;
}

std::vector<std::int64_t> loads_of(const Model& model, std::span<const std::uint32_t> choice) {
  std::vector<std::int64_t> loads(model.moments() + 1);
  for (std::uint32_t node = 0; node < model.nodes(); ++node) {
    for (const Model::Piece& piece : model.pieces_of(node)) {
      const std::int64_t usage = model.usages[piece.usage + choice[node]];
      loads[piece.from] += usage;
      loads[piece.to] -= usage;
    }
  }
  for (std::size_t m = 1; m < loads.size(); ++m) loads[m] += loads[m - 1];
  loads.pop_back();
  return loads;
}

std::int64_t excess_of(const Model& model, std::span<const std::int64_t> loads) {
  Checked excess = 0;
  for (std::size_t m = 0; m < loads.size(); ++m) {
    excess += std::max<std::int64_t>(0, loads[m] - model.room[m]);
  }
  return excess.saturated();
}

}  // namespace tessera::choose
