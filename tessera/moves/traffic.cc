// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/traffic.h"

#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/moves/dealt_side.h"
#include "tessera/moves/endpoints.h"
#include "tessera/moves/pair_sums.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/transfers.h"

namespace tessera::moves {
namespace {

/// The longest run of elements that is contiguous on both sides.
std::int64_t run_of(const reshard::Transfer& transfer) {
  std::int64_t run = 1;
  for (bool grows = true; grows;) {
    grows = false;
    for (const reshard::BoxLoop& loop : transfer.loops) {
      if (loop.source_stride != run || loop.destination_stride != run) continue;
      run *= loop.extent;
      grows = true;
      break;
    }
  }
  return run;
}

/// By one endpoint; all are below `endpoints`.
std::int64_t most_received(const std::vector<fabric::Message>& messages, std::int64_t endpoints) {
  constexpr std::int64_t kMostCells = std::int64_t{1} << 12;
  std::int64_t most = 0;
  if (endpoints <= kMostCells) {
    std::vector<std::int64_t> received(static_cast<std::size_t>(endpoints), 0);
    for (const fabric::Message& message : messages) {
      std::int64_t& bytes = received[static_cast<std::size_t>(message.destination)];
      bytes += message.bytes;
      most = std::max(most, bytes);
    }
    return most;
  }
  std::vector<std::pair<std::int32_t, std::int64_t>> received;
  received.reserve(messages.size());
  for (const fabric::Message& message : messages) {
    received.emplace_back(message.destination, message.bytes);
  }
  if (!std::is_sorted(received.begin(), received.end())) {
    std::sort(received.begin(), received.end());
  }
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < received.size(); ++i) {
    if (i == 0 || received[i].first != received[i - 1].first) bytes = 0;
    bytes += received[i].second;
    most = std::max(most, bytes);
  }
  return most;
}

Traffic totals(const reshard::Reshard::Rate& rate, PairSums& pairs) {
  Traffic traffic;
  std::int64_t sender = -1;
  std::int64_t sent = 0;
  std::int32_t last = -1;  // the highest receiver
  pairs.for_each([&](std::int64_t source, std::int64_t destination, const PairSum& sum) {
    const std::int64_t bytes = rate.of(sum.elements);
    if (source == destination) {
      traffic.local_bytes += bytes;
      traffic.max_local_bytes = std::max(traffic.max_local_bytes, bytes);
      return;
    }
    traffic.bytes += bytes;
    sent = source == sender ? sent + bytes : bytes;
    sender = source;
    traffic.max_sent_bytes = std::max(traffic.max_sent_bytes, sent);
    traffic.messages.push_back({static_cast<std::int32_t>(source),
                                static_cast<std::int32_t>(destination), bytes, sum.runs});
    last = std::max(last, static_cast<std::int32_t>(destination));
  });
  traffic.max_received_bytes = most_received(traffic.messages, last + 1);
  return traffic;
}

}  // namespace

bool Traffic::in_one_piece() const {
  return std::all_of(messages.begin(), messages.end(),
                     [](const fabric::Message& m) { return m.transactions == 1; });
}

Result<Traffic> mesh_traffic(const reshard::Reshard& reshard) {
  const std::int64_t endpoints = reshard.physical().mesh.elements();
  PairSums pairs(endpoints);
  std::int64_t count = 0;
  TESSERA_CHECK_OK(
      reshard::for_each_transfer(reshard, {}, [&](const reshard::Transfer& t) -> Status {
        if (++count > kMostTransfers) {
          return Error{ErrorCode::kTooLarge,
                       cat("a move of more than ", kMostTransfers, " pieces is not listed"),
                       std::nullopt, "use larger shards or pages"};
        }
        pairs.add(t.source, t.destination, t.elements, t.elements / run_of(t));
        return ok_status();
      }));
  return totals(reshard.byte_rate(), pairs);
}

Result<Traffic> endpoint_traffic(const Machine& machine, const Stored& a, const Stored& b,
                                 const fabric::Topology* routes) {
  if (a.placement.layout() == nullptr || b.placement.layout() == nullptr) {
    TESSERA_TRY(const MachineReshard move, reshard_on(machine, a, b));
    return mesh_traffic(move.reshard);
  }
  TESSERA_TRY(const BothSides sides, both_sides(machine, a, b));
  const reshard::Reshard::Rate bytes = reshard::byte_rate_of(a.placement.atom().storage);
  TESSERA_TRY(const Counted all, counted(sides.a, sides.b, bytes));
  PairSums pairs = pairs_of(all, EndpointNumbers(machine).count(),
                            [&](std::int64_t copy, std::int64_t to) -> std::int64_t {
                              const bool reached =
                                  routes != nullptr && std::max(copy, to) < routes->endpoints();
                              return reached ? routes->distance(0, copy, to) : 0;
                            });
  return totals(bytes, pairs);
}

}  // namespace tessera::moves
