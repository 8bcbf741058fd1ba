// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/metal/metal.h"
#include "tessera/notation/text/tensor_type.h"

namespace tessera::notation {

/// The metal layout attribute of current tt-mlir, on a tensor whose shape is grid ++ shard. Text
/// comes in; a layout on the grid goes out.
///
///     tensor<3x2x32x32xf32, #ttcore.metal_layout<logical_shape = 53x63, dim_alignments = 96x64,
///         collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, l1, sharded>>
///
/// The rule. Within an interval, from its last dim outward: c = up(L[last], A[last]), then
/// c = up(L[j]·c, A[j]); the stride of dim j is the c below it. Leading dims and dims between
/// intervals that are not listed are intervals of their own. The grid divides each collapsed line
/// exactly; then the line is tiled.
///
/// The index runs over logical_shape. Tiles need two lines: a tiled tensor of rank 1 gets a leading
/// line of 32, of which only row 0 is data, and a tensor of rank 0 is one element of a 32x32 plane.
/// Without tiles, the tensor's rank shows whether those lines are present.
struct MetalTodayLayout {
  std::vector<std::int64_t> logical_shape;
  std::vector<std::int64_t> dim_alignments;
  CollapseIntervals collapsed_intervals;  ///< as given
  PaddingValue oob;                       ///< printed only by some versions
  bool says_oob = false;
  std::string space;          ///< "l1", "dram", ..; empty if absent
  std::string memory_layout;  ///< "sharded", "interleaved", ..; empty if absent
  std::string dialect = "ttcore";
  TensorType device_type;  ///< grid ++ shard and the element
  friend bool operator==(const MetalTodayLayout&, const MetalTodayLayout&) = default;
};

/// Grid, shard and strides come from the attribute; the layout's dtype is the element's storage
/// type.
Result<Layout> lower(const MetalTodayLayout& words);
/// Law: lower(*raise_metal_today(l)) is the same function as l, with the same slots, atom, padding
/// value and space. Otherwise kNotSupported with the reason.
Result<MetalTodayLayout> raise_metal_today(const Layout& layout);
std::string write(const MetalTodayLayout& words);

/// What `show` prints under "metal": the map and memref that the attribute of the tt-mlir layout
/// specification would have.
Result<MetalFacts> facts_of(const MetalTodayLayout& words);

}  // namespace tessera::notation
