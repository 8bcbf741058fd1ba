// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

// =================================================================================================
// Which place plays which role
//
// B defines what each of its (virtual) places holds: its role. The device map decides which
// physical place plays a role, and this choice is often free. `relabel` chooses the device map with
// which the fewest elements cross between places.
//
//   overlap      W[q][v] = how much of role v place q already holds in A. A role of share i counts
//                what q holds of share i; where shares are combined, every share that q holds.
//   the answer   a one-to-one map π from roles to seats with the largest Σ W[π(v)][v]. The elements
//                that cross are all that B holds, minus that sum.
//   seats        The places of B's mesh, so that B occupies no place that it did not occupy
//                before. With Seats::kOfBoth, also the places of A; and where rows and columns are
//                permuted separately, every place on a row of either and on a column of either.
//                Dead places are never seats.
//
// There are two methods, and the better answer is taken:
//
//   by axis      Where each dim drives only rows or only columns (for A and for B; or A's rows
//                and B's columns, as in a transpose), W is a product and each axis is assigned
//                separately. Exact among the maps that permute rows and columns; work grows with
//                the number of places along the axes.
//   by place     Maximum-weight assignment over the nonzero overlaps (shortest augmenting paths),
//                exact among all maps, for up to 2^20 overlaps.
//
// The answer by axis is kept where it can be proven that no map does better. If there are too many
// places to list, and rows and columns cannot be permuted on these seats, B is left unchanged, and
// the result reports that. If several maps by place have the same sum, the one that leaves the most
// roles where they are wins.
//
// Example: [8, 8] from Grid(2, 2) to Grid(2, 2, dim_to_pe=[1, 0]): if the axes of B's device map
// are exchanged, B is the same as A, and nothing crosses.
// =================================================================================================

/// The places that B may occupy.
enum class Seats : std::uint8_t {
  kOfB,     ///< the places that B has
  kOfBoth,  ///< the places of A and of B
};

/// A better choice of places for B.
struct Relabelled {
  Placement to;  ///< B on its new places; B unchanged where nothing is better
  bool changed = false;
  std::int64_t elements_before = 0;  ///< elements that cross places with the original B
  std::int64_t elements_after = 0;
  std::int64_t bytes_before = 0;  ///< the same in bytes, as cost_of counts them: a message of
                                  ///< elements smaller than a byte rounds up
  std::int64_t bytes_after = 0;
  /// True when no map from roles to these seats moves fewer elements. Otherwise the result is the
  /// best map that permutes rows and columns (or a bounded search found nothing better).
  bool optimal = false;

  std::int64_t saved_bytes() const { return bytes_before - bytes_after; }
};

/// Places B so that the fewest elements cross.
/// Law: never more than with the original B; Reshard::make(A, result.to, physical mesh) has exactly
/// `elements_after` elements in messages; the places of `to` are seats, and each plays one role.
/// Errors: kTooLarge for more than 2^20 overlaps that are not a product of rows and columns;
/// kNotSupported where several of B's places are stacked on one physical place, where the pieces
/// have their own device maps, and where B is a view that cannot be a layout (only layouts have
/// device maps).
Result<Relabelled> relabel(const Reshard& reshard, Seats seats = Seats::kOfB);

}  // namespace tessera::reshard
