// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/cost.h"

#include <algorithm>
#include <optional>

#include "tessera/base/text.h"
#include "tessera/reshard/flow_cost.h"
#include "tessera/reshard/listed_cost.h"

namespace tessera {
namespace {

/// The places of the ground as rows and columns. Where routes are not known this only tells places
/// apart.
FabricMesh rows_and_columns(const Ground& ground) {
  if (ground.fabric) return *ground.fabric;
  FabricMesh mesh;
  if (ground.mesh.rank() > 0) mesh.cols = static_cast<std::int32_t>(ground.mesh.extents().back());
  mesh.rows = static_cast<std::int32_t>(ground.mesh.elements() / mesh.cols);
  return mesh;
}

/// The tables of a reshard that is one product, or nothing.
Result<std::optional<FlowTables>> tables_of(const Reshard& reshard, const FabricMesh& mesh,
                                            const Rates& rates) {
  if (reshard.parts().size() != 1 || !has_classes_for(rates)) return std::optional<FlowTables>();
  const ReshardPart& part = reshard.parts().front();
  // Rows that stand for several axes do not tell which copy is nearest.
  if (reshard.ground().mesh.rank() > 2 && part.a.replicas() > 1) {
    return std::optional<FlowTables>();
  }
  return flow_tables(part, mesh);
}

Rates rates_of(const Reshard& reshard) { return {reshard.byte_rate(), reshard.wavelet_rate()}; }

void count_cycles(const Reshard& reshard, ReshardCost& cost) {
  if (!cost.fabric) return;
  FabricCost& fabric = *cost.fabric;
  const std::int64_t ramps = 2 * reshard.ground().fabric->ramp_cycles + 1;
  fabric.cycles =
      std::max(fabric.max_ramp_wavelets, fabric.max_link_wavelets + fabric.longest_distance) +
      ramps * fabric.depth;
}

}  // namespace

Result<ReshardCost> cost_of(const Reshard& reshard) {
  ReshardCost cost;
  if (reshard.parts().empty()) {
    if (reshard.ground().fabric) cost.fabric = FabricCost{};
    return cost;
  }
  const FabricMesh mesh = rows_and_columns(reshard.ground());
  const Rates rates = rates_of(reshard);
  TESSERA_TRY(const std::optional<FlowTables> tables, tables_of(reshard, mesh, rates));
  if (tables) {
    cost = flow_cost(*tables, mesh, rates);
    if (!reshard.ground().fabric) cost.fabric.reset();
  } else {
    TESSERA_TRY(const ListedTraffic traffic, list_traffic(reshard));
    cost = listed_cost(reshard, traffic);
  }
  count_cycles(reshard, cost);
  return cost;
}

Result<LinkLoads> link_loads(const Reshard& reshard) {
  if (!reshard.ground().fabric) {
    return Error{ErrorCode::kNotSupported,
                 cat("no link can be said to carry anything: ", reshard.ground().why_no_fabric),
                 std::nullopt, "name a target whose places are a mesh, as wse2"};
  }
  const FabricMesh& mesh = *reshard.ground().fabric;
  const Rates rates = rates_of(reshard);
  TESSERA_TRY(const std::optional<FlowTables> tables, tables_of(reshard, mesh, rates));
  if (tables) return flow_loads(*tables, mesh, rates);
  TESSERA_TRY(const ListedTraffic traffic, list_traffic(reshard));
  return listed_loads(reshard, traffic);
}

}  // namespace tessera
