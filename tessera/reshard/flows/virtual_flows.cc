// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/reshard/flows/flow_tables.h"
#include "tessera/reshard/part.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxFlows = std::int64_t{1} << 23;

/// A loop of a piece that changes the place.
struct PlaceMove {
  std::int64_t extent;
  std::int64_t a;
  std::int64_t b;
};

constexpr auto by_places = [](const VirtualFlow& x, const VirtualFlow& y) {
  return x.a != y.a ? x.a < y.a : x.b < y.b;
};

/// Adds up flows with the same places.
void gather(std::vector<VirtualFlow>& flows) {
  if (!std::is_sorted(flows.begin(), flows.end(), by_places)) {
    std::sort(flows.begin(), flows.end(), by_places);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (kept > 0 && flows[kept - 1].a == flows[i].a && flows[kept - 1].b == flows[i].b) {
      flows[kept - 1].elements += flows[i].elements;
    } else {
      flows[kept++] = flows[i];
    }
  }
  flows.resize(kept);
}

Error too_many(std::int64_t flows) {
  return Error{ErrorCode::kTooLarge,
               cat("one dim, or dims that are folded together, move between ", flows,
                   " pairs of places, more than ", kMaxFlows),
               std::nullopt, "use fewer places, or blocks that are larger"};
}

/// Every combination of the loops of a piece that change the place.
void expand(const Piece& piece, std::vector<PlaceMove>& moves, std::vector<VirtualFlow>& out) {
  moves.clear();
  std::int64_t elements = 1;
  for (const Loop& loop : piece.loops) {
    if (loop.move.a.place == 0 && loop.move.b.place == 0) {
      elements *= loop.extent;
    } else {
      moves.push_back({loop.extent, loop.move.a.place, loop.move.b.place});
    }
  }
  // Short steps first, so that the combinations are in order where longer ones go past them.
  std::sort(moves.begin(), moves.end(), [](const PlaceMove& x, const PlaceMove& y) {
    return x.a != y.a ? x.a < y.a : x.b < y.b;
  });
  const std::size_t begin = out.size();
  out.push_back({piece.at.a.place, piece.at.b.place, elements});
  for (const PlaceMove& move : moves) {
    const std::size_t count = out.size() - begin;
    for (std::int64_t step = 1; step < move.extent; ++step) {
      for (std::size_t i = 0; i < count; ++i) {
        VirtualFlow flow = out[out.size() - count];  // the same one, a step before
        flow.a += move.a;
        flow.b += move.b;
        out.push_back(flow);
      }
    }
  }
}

/// The offsets from the place of share 0 for fills that keep shares, fill by fill.
std::vector<std::vector<std::int64_t>> share_steps(const Form& form) {
  const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
  std::vector<std::vector<std::int64_t>> steps;
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count <= 1) continue;
    std::vector<std::int64_t>& of_fill = steps.emplace_back();
    for (std::int64_t i = 0; i < fill.count; ++i) {
      of_fill.push_back(i * fill.stride * strides[static_cast<std::size_t>(fill.axis)]);
    }
  }
  return steps;
}

}  // namespace

Result<VirtualFlows> virtual_flows(const ReshardPart& part) {
  return virtual_flows(part.a, part.b, part.refinement, part.shares);
}

Result<VirtualFlows> virtual_flows(const Form& a, const Form& b, const Refinement& refinement,
                                   const Shares& shares) {
  VirtualFlows result;
  result.base_a = refinement.base().a.place;
  result.base_b = refinement.base().b.place;
  std::vector<PlaceMove> moves;
  for (const Factor& factor : refinement.factors()) {
    Checked flows = 0;
    for (const Piece& piece : factor.pieces) {
      Checked here = 1;
      for (const Loop& loop : piece.loops) {
        if (loop.move.a.place != 0 || loop.move.b.place != 0) here *= loop.extent;
      }
      flows += here;
    }
    if (flows.saturated() > kMaxFlows) return too_many(flows.saturated());
    std::vector<VirtualFlow> table;
    table.reserve(static_cast<std::size_t>(flows.raw()));
    for (const Piece& piece : factor.pieces) expand(piece, moves, table);
    // The first piece begins at index 0. Relative to it, every sum is an existing place.
    const VirtualFlow zero = table.front();
    for (VirtualFlow& flow : table) {
      flow.a -= zero.a;
      flow.b -= zero.b;
    }
    result.base_a += zero.a;
    result.base_b += zero.b;
    gather(table);
    if (table.size() == 1 && table.front().a == 0 && table.front().b == 0) {
      result.still *= table.front().elements;
    } else {
      result.factors.push_back(std::move(table));
    }
  }
  if (shares.from == 1 || (!shares.alike && !shares.reduces())) return result;
  const std::vector<std::vector<std::int64_t>> of_a = share_steps(a);
  const std::vector<std::vector<std::int64_t>> of_b = share_steps(b);
  for (std::size_t k = 0; k < of_a.size(); ++k) {
    std::vector<VirtualFlow>& table = result.factors.emplace_back();
    for (std::size_t i = 0; i < of_a[k].size(); ++i) {
      table.push_back({of_a[k][i], shares.alike ? of_b[k][i] : 0, 1});
    }
  }
  return result;
}

}  // namespace tessera::reshard
