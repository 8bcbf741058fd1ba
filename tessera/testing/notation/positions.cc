// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/positions.h"

#include <algorithm>
#include <set>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

/// How many places hold a share of one element, and how shares combine.
Shares shares_of(const Placement& placement) {
  std::set<std::string> reductions;
  std::int64_t places = 1;
  for (const Fill& fill : form_pieces(placement).front().form->fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count == 1) continue;  // one share is the value
    reductions.emplace(reduction_name(fill.reduction));
    places *= fill.count;
  }
  return {{reductions.begin(), reductions.end()}, places};
}

std::string storage_of(const Atom& atom) {
  const std::string tile = atom.is_tile() ? cat(atom.rows, "x", atom.cols, " of ") : "";
  return cat(tile, dtype_name(atom.storage));
}

}  // namespace

std::string Shares::text() const {
  return empty() ? "" : cat(join(reductions, " and "), " on ", places, " places");
}

const RulePosition& Positions::at(const Numbers& index) const {
  std::int64_t number = 0;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) number = number * shape[dim] + index[dim];
  return positions[static_cast<std::size_t>(number)];
}

std::string Positions::key() const {
  std::string key = cat(join(shape, "x"), " ", dtype, " ", storage, " ", shares.text(), " ",
                        join(mesh, "x"), " ", slots, ":");
  for (const RulePosition& position : positions) {
    key += cat(" ", position.slot);
    if (mesh.empty()) continue;
    for (const Numbers& place : position.places) key += cat("@", join(place, ","));
  }
  return key;
}

Result<Positions> positions_of(const Tensor& tensor) {
  const Placement& placement = tensor.placement;
  Positions list;
  list.shape = placement.shape().extents();
  if (placement.places() != 1) list.mesh = placement.mesh().extents();
  list.slots = placement.slots();
  list.dtype = dtype_name(placement.dtype());
  list.kept = dtype_name(placement.atom().storage);
  list.storage = storage_of(placement.atom());
  if (placement.atom().is_tile()) list.tile = {placement.atom().rows, placement.atom().cols};
  list.shares = shares_of(placement);
  list.indices = all_tuples(list.shape);
  for (std::size_t number = 0; number < list.indices.size(); ++number) {
    TESSERA_TRY(Location location, placement.locate(list.indices[number]));
    RulePosition position{{location.places.begin(), location.places.end()}, location.slot};
    if (list.mesh.empty()) position.places.assign(1, {});
    std::sort(position.places.begin(), position.places.end());
    for (const Numbers& place : position.places)
      list.held[{place, position.slot}].push_back(number);
    list.positions.push_back(std::move(position));
  }
  return list;
}

Positions untiled(Positions positions) {
  if (positions.tile.empty() || positions.kept.starts_with("bfp_")) return positions;
  positions.tile.clear();
  positions.storage = positions.kept;
  return positions;
}

std::string difference(const Positions& a, const Positions& b) {
  if (a.shape != b.shape) return cat("shape ", join(a.shape, "x"), " against ", join(b.shape, "x"));
  if (a.dtype != b.dtype) return cat(a.dtype, " against ", b.dtype);
  if (a.kept != b.kept) return cat("stored as ", a.kept, " against ", b.kept);
  if (a.kept.starts_with("bfp_") && a.tile != b.tile) return "tiles of other sizes";
  if (a.mesh != b.mesh) return cat("mesh ", join(a.mesh, "x"), " against ", join(b.mesh, "x"));
  if (a.slots != b.slots) return cat(a.slots, " slots against ", b.slots);
  if (a.shares != b.shares) {
    return cat("'", a.shares.text(), "' against '", b.shares.text(), "'");
  }
  for (std::size_t i = 0; i < a.positions.size(); ++i) {
    if (a.positions[i] != b.positions[i]) {
      return cat("element ", bracketed(a.indices[i]), " is in slot ", a.positions[i].slot,
                 " against ", b.positions[i].slot, ", or on other places");
    }
  }
  return {};
}

std::string contents_mistake(const Tensor& tensor, const Positions& positions,
                             std::int64_t samples) {
  const std::vector<Numbers> places = all_tuples(tensor.placement.mesh().extents());
  const std::int64_t cells = static_cast<std::int64_t>(places.size()) * positions.slots;
  // Steps that no extent of a small tensor divides visit all places and all parts of a tile.
  const std::int64_t step = std::max<std::int64_t>(cells / std::max<std::int64_t>(samples, 1), 1);
  for (std::int64_t cell = 0; cell < cells; cell += step) {
    const Numbers& place = places[static_cast<std::size_t>(cell / positions.slots)];
    const std::int64_t slot = cell % positions.slots;
    const Result<SlotContent> content = tensor.placement.contents_at(place, slot);
    const std::string where = cat("slot ", slot, " of ", bracketed(place), ": ");
    if (!content) return where + content.error().message;
    std::vector<Numbers> expected;
    const auto held = positions.held.find({positions.mesh.empty() ? Numbers{} : place, slot});
    if (held != positions.held.end()) {
      for (const std::size_t number : held->second) expected.push_back(positions.indices[number]);
    }
    const auto* found = std::get_if<std::vector<Index>>(&*content);
    const bool same = found == nullptr ? expected.empty()
                                       : std::equal(found->begin(), found->end(), expected.begin(),
                                                    expected.end());
    if (!same) {
      return cat(where, expected.size(), " elements are listed, ",
                 found == nullptr ? 0 : found->size(), " are said");
    }
  }
  return {};
}

}  // namespace tessera::test
