// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/reshard/costs/flow_cost.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxLoadedRouters = std::int64_t{1} << 24;  // 32 bytes each

Rates rates_of(const Reshard& reshard) { return {reshard.byte_rate(), reshard.wavelet_rate()}; }

Status count_cycles(const Reshard& reshard, ReshardCost& cost) {
  if (!cost.fabric) return ok_status();
  FabricCost& fabric = *cost.fabric;
  const Checked ramps = Checked(2) * reshard.physical().fabric->ramp_cycles + 1;
  const Checked cycles =
      ramps * fabric.depth +
      std::max(fabric.max_ramp_wavelets, fabric.max_link_wavelets + fabric.longest_distance);
  TESSERA_TRY(fabric.cycles, cycles.value("the number of cycles"));
  return ok_status();
}

}  // namespace

Result<ReshardCost> cost_of(const Reshard& reshard) {
  ReshardCost cost;
  if (reshard.parts().empty()) {
    if (reshard.physical().fabric) cost.fabric = FabricCost{};
    return cost;
  }
  const fabric::FabricMesh mesh = rows_and_columns(reshard.physical());
  const Rates rates = rates_of(reshard);
  TESSERA_TRY(const std::optional<FlowTables> tables, flow_tables(reshard));
  if (tables && has_classes_for(rates)) {
    cost = flow_cost(*tables, mesh, rates);
    if (!reshard.physical().fabric) cost.fabric.reset();
  } else {
    TESSERA_TRY(cost, listed_cost(reshard));
  }
  TESSERA_CHECK_OK(count_cycles(reshard, cost));
  return cost;
}

Result<std::int64_t> busiest_local(const Reshard& reshard) {
  if (reshard.parts().empty()) return 0;
  TESSERA_TRY(const std::optional<FlowTables> tables, flow_tables(reshard));
  if (tables) {
    const fabric::FabricMesh mesh = rows_and_columns(reshard.physical());
    return PlaceTable<1>(*tables, mesh, At::kLocal).largest();
  }
  constexpr std::int64_t kMostPlaces = std::int64_t{1} << 23;
  TESSERA_TRY(const std::vector<PairBytes> pairs,
              pairs_of(reshard, kMostPlaces, {.messages = false, .local = true}));
  std::int64_t most = 0;
  for (const PairBytes& pair : pairs) most = std::max(most, pair.elements);
  return most;
}

Result<LinkLoads> link_loads(const Reshard& reshard) {
  if (!reshard.physical().fabric) {
    return Error{ErrorCode::kNotSupported,
                 cat("the load of links is unknown: ", reshard.physical().why_no_fabric),
                 std::nullopt, "name a target whose places are a mesh, such as wse2"};
  }
  const fabric::FabricMesh& mesh = *reshard.physical().fabric;
  if (mesh.nodes() > kMaxLoadedRouters) {
    return Error{ErrorCode::kTooLarge,
                 cat("the loads of the links of ", mesh.nodes(),
                     " routers are not listed, at most of ", kMaxLoadedRouters),
                 std::nullopt, "use their sum and their maximum, which cost_of gives"};
  }
  const Rates rates = rates_of(reshard);
  TESSERA_TRY(const std::optional<FlowTables> tables, flow_tables(reshard));
  if (tables && has_classes_for(rates)) return flow_loads(*tables, mesh, rates);
  return listed_loads(reshard);
}

}  // namespace tessera::reshard
