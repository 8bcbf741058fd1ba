// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/flows/nearest.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"

/// flows/: the product form of a reshard. In: a ReshardPart (part.h) and the physical mesh. Out:
/// flows to walk (this header), tables of multicasts (flow_tables.h) and facts about places
/// (part_facts.h). It must not compute costs, and it moves no data.
namespace tessera::reshard {

// =================================================================================================
// Flows: a part of a reshard in product form, prepared for walking
//
// Places and slots are sums over the factors of the refinement. In each factor, the loops that
// change the place are unrolled. What is left are *segments*: strided boxes between one place part
// in A and one in B. Segments with the same place parts are a *group*.
//
//     pair of places          = base + one group per factor
//     transfers of that pair  = all products of one segment per group
//     elements of that pair   = the product of the groups' elements
//
// The copies that B keeps are one more factor per mesh axis, with a group for each copy. Shares are
// another factor. The copies that A keeps are not a factor: only the nearest of them is read
// (nearest.h).
//
// Example: 8 elements from 2 places of 4 to 4 places of 2. The refinement is one piece with a loop
// of 4, which changes the places, and a loop of 2. Unrolled, it is the segments {0 → 0}, {0 → 1},
// {1 → 2}, {1 → 3} of 2 elements, each in a separate group.
// =================================================================================================

struct Segment {
  std::int64_t source_slot = 0;
  std::int64_t destination_slot = 0;
  std::int64_t elements = 1;
  std::uint32_t first_loop = 0;  ///< in FlowFactor::loops
  std::uint32_t loop_count = 0;
};

struct SegmentGroup {
  PlacePart source;
  PlacePart destination;
  std::int64_t elements = 1;
  std::int64_t share = 0;
  std::uint32_t first = 0;  ///< in FlowFactor::segments
  std::uint32_t count = 1;
};

/// Groups are sorted by source and then destination, as virtual numbers. Parts of virtual numbers
/// and of slots are never below zero, and at least one of each is zero.
struct FlowFactor {
  std::vector<SegmentGroup> groups;
  std::vector<Segment> segments;
  std::vector<BoxLoop> loops;
};

struct Flows {
  PlacePart source;  ///< common to all choices of groups
  PlacePart destination;
  std::int64_t source_slot = 0;
  std::int64_t destination_slot = 0;
  std::vector<FlowFactor> factors;  ///< shares, copies of B, then the dims
  const PlaceMap* map_a = nullptr;
  const PlaceMap* map_b = nullptr;
  /// Parts of places add up as numbers on the virtual meshes, but not per coordinate.
  bool carries = false;
  /// Physical parts add up to the physical place; otherwise the map must be used.
  bool source_adds = true;
  bool destination_adds = true;
  /// Different choices of groups belong to different pairs of physical places, for any copy that is
  /// read.
  bool distinct = true;
  bool combines = false;
  NearestSource nearest;

  /// How many choices of groups there are.
  std::int64_t choices() const;
};

/// True when different virtual places are different physical places (the map has no layers).
bool one_to_one(const PlaceMap& map, std::int64_t physical_places);

/// Selects what to include of a part, in addition to the dims.
struct FlowChoice {
  bool shares = true;
  bool copies = true;  ///< copies of B as factors, and the nearest copy of A; otherwise first
                       ///< places only
};

/// Error kTooLarge when a factor has more than 2^22 segments.
Result<Flows> flows_of(const ReshardPart& part, const PhysicalMesh& physical,
                       FlowChoice choice = {});

}  // namespace tessera::reshard
