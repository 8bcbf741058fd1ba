// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/wafer_ways.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/reshard/schedules/schedule.h"

namespace tessera::moves {

Result<std::vector<Way>> wafer_exchanges(const reshard::Reshard& reshard,
                                         const reshard::ReshardCost& cost, Rates& rates) {
  const reshard::FabricCost& fabric = *cost.fabric;
  std::vector<Way> found;
  const auto add = [&](const std::string& name, std::int64_t cycles, std::string term) {
    found.push_back({name,
                     {{Step::Kind::kExchange, rates.seconds(static_cast<double>(cycles)),
                       cost.bytes, name, std::move(term), "", static_cast<double>(cycles)}}});
  };
  if (!reshard.physical().fabric->static_routes) {
    const bool by_link =
        fabric.max_link_wavelets + fabric.longest_distance >= fabric.max_ramp_wavelets;
    add("header-routed", fabric.cycles, by_link ? "link" : "receive");
    return found;
  }
  TESSERA_TRY(const reshard::Schedules schedules, reshard::schedules_of(reshard));
  for (const reshard::ScheduleCost& schedule : schedules.costs) {
    const auto longest =
        std::max_element(schedule.phases.begin(), schedule.phases.end(),
                         [](const auto& x, const auto& y) { return x.cycles < y.cycles; });
    add(schedule.name(), schedule.cycles,
        longest == schedule.phases.end() ? "latency" : longest->name);
  }
  if (found.empty()) {
    std::string why;
    for (const reshard::LeftOut& left : schedules.left_out) {
      why += cat(why.empty() ? "" : "; ", left.name, ": ", left.why);
    }
    rates.lacks(cat("a schedule of few colours (", why, ")"));
    found.push_back({"unknown", {}});
    found.back().steps.push_back({Step::Kind::kExchange, std::nullopt, cost.bytes, "", "", ""});
  }
  return found;
}

}  // namespace tessera::moves
