// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/shape.h"
#include "tessera/graph/op.h"

namespace tessera::run::kernels {

/// An input position along a dim and its weight.
struct Tap {
  std::int64_t position = 0;  ///< inside the input
  double weight = 1;
};

/// What one output position along a dim is made of.
struct Taps {
  std::vector<Tap> taps;
  bool outside = false;  ///< of the region of tf_crop_and_resize: the extrapolation value
};

/// The taps of a call of resize, by dim and output position, as the ONNX text of Resize has them.
/// Example: nearest, from 2 to 4 positions: 0, 0, 1, 1.
std::vector<std::vector<Taps>> taps_of(const graph::Call& call, const Shape& out);

}  // namespace tessera::run::kernels
