// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/notation/pyflame/pyflame.h"
#include "tessera/reshard/reshard.h"
#include "tessera/testing/generate.h"

/// Which place holds and which place needs each element: the reference for all counts of traffic.
namespace tessera::test {

/// One element that one role of B needs: of one share, where shares are kept apart or combined.
struct Want {
  Index index;
  std::int64_t role = 0;           ///< number on B's mesh
  std::int64_t place = 0;          ///< the place of the role on the physical mesh
  std::set<std::int64_t> holders;  ///< places of the physical mesh that hold it in A
};

/// The places of one element, share by share: virtual and physical numbers.
struct ShareHolders {
  std::vector<std::int64_t> roles;
  std::vector<std::int64_t> places;
};

inline std::vector<ShareHolders> holders_of(const Placement& placement, const Index& index,
                                            const reshard::PhysicalMesh& physical) {
  for (const FormPiece& piece : form_pieces(placement)) {
    if (!piece.box.contains(index)) continue;
    const Form& form = *piece.form;
    Place first;
    std::int64_t slot = 0;
    form.evaluate(minus(index, piece.box.from), first, slot);
    std::vector<std::vector<Place>> shares = {{first}};
    for (const Fill& fill : form.fills) {
      if (fill.kind == Fill::Kind::kFixed) continue;
      const auto moved = [&](Place place, std::int64_t i) {
        place[static_cast<std::size_t>(fill.axis)] += i * fill.stride;
        return place;
      };
      std::vector<std::vector<Place>> next;
      for (const std::vector<Place>& share : shares) {
        if (fill.kind == Fill::Kind::kReplicate) next.emplace_back();
        for (std::int64_t i = 0; i < fill.count; ++i) {
          if (fill.kind == Fill::Kind::kPartial) next.emplace_back();
          for (const Place& place : share) next.back().push_back(moved(place, i));
        }
      }
      shares = std::move(next);
    }
    std::vector<ShareHolders> out;
    for (const std::vector<Place>& share : shares) {
      out.emplace_back();
      for (const Place& place : share) {
        out.back().roles.push_back(form.mesh.linear(place));
        const Place there =
            piece.device_map != nullptr ? piece.device_map->map(form.mesh, place).place : place;
        out.back().places.push_back(there.size() == physical.mesh.rank()
                                        ? physical.mesh.linear(there)
                                    : there.empty() ? 0
                                                    : there.front());
      }
    }
    return out;
  }
  return {};
}

inline std::vector<std::pair<std::int64_t, Reduction>> reductions_of(const Form& form) {
  std::vector<std::pair<std::int64_t, Reduction>> out;
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kPartial && fill.count > 1) {
      out.emplace_back(fill.count, fill.reduction);
    }
  }
  return out;
}

/// Everything that B needs, by the rule of the essay in reshard/reshard.h.
inline std::vector<Want> wants_of(const Placement& from, const Placement& to,
                                  const reshard::PhysicalMesh& physical) {
  std::vector<Want> wants;
  for (std::int64_t i = 0; i < from.shape().elements(); ++i) {
    const Index index = from.shape().delinear(i);
    const std::vector<ShareHolders> a = holders_of(from, index, physical);
    const std::vector<ShareHolders> b = holders_of(to, index, physical);
    const bool alike =
        reductions_of(*from.form_at(index).first) == reductions_of(*to.form_at(index).first);
    for (std::size_t share = 0; share < a.size(); ++share) {
      const ShareHolders& target = b[alike ? share : 0];
      for (std::size_t r = 0; r < target.roles.size(); ++r) {
        wants.push_back({index,
                         target.roles[r],
                         target.places[r],
                         {a[share].places.begin(), a[share].places.end()}});
      }
    }
  }
  return wants;
}

inline std::int64_t crossing(const std::vector<Want>& wants) {
  return std::count_if(wants.begin(), wants.end(),
                       [](const Want& want) { return !want.holders.contains(want.place); });
}

/// The most elements that one place receives.
inline std::int64_t most_crossing(const std::vector<Want>& wants) {
  std::map<std::int64_t, std::int64_t> received;
  std::int64_t most = 0;
  for (const Want& want : wants) {
    if (!want.holders.contains(want.place)) most = std::max(most, ++received[want.place]);
  }
  return most;
}

/// A PyFlame layout of any kind and with any options, on at most `places` PEs.
inline notation::PyflameLayout random_pyflame(Dice& dice, std::int64_t places) {
  using Kind = notation::PyflameLayout::Kind;
  notation::PyflameLayout terms;
  terms.rows = dice.between(1, places);
  terms.cols = dice.between(1, places / terms.rows);
  terms.kind = dice.chance(60) ? Kind::kGrid : dice.chance(50) ? Kind::kBlockCyclic : Kind::kCustom;
  if (terms.kind == Kind::kBlockCyclic) {
    terms.block_rows = dice.between(1, 3);
    terms.block_cols = dice.between(1, 3);
  }
  constexpr std::int64_t kSide = 4;
  if (terms.kind == Kind::kCustom) {
    const std::vector<std::size_t> order = dice.order(kSide * kSide);
    for (std::int64_t i = 0; i < terms.rows * terms.cols; ++i) {
      const auto pe = static_cast<std::int64_t>(order[static_cast<std::size_t>(i)]);
      terms.pes.push_back({pe / kSide, pe % kSide});
    }
  } else if (dice.chance(30)) {
    terms.origin = {dice.below(3), dice.below(3)};
  }
  if (dice.chance(30)) terms.dim_to_pe = {1, 0};
  if (dice.chance(25)) {
    const int axis = static_cast<int>(dice.below(2));
    if (dice.chance(40)) {
      terms.partial = {{axis, Reduction::kSum}};
    } else {
      terms.replicate = {axis};
    }
    terms.dim_to_pe = dice.chance(50) ? std::vector<std::int64_t>{1 - axis, -1}
                                      : std::vector<std::int64_t>{-1, 1 - axis};
  }
  return terms;
}

/// A checked reshard between two random layouts of the core, on the smallest physical mesh; nothing
/// when the random choices give none (different storage types, incompatible meshes, shares of
/// several reductions).
inline std::optional<reshard::Reshard> random_core_reshard(Dice& dice, const Limits& limits) {
  const std::optional<Layout> a = random_layout(dice, limits);
  if (!a) return std::nullopt;
  const auto b = random_layout_of(dice, a->shape(), a->dtype(), limits);
  if (!b || b->atom().storage != a->atom().storage) return std::nullopt;
  const Result<reshard::PhysicalMesh> physical = reshard::PhysicalMesh::around(*a, *b);
  if (!physical) return std::nullopt;
  Result<reshard::Reshard> reshard = reshard::Reshard::make(*a, *b, *physical);
  if (!reshard) return std::nullopt;
  return *std::move(reshard);
}

}  // namespace tessera::test
