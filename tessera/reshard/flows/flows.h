// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/flows/nearest.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"

namespace tessera::reshard {

// =================================================================================================
// Flows: a part of a reshard in product form, made ready to be walked
//
// Places and slots are sums over the factors of the refinement. In each factor the loops that move
// places are unrolled, so that what is left are *segments*: strided boxes between one place part in
// A and one in B. Segments with the same place parts are a *group*.
//
//     pair of places          = base + one group a factor
//     transfers of that pair  = all products of one segment a group
//     elements of that pair   = the product of the groups' elements
//
// Copies that B keeps are one more factor a mesh axis, with a group for each; shares are another.
// The copies that A keeps are not a factor: of them only the nearest is read (nearest.h).
//
// Example: 8 elements from 2 places of 4 to 4 places of 2. The refinement is one piece of loops
// 4 (a pair each) and 2; unrolled it is the segments {0 → 0}, {0 → 1}, {1 → 2}, {1 → 3} of 2
// elements, each a group of its own.
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

/// Groups stand by rising source and then destination, as virtual numbers; parts of virtual numbers
/// and of slots are never below zero, and some of each is zero.
struct FlowFactor {
  std::vector<SegmentGroup> groups;
  std::vector<Segment> segments;
  std::vector<BoxLoop> loops;
};

struct Flows {
  PlacePart source;  ///< what all choices of groups have in common
  PlacePart destination;
  std::int64_t source_slot = 0;
  std::int64_t destination_slot = 0;
  std::vector<FlowFactor> factors;  ///< shares, copies of B, then the dims
  const PlaceMap* map_a = nullptr;
  const PlaceMap* map_b = nullptr;
  /// Parts of places add up as numbers on the virtual meshes, but not coordinate by coordinate.
  bool carries = false;
  /// Physical parts add up to the physical place; where they do not, the map must be asked.
  bool source_adds = true;
  bool destination_adds = true;
  /// Different choices of groups belong to different pairs of physical places, whichever copy is
  /// read.
  bool distinct = true;
  bool combines = false;
  NearestSource nearest;

  /// How many choices of groups there are.
  std::int64_t choices() const;
};

/// Whether different virtual places are different physical ones: no map of layers.
bool one_to_one(const PlaceMap& map, std::int64_t physical_places);

/// What of a part is wanted, besides the dims.
struct FlowChoice {
  bool shares = true;
  bool copies = true;  ///< those of B as factors, and the nearest of A; or else first places alone
};

/// Error kTooLarge when a factor has more than 2^22 segments.
Result<Flows> flows_of(const ReshardPart& part, const PhysicalMesh& physical,
                       FlowChoice choice = {});

}  // namespace tessera::reshard
