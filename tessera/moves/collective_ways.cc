// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/collective_ways.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/moves/collective_choices.h"
#include "tessera/moves/round_prices.h"
#include "tessera/reshard/collectives/algorithms.h"
#include "tessera/reshard/collectives/collective.h"

namespace tessera::moves {

using reshard::AlgorithmChoice;
using reshard::Collective;
using reshard::CollectiveKind;

namespace {

CollectiveWay joined(const std::vector<const PricedStep*>& steps) {
  CollectiveWay way;
  double longest = -1;
  for (const PricedStep* step : steps) {
    way.name += cat(way.name.empty() ? "" : ", ", step->name);
    way.cycles += step->cycles;
    way.bytes += step->bytes;
    for (const fabric::Travel& travel : step->travels) add_once(way.travels, travel);
    if (step->longest <= longest) continue;
    longest = step->longest;
    way.dominated_by = step->dominated_by;
    way.busiest = step->busiest;
  }
  way.is_direct = steps.size() == 1 && steps.front()->is_direct;
  return way;
}

}  // namespace

void MemberEnds::add(const fabric::Message& between, std::vector<fabric::Message>& messages) const {
  const auto number = [](std::int64_t endpoint) { return static_cast<std::int32_t>(endpoint); };
  if (banks == 1) {
    messages.push_back({number(first + between.source), number(first + between.destination),
                        between.bytes, between.transactions});
    return;
  }
  const std::int64_t pages = ceil_div(between.bytes, page_bytes);
  for (std::int64_t bank = 0; bank < std::min(banks, pages); ++bank) {
    const std::int64_t own = (pages - 1 - bank) / banks + 1;
    const bool last = (pages - 1) % banks == bank;
    const std::int64_t bytes = own * page_bytes - (last ? pages * page_bytes - between.bytes : 0);
    messages.push_back({number(first + between.source * banks + bank),
                        number(first + between.destination * banks + bank), bytes, own});
  }
}

Result<std::vector<CollectiveWay>> collective_ways(const reshard::Reshard& reshard,
                                                   const MemberEnds& ends, RoundWork& work,
                                                   PriceTables& tables, const Machine& machine) {
  std::vector<CollectiveWay> ways;
  TESSERA_TRY(const std::optional<reshard::Collectives> collectives,
              reshard::collectives_of(reshard));
  if (!collectives || collectives->steps.empty()) return ways;
  RoundPrices prices(reshard, ends, work, tables, machine);
  std::vector<std::vector<PricedStep>> steps;
  for (const Collective& collective : collectives->steps) {
    if (collective.kind == CollectiveKind::kSlice) continue;
    std::vector<PricedStep>& priced = steps.emplace_back();
    PlacedCollective placed(collective);
    for (const AlgorithmChoice& choice : choices_for(collective)) {
      for (const bool multicasts : {false, true}) {
        if (multicasts && (!is_direct(choice) || ends.banks > 1)) continue;
        TESSERA_TRY(std::optional<PricedStep> step,
                    prices.price(placed, choice, multicasts, priced));
        if (step) priced.push_back(*std::move(step));
      }
    }
    if (priced.empty()) return ways;
    sort_stably(priced,
                [](const PricedStep& x, const PricedStep& y) { return x.cycles < y.cycles; });
  }
  if (steps.empty()) return ways;
  std::vector<const PricedStep*> best;
  for (const std::vector<PricedStep>& priced : steps) best.push_back(&priced.front());
  ways.push_back(joined(best));
  if (steps.size() == 1) {
    for (std::size_t i = 1; i < steps.front().size(); ++i) {
      ways.push_back(joined({&steps.front()[i]}));
    }
  }
  return ways;
}

}  // namespace tessera::moves
