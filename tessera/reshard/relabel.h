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
// B says what each of its (virtual) places holds: its role. Which physical place plays a role is
// the device map's affair, and often free. `relabel` chooses the device map with which the fewest
// elements cross places.
//
//   overlap      W[q][v] = how much of role v place q already holds in A. A role of share i counts
//                what q holds of share i; where shares are combined, every share that q holds.
//   the answer   a one-to-one map π from roles to seats with the largest Σ W[π(v)][v]. What crosses
//                is what B holds in all, less that sum.
//   seats        The places of B's mesh, so that B takes up no place that it did not take up
//                before. With Seats::kOfBoth also those of A; and where rows and columns are
//                permuted apart, every place on a row of either and on a column of either. Dead
//                places are never seats.
//
// Two ways lead there, and the better answer is taken:
//
//   by axis      Where each dim drives rows alone or columns alone (for A and for B; or A's rows
//                and B's columns, as in a transpose), W is a product and each axis is assigned by
//                itself. Exact among the maps that permute rows and columns; work grows with the
//                places along the axes.
//   by place     Maximum-weight assignment over the nonzero overlaps (shortest augmenting paths),
//                exact among all maps, for up to 2^20 overlaps.
//
// The first is kept where it can be shown that no map does better. Places that are too many to
// list, and whose rows and columns cannot be permuted on these seats, leave B as it is, and say so.
// Among equal sums by place the one that leaves most roles where they are wins.
//
// Example: [8, 8] from Grid(2, 2) to Grid(2, 2, dim_to_pe=[1, 0]): B with the axes of its device
// map exchanged is A, and nothing crosses.
// =================================================================================================

/// Where B may be.
enum class Seats : std::uint8_t {
  kOfB,     ///< the places that B has
  kOfBoth,  ///< those of A and B
};

/// A better choice of places for B.
struct Relabelled {
  Placement to;  ///< B on its new places; B itself where nothing is better
  bool changed = false;
  std::int64_t elements_before = 0;  ///< that cross places with B as it was
  std::int64_t elements_after = 0;
  std::int64_t bytes_before = 0;  ///< the same in bytes, as cost_of counts them: a message of
                                  ///< elements below a byte rounds up
  std::int64_t bytes_after = 0;
  /// Whether no map from roles to those seats moves fewer elements; else it is the best that
  /// permutes rows and columns (or nothing better was found within a bounded search).
  bool optimal = false;

  std::int64_t saved_bytes() const { return bytes_before - bytes_after; }
};

/// B where the fewest elements cross.
/// Law: never more than with B as it was; Reshard::make(A, result.to, physical mesh) has exactly
/// `elements_after` elements in messages; the places of `to` are seats, and each plays one role.
/// Errors: kTooLarge for more than 2^20 overlaps that are not a product of rows and columns;
/// kNotSupported where B's places are stacked on one physical place, where pieces have device maps
/// of their own, and where a B that is a view cannot be a layout (only layouts have device maps).
Result<Relabelled> relabel(const Reshard& reshard, Seats seats = Seats::kOfB);

}  // namespace tessera::reshard
