// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/cost.h"
#include "tessera/reshard/reshard.h"

namespace tessera {

/// What a reshard sends, listed: for the few that have no product form (pieces, tables of devices
/// with replicas, replicas that overlap).
struct ListedTraffic {
  struct Pair {
    std::int64_t source = 0;
    std::int64_t destination = 0;  ///< equal to `source` for what stays
    std::int64_t elements = 0;
  };
  struct Group {
    std::int64_t source = 0;
    std::vector<std::int64_t> destinations;  ///< rising, without the source
    std::int64_t elements = 0;
  };
  std::vector<Pair> pairs;    ///< by source, then destination
  std::vector<Group> groups;  ///< the multicasts, by source, then destinations
};

/// kTooLarge when listing takes more than 2^23 messages, or 2^27 steps to find nearest sources.
Result<ListedTraffic> list_traffic(const Reshard& reshard);

/// The cost of what is listed, cycles left out; and the loads of the links.
ReshardCost listed_cost(const Reshard& reshard, const ListedTraffic& traffic);
LinkLoads listed_loads(const Reshard& reshard, const ListedTraffic& traffic);

}  // namespace tessera
