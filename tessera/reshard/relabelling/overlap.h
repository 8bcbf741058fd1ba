// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/flows/flow_tables.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// How much of what a place of B wants a place of A holds: counted, never listed by element.
///
/// Everything that decides where an element is in A and in B is a *factor*: a group of dims, the
/// shares, the copies in B, the copies in A. Each is a list of displacements (on A's mesh, on B's
/// mesh) with the number of elements that have it, and a choice of one entry of every factor is a
/// (place of A, place of B) with the product of the numbers. Places are virtual, numbered
/// row-major.
using OverlapFactor = std::vector<VirtualFlow>;

struct Overlap {
  std::int64_t first_a = 0;  ///< the pair of the first entries; all entries are relative to it
  std::int64_t first_b = 0;
  std::vector<OverlapFactor> factors;   ///< dims, shares, copies in B; no two entries alike in one
  std::vector<OverlapFactor> copies_a;  ///< copies in A: any of them has the element

  /// How many pairs the factors (without the copies in A) choose; the largest int64 when more.
  std::int64_t choices() const;
  /// How many places hold a copy in A.
  std::int64_t copies() const;
};

/// The overlap of one part. kTooLarge for a factor of more than 2^22 displacements.
Result<Overlap> overlap_of(const ReshardPart& part);

/// Calls `visit` with (first place of A, place of B, elements) for each choice; pairs may come
/// again.
void for_each_overlap(
    const Overlap& overlap,
    const std::function<void(std::int64_t a, std::int64_t b, std::int64_t count)>& visit);

/// The physical places of the copies of what A keeps first on `first_a`, each once, rising.
std::vector<std::int64_t> holders(const Overlap& overlap, const PlaceMap& map_a,
                                  std::int64_t first_a);

/// Elements of B's coordinate `role` on one axis that A holds at coordinate `seat` of another.
struct AxisEntry {
  std::int64_t role = 0;
  std::int64_t seat = 0;
  std::int64_t count = 0;
  friend auto operator<=>(const AxisEntry&, const AxisEntry&) = default;
};

/// One axis of B's mesh beside one axis of the physical mesh.
struct AxisOverlap {
  std::size_t physical_axis = 0;
  std::vector<AxisEntry> held;      ///< by role and seat
  std::vector<std::int64_t> wants;  ///< one number a role: what it holds in B, and each share of it
};

/// The overlap as a product of axes: axis j of B's mesh is beside `axes[j].physical_axis`, and
///     held(place, role)  = rest · Π_j held_j(place[physical_axis_j], role[j])
///     wanted(role)       = rest · Π_j wants_j(role[j])
struct ProductOverlap {
  std::int64_t rest = 1;
  std::vector<AxisOverlap> axes;
};

/// Where the part is a product: each factor moves A along one axis of the physical mesh at most,
/// and B along the axis beside it. `beside`, if there is one, fixes which axis of B's mesh is
/// beside which of the physical mesh; otherwise it is found, and axes that nothing ties stay as B's
/// device map has them. Nothing where it is no product.
std::optional<ProductOverlap> product_overlap(
    const ReshardPart& part, const Overlap& overlap, const PhysicalMesh& physical,
    const std::optional<std::vector<std::size_t>>& beside);

/// B's own places where each axis of its mesh runs along one axis of the physical mesh and no two
/// places of the mesh are one place there.
struct AxisSeats {
  std::vector<std::size_t> physical_axis;         ///< of each axis of the mesh; all different
  std::vector<std::vector<std::int64_t>> coords;  ///< [axis of the mesh][coordinate on the mesh]
};
std::optional<AxisSeats> axis_seats(const PlaceMap& map, const PhysicalMesh& physical);

/// What the roles of B have where they are now, as (role on axis 0, role on axis 1) → elements, for
/// products of two axes that lie beside each other's axis of the physical mesh (as in a transpose).
/// An entry of the one axis that is local determines its entry of the other, so there are no more
/// than entries along an axis; all other roles have nothing.
std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> kept_where_exchanged(
    const ProductOverlap& product, const AxisSeats& own);

}  // namespace tessera::reshard
