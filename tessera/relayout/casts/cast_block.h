// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/relayout/jobs/flat_nest.h"

namespace tessera::relayout {

/// A nest as blocks that are moved one at a time. Steps are in elements.
struct Blocked {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  std::vector<Axis> outer;  ///< from block to block
  std::vector<Axis> inner;  ///< inside a block
};

/// Chooses the axes of a block of at most `room` elements. Elements that do not fill whole blocks
/// become separate nests, added to `rests`.
class Blocking {
 public:
  Blocking(FlatNest nest, std::int64_t room, std::vector<FlatNest>& rests);

  /// Adds up to `most` elements that are adjacent on both sides.
  void take_run(std::int64_t most);
  /// Adds elements that are adjacent on one side (&Axis::src, &Axis::dst) until `most` of them are
  /// contiguous.
  void take_along(std::int64_t Axis::* side, std::int64_t most);
  /// Adds whole axes while there is room, those with the smallest destination steps first.
  void fill_up();

  Blocked blocked() &&;

 private:
  bool take(std::size_t axis, std::int64_t most);

  FlatNest nest_;
  std::int64_t room_;
  std::vector<FlatNest>& rests_;
  std::vector<Axis> inner_;
  std::int64_t elements_ = 1;
};

/// How to move a block through a buffer that holds each of its source elements once, in source
/// order and without gaps.
struct ThroughSourceOrder {
  FlatNest loads;  ///< from the source to the buffer
  FlatNest moves;  ///< from the buffer to the destination
};
ThroughSourceOrder in_source_order(std::vector<Axis> block);

/// The same with a buffer in destination order. The destination is written in contiguous stretches.
struct ThroughDestinationOrder {
  FlatNest loads;
  std::vector<Axis> stretches;  ///< `src` steps in the buffer
  std::int64_t stretch = 1;     ///< elements of each
};
ThroughDestinationOrder in_destination_order(std::vector<Axis> block);

}  // namespace tessera::relayout
