// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/counted_move.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/moves/counted.h"
#include "tessera/moves/endpoints.h"
#include "tessera/reshard/part.h"

namespace tessera::moves {
namespace {

std::int64_t replicas(const Form& form) {
  Checked count = 1;
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kReplicate) count *= fill.count;
  }
  return count.saturated();
}

bool is_sorted_and_distinct(std::vector<std::int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

/// The kind of a move in which something is not where it was, in its slot: the rules of
/// reshard::ReshardKind by endpoints.
reshard::ReshardKind kind_of_counted(const Counted& all) {
  using reshard::ReshardKind;
  const auto endpoints = [](const DealtSide& side, std::int64_t first,
                            const std::vector<std::int64_t>& copies) {
    std::vector<std::int64_t> ends;
    for (const std::int64_t copy : copies) ends.push_back(side.endpoint(side.sum(first, copy)));
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
  };
  std::vector<std::pair<std::int64_t, std::int64_t>> tiles;  // by their first endpoints
  std::vector<std::int64_t> of_a;
  std::vector<std::int64_t> of_b;
  bool stays = true;
  for (const Cell& cell : all.cells) {
    const std::vector<std::int64_t> a = endpoints(all.a, cell.a, all.copies_a);
    const std::vector<std::int64_t> b = endpoints(all.b, cell.b, all.copies_b);
    stays = stays && a == b;
    tiles.emplace_back(a.front(), b.front());
    of_a.insert(of_a.end(), a.begin(), a.end());
    of_b.insert(of_b.end(), b.begin(), b.end());
  }
  const auto only_one = [](const std::vector<std::int64_t>& ends) {
    return std::all_of(ends.begin(), ends.end(), [&](std::int64_t e) { return e == ends.front(); });
  };
  const bool one_a = only_one(of_a);
  const bool one_b = only_one(of_b);
  if (one_a && !one_b) return ReshardKind::kScatter;
  if (one_b && !one_a) return ReshardKind::kGather;
  if (stays) return ReshardKind::kReshard;
  std::sort(tiles.begin(), tiles.end());
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  of_a.clear();
  of_b.clear();
  for (const auto& [from, to] : tiles) {
    of_a.push_back(from);
    of_b.push_back(to);
  }
  if (!is_sorted_and_distinct(of_a) || !is_sorted_and_distinct(of_b)) return ReshardKind::kReshard;
  const bool more = replicas(all.b.form) > replicas(all.a.form);
  return more ? ReshardKind::kReplicate : ReshardKind::kRedistribute;
}

}  // namespace

Result<CountedMove> counted_move(const Machine& machine, const Stored& a, const Stored& b) {
  TESSERA_TRY(const BothSides sides, both_sides(machine, a, b));
  const reshard::Reshard::Rate bytes = reshard::byte_rate_of(a.placement.atom().storage);
  TESSERA_TRY(const Counted all, counted(sides.a, sides.b, bytes));
  CountedMove move;
  if (all.cells.empty()) {
    move.kind = reshard::ReshardKind::kIdentity;
    return move;
  }
  // The copy whose number is nearest, as on a mesh of one axis.
  PairSums pairs = pairs_of(all, EndpointNumbers(machine).count(),
                            [](std::int64_t copy, std::int64_t to) { return std::abs(copy - to); });
  constexpr std::int64_t kWaveletBytes = 4;
  pairs.for_each([&](std::int64_t source, std::int64_t destination, const PairSum& sum) {
    const std::int64_t size = bytes.of(sum.elements);
    if (source == destination) {
      move.cost.local_bytes += size;
      return;
    }
    move.cost.bytes += size;
    move.cost.wavelets += ceil_div(size, kWaveletBytes);
    ++move.cost.messages;
    move.pairs.push_back({source, destination, sum.elements, size});
  });
  TESSERA_TRY(const bool same, is_same(machine, a, b));
  if (same) {
    move.kind = reshard::ReshardKind::kIdentity;
    return move;
  }
  TESSERA_TRY(const reshard::Shares shares,
              reshard::meet_shares(first_copies(sides.a.form), first_copies(sides.b.form)));
  if (shares.reduces() && shares.to == 1) {
    move.kind = reshard::ReshardKind::kReduce;
    return move;
  }
  if (shares.from > 1 || shares.to > 1) {
    return Error{ErrorCode::kNotSupported, "the kind of a move that keeps shares is not counted",
                 std::nullopt, "combine the shares, or use larger pages"};
  }
  move.kind = kind_of_counted(all);
  return move;
}

}  // namespace tessera::moves
