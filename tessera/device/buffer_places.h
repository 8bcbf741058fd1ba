// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/moves/stored.h"
#include "tessera/reshard/flows/place_map.h"
#include "tessera/reshard/reshard.h"
#include "tessera/target/machine.h"

namespace tessera::device {

/// All parts of a machine as one mesh of rank 1, on which reshards between any memories run.
Result<reshard::PhysicalMesh> parts_of(const Machine& machine);

/// The part and the layer of each place of a placement on the parts of a machine.
/// Example: pages over 12 banks: place 13 is on the second bank, in layer 1.
class BufferPlaces {
 public:
  /// Errors: those of PlaceMap; kNotSupported for pieces with different device maps; kTooLarge for
  /// more than 2^22 places in layers.
  static Result<BufferPlaces> make(const Placement& on_parts, const reshard::PhysicalMesh& parts);

  const Shape& mesh() const { return map_.mesh(); }
  std::int64_t count() const { return map_.mesh().elements(); }
  std::int64_t part(std::int64_t place) const { return map_.physical(place); }
  std::int64_t layer(std::int64_t place) const {
    return layers_.empty() ? 0 : layers_[static_cast<std::size_t>(place)];
  }
  /// The most layers of any part.
  std::int64_t layers() const { return most_; }

 private:
  explicit BufferPlaces(reshard::PlaceMap map) : map_(std::move(map)) {}
  reshard::PlaceMap map_;
  std::vector<std::int32_t> layers_;  // empty where all are 0
  std::int64_t most_ = 1;
};

/// What a tensor takes of each part that has one of its places: its layers, each aligned.
/// Errors: those of on_endpoints (moves/stored.h) and BufferPlaces::make; kOverflow.
Result<std::int64_t> bytes_of_parts(const moves::Stored& stored, const Machine& machine);

}  // namespace tessera::device
