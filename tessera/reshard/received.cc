// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>
#include <vector>

#include "tessera/reshard/chunks.h"
#include "tessera/reshard/costs/flow_cost.h"
#include "tessera/reshard/transfers.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxPairs = std::int64_t{1} << 22;

}  // namespace

Result<MostReceived> most_received(const Reshard& reshard) {
  PlaceLoad most;
  TESSERA_TRY(const std::optional<FlowTables> tables, flow_tables(reshard));
  if (tables) {
    most = busiest_destination(*tables, rows_and_columns(reshard.physical()));
  } else {
    TESSERA_TRY(const std::vector<PairBytes> pairs, pairs_of(reshard, kMaxPairs));
    std::unordered_map<std::int64_t, std::int64_t> received;
    for (const PairBytes& pair : pairs) received[pair.destination] += pair.elements;
    for (const PairBytes& pair : pairs) most.see(received[pair.destination], pair.destination);
  }
  return MostReceived{reshard.bytes(most.load), most.place};
}

}  // namespace tessera::reshard
