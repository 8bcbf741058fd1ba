// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/layout/algebra/replicas.h"
#include "tessera/reshard/flows/flows.h"
#include "tessera/reshard/flows/place_map.h"

namespace tessera::reshard {

/// One side of flows whose groups have virtual parts: finds out how they move over the mesh, and
/// assigns their physical parts.
///
/// Place numbers add. Coordinates add only while none leaves its axis. A line that is dealt out
/// over both axes as one number does leave it: 3·x0 + x1 on a mesh of 3x2 carries from columns to
/// rows.
class FlowSide {
 public:
  /// `base` is the virtual place that all choices of groups share.
  FlowSide(const PlaceMap& map, PlacePart SegmentGroup::* part, std::int64_t base,
           const std::vector<FlowFactor>& factors);

  bool carries() const { return carries_; }
  /// Assigns a physical number to every part. Returns whether they add up; if not, no part has one.
  bool place(std::vector<FlowFactor>& factors) const;
  /// Adds the copies of a source along a virtual axis: more places that a sum may be.
  void add_copies(std::size_t axis, const OffsetSet& copies);
  /// True when different sums of parts are different physical places.
  bool distinct(std::int64_t physical_places) const;

 private:
  using Values = std::vector<std::int64_t>;
  bool parts_add() const;

  const PlaceMap& map_;
  PlacePart SegmentGroup::* part_;
  std::int64_t base_;
  Values strides_;
  std::vector<std::vector<Values>> moved_by_;  // for each axis, what each factor moves along it
  std::vector<Values> numbers_;                // what each factor adds to the number
  bool carries_ = false;
};

}  // namespace tessera::reshard
