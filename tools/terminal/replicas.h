// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/same_places.h"

namespace tessera::tools {

/// Up to this many replicas are listed one by one; more are printed as rectangles.
inline constexpr std::int64_t kListedReplicas = 64;

/// All places from `from` to `to`, both inclusive on every axis.
struct PlaceRectangle {
  Place from;
  Place to;
};

/// The places of the replicas of an element, as disjoint rectangles, without enumerating the
/// places: fills whose strides continue each other make one rectangle, the others repeat it. Error
/// kTooLarge for more than 2^16 rectangles.
Result<std::vector<PlaceRectangle>> replica_rectangles(const Form& form, const Place& first);

/// Writes places and their physical counterparts for one tensor. Only a Layout has a device map;
/// for other placements the physical place is the place itself.
class PlaceWriter {
 public:
  /// `names` is how the tensor's notation calls its places. Law: after `make`, no place of this
  /// tensor is refused.
  static Result<PlaceWriter> make(const Placement& placement, PlaceNames names, bool physical);

  /// `"places":[[2,1]]`, then `,"physical":[..]` (and `,"layers":[..]` when several places of the
  /// mesh share a physical one) on request. `first` is the first place of an element by `form`.
  void places_json(const Form& form, const Place& first, std::string& out) const;
  /// The same for one place: `"place":[2,1]`, and `"physical":[..]`, `"layer":n` on request.
  void place_json(const Place& place, std::string& out) const;
  /// "[2, 1]", "[0, 0] [0, 1]" or "[0, 0]..[9, 9]"; with physical ones "[2, 1] (physical [0, 5])".
  std::string places_text(const Form& form, const Place& first) const;
  std::string place_text(const Place& place) const;

 private:
  PlaceWriter(const Placement& placement, PlaceNames names, bool physical);
  PhysicalPlace physical_of(const Place& place) const;
  /// The places of an element, sorted by their names.
  std::vector<Place> listed(const Form& form, const Place& first) const;
  std::vector<PlaceRectangle> rectangles(const Form& form, const Place& first) const;

  const Shape* mesh_;
  PlaceNames names_;
  DeviceMap device_map_;
  bool physical_;
  bool layered_;
};

/// Appends [1,2,3].
void append_numbers(std::string& out, const std::vector<std::int64_t>& numbers);

}  // namespace tessera::tools
