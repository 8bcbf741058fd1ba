// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/regions.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/work_map.h"

namespace tessera::ops {

/// What places do. Places that do the same amount of work on boxes of the same extents have one
/// entry; the boxes are those of `example`.
struct Share {
  std::vector<PlaceSet> places;  ///< disjoint
  std::int64_t iterations = 0;   ///< on each place
  std::int64_t flops = 0;        ///< on each place: in proportion to the iterations
  /// On each place: of the elements of inputs that it reads, and of outputs that it makes. Where
  /// the work of a place is several boxes of iterations, of the boxes below.
  std::int64_t read_bytes = 0;
  std::int64_t made_bytes = 0;
  Place example;
  std::vector<std::vector<Box>> inputs;   ///< what it reads, per input; empty for absent ones
  std::vector<std::vector<Box>> outputs;  ///< what it makes, or contributes to
  /// How many elements of the boxes it reads or makes: fewer than the boxes have where it passes
  /// over some of them.
  std::vector<std::int64_t> input_elements;
  std::vector<std::int64_t> output_elements;
  std::vector<std::int64_t> scratch_bytes;  ///< per buffer of the loops (loops.h)

  /// How many places there are.
  std::int64_t count() const;
};

/// The iterations of a work map as a layout: its elements are the iterations, its places perform
/// them. Tiles and classes of places can be asked of it.
/// Law: a place of the layout holds an iteration ⇔ it performs it in the work map.
Result<Layout> iterations_layout(const WorkMap& work);

/// What each place does in a work map, idle places included. The cost grows with the number of
/// different shares, not with the places.
///
/// A box is the interval, per dim, around what a block of iterations reads, clipped to the operand:
/// what lies outside is not read. Boxes of neighbouring blocks are joined.
/// Law: every place is in exactly one share; what its iterations read inside an operand lies in its
/// boxes, and where every dim follows one factor, nothing else does.
/// Example: 112 rows of a 3x3 convolution with stride 2 and padding 1 over 8 places: place 0 reads
/// 28 rows of 224 (and one outside), the seven others 29.
///
/// kTooLarge for work in very many different pieces.
Result<std::vector<Share>> shares_of(const graph::Call& call, const graph::Types& outputs,
                                     const Loops& loops, const WorkMap& work);

}  // namespace tessera::ops
