// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/reshard/flows/part_facts.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// The mesh whose coordinates places have. The mesh of one side shows its axes where a table of
/// devices scatters them over the physical mesh. Places that follow no rule are counted in
/// ascending order of their physical numbers.
enum class Numbering : std::uint8_t { kPhysical, kMeshOfA, kMeshOfB, kUsedPlaces };

/// The numbers of the places of one side.
struct SideNumbers {
  const SideFacts& side;
  const std::vector<std::int64_t>* inverse;  ///< of physical places; null where `own` or physical
  bool own;                                  ///< numbers are those of the side's own mesh

  /// The number of a virtual place, or -1.
  std::int64_t of(std::int64_t place) const {
    if (own) return place;
    const std::int64_t physical = side.map.physical(place);
    return inverse == nullptr ? physical : (*inverse)[static_cast<std::size_t>(physical)];
  }
  bool is_physical() const { return !own && inverse == nullptr; }
};

/// A mesh in which places have row-major numbers.
struct NumberedMesh {
  Shape mesh;
  std::shared_ptr<const std::vector<std::int64_t>> devices;  ///< as in PlaceGrid
  std::vector<std::int64_t> inverse;  ///< physical place → number or -1; empty if numbers are
                                      ///< physical
  std::optional<PlaceMap> owner;      ///< the map of the side whose mesh it is

  SideNumbers of(const SideFacts& side) const;
};

/// Empty if a side stacks places, so that its mesh has no number for a physical place. kTooLarge as
/// for check_listing.
Result<std::optional<NumberedMesh>> numbered_mesh(const std::vector<PartFacts>& parts,
                                                  const PhysicalMesh& physical,
                                                  Numbering numbering);

/// kTooLarge if the cells of all parts have more than 2^21 places, too many to list one by one.
Status check_listing(const std::vector<PartFacts>& parts);

}  // namespace tessera::reshard
