// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/topology.h"
#include "tessera/moves/place_work.h"
#include "tessera/moves/through_places.h"
#include "tessera/reshard/reshard.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// One algorithm for a reshard that is a sequence of collectives: the best one of each step, or one
/// family for all.
struct CollectiveWay {
  std::string name;   ///< "all_gather by ring", "reduce_scatter by ring, all_gather by tree"
  double cycles = 0;  ///< Σ over the rounds
  std::int64_t bytes = 0;
  fabric::Term dominated_by = fabric::Term::kLatency;  ///< of the longest round
  std::string busiest;
  std::vector<fabric::Travel> travels;  ///< by which its rounds are carried out, each once
  bool is_direct = false;               ///< one collective, in one round from source to destination
};

/// Where the places of a reshard are: each at one endpoint, or each a device whose banks share its
/// data page by page.
struct MemberEnds {
  std::int64_t first = 0;       ///< the endpoint of place 0, or of its first bank
  std::int64_t banks = 1;       ///< of each place
  std::int64_t page_bytes = 0;  ///< where there are several

  /// Appends what carries `bytes` from one place to another: bank by bank, from and to the same
  /// bank, the first page in the first bank.
  /// Law: the bytes add up to `bytes`.
  void add(const fabric::Message& between, std::vector<fabric::Message>& messages) const;
};

/// What places and banks add to the rounds of a collective.
struct RoundWork {
  PlaceWork places;
  ThroughPlaces* through = nullptr;  ///< where data are in banks
  double reduced_per_cycle = 0;      ///< elements that a place adds up; 0: not known, takes no time
};

/// The most rounds times messages that are priced; algorithms beyond are left out.
inline constexpr std::int64_t kMostRoundMessages = std::int64_t{1} << 18;

/// The algorithms of reshard/collectives that apply, cheapest first: for each step every algorithm
/// of its kind (of those with the same messages in each round the first), combined into the best
/// sequence, and one sequence for each family that all steps have. A round takes as long as its
/// messages, or the memories of places if these take longer, and as long as the busiest place then
/// takes to add up what it received. Empty where the reshard is no sequence of collectives.
Result<std::vector<CollectiveWay>> collective_ways(const reshard::Reshard& reshard,
                                                   const MemberEnds& ends, RoundWork& work,
                                                   PriceTables& tables, const Machine& machine);

}  // namespace tessera::moves
