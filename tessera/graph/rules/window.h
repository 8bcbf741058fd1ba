// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"

namespace tessera::graph::rules {

/// What a window does along the spatial dims: those after the batch and the channels.
struct Window {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> before;  ///< padding
  std::vector<std::int64_t> after;
};

/// The window of a convolution or a pool with this kernel, from the call's attributes strides,
/// dilations and pads. kBadNode for lists of a wrong length and numbers out of range.
Result<Window> read_window(const Call& call, std::vector<std::int64_t> kernel);
/// A list with one number of at least `least` per spatial dim; missing, it is all `otherwise`.
Result<std::vector<std::int64_t>> spatial_list(const Call& call, std::string_view name,
                                               std::size_t count, std::int64_t otherwise,
                                               std::int64_t least);
/// The extents after the first two.
std::vector<std::int64_t> spatial_extents(const Shape& shape);

}  // namespace tessera::graph::rules
