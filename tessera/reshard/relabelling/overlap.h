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

/// How much of the data that a place of B needs is held by a place of A. Elements are counted,
/// never listed.
///
/// Everything that decides where an element is in A and in B is a *factor*: a group of dims, the
/// shares, the copies in B, the copies in A. Each factor is a list of displacements (on A's mesh,
/// on B's mesh) with the number of elements that have it. A choice of one entry of every factor is
/// a (place of A, place of B) with the product of the numbers. Places are virtual, numbered
/// row-major.
using OverlapFactor = std::vector<VirtualFlow>;

struct Overlap {
  std::int64_t first_a = 0;  ///< the pair of the first entries; all entries are relative to it
  std::int64_t first_b = 0;
  std::vector<OverlapFactor> factors;   ///< dims, shares, copies in B; the entries of a factor are
                                        ///< all different
  std::vector<OverlapFactor> copies_a;  ///< copies in A: each of them holds the element

  /// The number of pairs that the factors (without the copies in A) choose; the largest int64 on
  /// overflow.
  std::int64_t choices() const;
  /// The number of places that hold a copy in A.
  std::int64_t copies() const;
};

/// The overlap of one part. kTooLarge for a factor of more than 2^22 displacements.
Result<Overlap> overlap_of(const ReshardPart& part);

/// Calls `visit` with (first place of A, place of B, elements) for each choice; a pair may be
/// visited more than once.
void for_each_overlap(
    const Overlap& overlap,
    const std::function<void(std::int64_t a, std::int64_t b, std::int64_t count)>& visit);

/// The physical places of the copies of the elements whose first place in A is `first_a`: each
/// once, ascending.
std::vector<std::int64_t> holders(const Overlap& overlap, const PlaceMap& map_a,
                                  std::int64_t first_a);

/// The elements of B's coordinate `role` on one axis that A holds at coordinate `seat` of another
/// axis.
struct AxisEntry {
  std::int64_t role = 0;
  std::int64_t seat = 0;
  std::int64_t count = 0;
  friend auto operator<=>(const AxisEntry&, const AxisEntry&) = default;
};

/// One axis of B's mesh, paired with one axis of the physical mesh.
struct AxisOverlap {
  std::size_t physical_axis = 0;
  std::vector<AxisEntry> held;      ///< by role and seat
  std::vector<std::int64_t> wants;  ///< one number per role: what it holds in B, for every share
};

/// The overlap as a product of axes: axis j of B's mesh is paired with `axes[j].physical_axis`, and
///     held(place, role)  = rest · Π_j held_j(place[physical_axis_j], role[j])
///     wanted(role)       = rest · Π_j wants_j(role[j])
struct ProductOverlap {
  std::int64_t rest = 1;
  std::vector<AxisOverlap> axes;
};

/// The product form of a part, which exists if each factor moves A along at most one axis of the
/// physical mesh, and B along the paired axis. If given, `beside` pairs each axis of B's mesh with
/// an axis of the physical mesh. Otherwise the pairs are found; axes without constraints stay as in
/// B's device map. Empty when there is no product.
std::optional<ProductOverlap> product_overlap(
    const ReshardPart& part, const Overlap& overlap, const PhysicalMesh& physical,
    const std::optional<std::vector<std::size_t>>& beside);

/// B's own places, if each axis of its mesh runs along one axis of the physical mesh and no two
/// places of the mesh are the same physical place.
struct AxisSeats {
  std::vector<std::size_t> physical_axis;         ///< of each axis of the mesh; all different
  std::vector<std::vector<std::int64_t>> coords;  ///< [axis of the mesh][coordinate on the mesh]
};
std::optional<AxisSeats> axis_seats(const PlaceMap& map, const PhysicalMesh& physical);

/// The elements that the roles of B already have at their current places, as (role on axis 0, role
/// on axis 1) → elements. For products of two axes where each is paired with the physical axis of
/// the other (as in a transpose). A local entry of one axis determines its entry of the other axis,
/// so there are no more results than entries along an axis; all other roles have nothing.
std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> kept_where_exchanged(
    const ProductOverlap& product, const AxisSeats& own);

}  // namespace tessera::reshard
