// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/reshard/reshard.h"

/// testing/reshard/: what the tests of reshard/ share. Random pairs of placements come in; expected
/// messages, costs and contents, and what broke, go out. The reference must not call an operation
/// of layout/, fabric/ or reshard/; it only reads their structs.
///
/// This header: what a reshard must do, from the essay in reshard/reshard.h alone: by loops over
/// every element, share, copy and destination, and every link of every route.
namespace tessera::test {

/// One place that holds a value: its number on the placement's own mesh, on the physical mesh, and
/// which of the places stacked there it is.
struct NaivePlace {
  std::int64_t place = 0;
  std::int64_t physical = 0;
  std::int64_t layer = 0;
  friend auto operator<=>(const NaivePlace&, const NaivePlace&) = default;
};

/// Where one element is stored. Without partial sums there is one share.
struct NaiveHome {
  std::int64_t slot = 0;
  std::vector<std::pair<std::int64_t, Reduction>> partials;  ///< fills with more than one share
  std::vector<std::vector<NaivePlace>> shares;  ///< the places of each share, by their number
  bool has_several_reductions() const;
};

/// The physical coordinates and the layer of a virtual place. A null map is the identity.
std::pair<Place, std::int64_t> naive_coordinates(const Shape& mesh, const DeviceMap* map,
                                                 const Place& place);

/// The physical place and layer of a virtual place, or nothing when it is not on the physical mesh.
/// Dead places are on it.
std::optional<NaivePlace> naive_physical(const Shape& mesh, const DeviceMap* map,
                                         const Place& place, const reshard::PhysicalMesh& physical);

/// Steps along rows and columns between two places of the physical mesh.
std::int64_t naive_distance(const reshard::PhysicalMesh& physical, std::int64_t p, std::int64_t q);

/// The nearest of `places` to q on the physical mesh, and among equals the smallest number.
std::int64_t naive_nearest(const reshard::PhysicalMesh& physical,
                           const std::vector<NaivePlace>& places, std::int64_t q);

/// Every reason why a reshard must be refused, found by examining each element and each virtual
/// place.
std::set<ErrorCode> naive_refusals(const Placement& from, const Placement& to,
                                   const reshard::PhysicalMesh& physical);

/// Everything that moves. Only for pairs without refusals.
struct NaiveReshard {
  std::vector<NaiveHome> from;  ///< one per element, row-major
  std::vector<NaiveHome> to;
  /// (source, other destination) → elements; shares and stacked destinations each count.
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> messages;
  std::map<std::int64_t, std::int64_t> local;  ///< place → elements copied inside it
  /// (source, other destinations in increasing order) → elements that leave the source once.
  std::map<std::pair<std::int64_t, std::vector<std::int64_t>>, std::int64_t> multicasts;
};
NaiveReshard naive_reshard(const Placement& from, const Placement& to,
                           const reshard::PhysicalMesh& physical);

/// Whether share i of an element goes to its share i, and whether its shares are combined.
bool naive_alike(const NaiveHome& from, const NaiveHome& to);
bool naive_reduces(const NaiveHome& from, const NaiveHome& to);

/// Bits, bytes and wavelets of elements of this type in memory, rounded up.
std::int64_t naive_bits(const Placement& placement, std::int64_t elements);
std::int64_t naive_bytes(const Placement& placement, std::int64_t elements);
std::int64_t naive_wavelets(const Placement& placement, const reshard::PhysicalMesh& physical,
                            std::int64_t elements);

/// The load of every directed link. Only where there is a fabric.
reshard::LinkLoads naive_loads(const NaiveReshard& moves, const Placement& placement,
                               const reshard::PhysicalMesh& physical);

/// Every field of the cost, by walking routes link by link.
reshard::ReshardCost naive_cost(const NaiveReshard& moves, const Placement& placement,
                                const reshard::PhysicalMesh& physical);

/// The first kind that fits, from the sets of places of each element.
reshard::ReshardKind naive_kind(const NaiveReshard& moves, const Placement& from,
                                const Placement& to, const reshard::PhysicalMesh& physical);

/// The content of B's memory at the end.
struct NaiveContent {
  std::int64_t element = 0;
  std::int64_t share = 0;
};
/// (place on B's own mesh, slot) → content. Slots that are not listed hold no element.
std::map<std::pair<std::int64_t, std::int64_t>, NaiveContent> naive_contents(
    const std::vector<NaiveHome>& homes);

/// The places of an element, share by share, by the definition: every share has the same slot on
/// all of its places.
struct Home {
  std::int64_t slot = 0;
  std::vector<std::vector<std::int64_t>> shares;  ///< virtual numbers, row-major on the mesh
};
Home home_of(const Placement& placement, const Index& index);

}  // namespace tessera::test
