// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/reshard/flows/flows.h"
#include "tessera/reshard/flows/part_facts.h"
#include "tessera/reshard/flows/tiles.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {
namespace {

bool same_slots(const Flows& flows) {
  std::int64_t total = flows.source_slot - flows.destination_slot;
  for (const FlowFactor& factor : flows.factors) {
    for (const BoxLoop& loop : factor.loops) {
      if (loop.source_stride != loop.destination_stride) return false;
    }
    const auto difference = [](const Segment& s) { return s.source_slot - s.destination_slot; };
    const std::int64_t constant = difference(factor.segments.front());
    for (const Segment& segment : factor.segments) {
      if (difference(segment) != constant) return false;
    }
    total += constant;
  }
  return total == 0;
}

/// The device map that places a box; null if there is none.
const DeviceMap* device_map_at(const Placement& placement, const Box& box) {
  for (const FormPiece& piece : form_pieces(placement)) {
    if (piece.box.contains(box.from)) return piece.device_map;
  }
  return nullptr;
}

/// True when the same places are also the same layers, for maps that stack places.
Result<bool> same_layers(const PartFacts& facts, const Reshard& reshard) {
  if (facts.a.apart && facts.b.apart) return true;
  // There are fewer layers than virtual places of either mesh.
  const std::int64_t layers = std::max(facts.a.form.mesh.elements(), facts.b.form.mesh.elements());
  const auto key = [&](const SideFacts& side, const Placement& placement) {
    const DeviceMap* map = device_map_at(placement, facts.part.box);
    return [&side, map, layers](std::int64_t place) {
      const Shape& mesh = side.form.mesh;
      const std::int64_t layer = map == nullptr ? 0 : map->map(mesh, mesh.delinear(place)).layer;
      return side.map.physical(place) * layers + layer;
    };
  };
  return same_sets(facts.flows, facts.a, key(facts.a, reshard.from()), facts.b,
                   key(facts.b, reshard.to()));
}

/// True when rows and columns are exchanged between A and B, and at least one element changes: on
/// the virtual meshes if both have two axes, otherwise on the physical mesh.
Result<bool> transposed(const std::vector<PartFacts>& parts, const PhysicalMesh& physical) {
  bool changes = false;
  for (const PartFacts& facts : parts) {
    const bool on_mesh = facts.part.a.mesh.rank() == 2 && facts.part.b.mesh.rank() == 2;
    if (!on_mesh && physical.mesh.rank() != 2) return false;
    const Coordinates a =
        on_mesh ? Coordinates::on_mesh(facts.a) : Coordinates::on_physical(facts.a, physical);
    const Coordinates b =
        on_mesh ? Coordinates::on_mesh(facts.b) : Coordinates::on_physical(facts.b, physical);
    TESSERA_TRY(const bool here, same_places(facts.flows, {facts.a, a}, {facts.b, b}, true));
    if (!here) return false;
    TESSERA_TRY(const bool stays, same_places(facts.flows, {facts.a, a}, {facts.a, a}, true));
    changes = changes || !stays;
  }
  return changes;
}

}  // namespace

std::string_view kind_name(ReshardKind kind) {
  switch (kind) {
    case ReshardKind::kIdentity:
      return "IDENTITY";
    case ReshardKind::kReduce:
      return "REDUCE";
    case ReshardKind::kScatter:
      return "SCATTER";
    case ReshardKind::kGather:
      return "GATHER";
    case ReshardKind::kReplicate:
      return "REPLICATE";
    case ReshardKind::kTranspose:
      return "TRANSPOSE";
    case ReshardKind::kRedistribute:
      return "REDISTRIBUTE";
    case ReshardKind::kReshard:
      return "RESHARD";
  }
  return "RESHARD";
}

Result<ReshardKind> kind_of(const Reshard& reshard) {
  if (reshard.parts().empty()) return ReshardKind::kIdentity;
  const PhysicalMesh& physical = reshard.physical();
  std::vector<PartFacts> parts;
  bool reduces = false;
  bool keeps_shares = false;
  for (const ReshardPart& part : reshard.parts()) {
    TESSERA_TRY(PartFacts facts, facts_of(part, physical));
    parts.push_back(std::move(facts));
    reduces = reduces || part.shares.reduces();
    keeps_shares = keeps_shares || part.shares.to > 1;
  }
  bool stays = true;  // every element stays on its places
  bool identical = true;
  for (const PartFacts& facts : parts) {
    if (!stays) break;
    const Coordinates a = Coordinates::on_physical(facts.a, physical);
    const Coordinates b = Coordinates::on_physical(facts.b, physical);
    TESSERA_TRY(stays, same_places(facts.flows, {facts.a, a}, {facts.b, b}, false));
    identical = identical && stays && facts.part.shares.alike && same_slots(facts.flows);
    if (!identical) continue;
    TESSERA_TRY(identical, same_layers(facts, reshard));
  }
  if (stays && identical) return ReshardKind::kIdentity;
  if (reduces && !keeps_shares) return ReshardKind::kReduce;
  TESSERA_TRY(const std::optional<std::int64_t> one_a, only_place(parts, &PartFacts::a));
  TESSERA_TRY(const std::optional<std::int64_t> one_b, only_place(parts, &PartFacts::b));
  if (one_a && !one_b) return ReshardKind::kScatter;
  if (one_b && !one_a) return ReshardKind::kGather;
  if (stays) return ReshardKind::kReshard;
  TESSERA_TRY(const bool tiles, same_tiles(parts));
  if (!tiles) return ReshardKind::kReshard;
  bool fewer = false;
  bool more = false;
  for (const PartFacts& facts : parts) {
    fewer = fewer || facts.b.copy_count() < facts.a.copy_count();
    more = more || facts.b.copy_count() > facts.a.copy_count();
  }
  if (more && !fewer) return ReshardKind::kReplicate;
  TESSERA_TRY(const bool exchanged, transposed(parts, physical));
  return exchanged ? ReshardKind::kTranspose : ReshardKind::kRedistribute;
}

}  // namespace tessera::reshard
