// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"

namespace tessera::notation {

/// `strided<[256, 1]>` and `strided<[256, -1], offset: 7>`: element x is in slot
/// offset + Σ stride[i]·x[i] of a single place. Text comes in; a placement goes out. The syntax is
/// MLIR's; the meaning is that of NumPy and PyTorch, with strides in elements: a stride of 0
/// repeats, strides may overlap or be negative. If elements share a slot, the tensor is a View.
struct StridedLayout {
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;  ///< the slot of index 0
  friend bool operator==(const StridedLayout&, const StridedLayout&) = default;
};

Result<Placement> lower(const StridedLayout& words, const Shape& shape, DType dtype);
/// Law: lower(*raise_strided(p), p.shape(), p.dtype()) is the same function as p.
Result<StridedLayout> raise_strided(const Layout& layout);
Result<StridedLayout> raise_strided(const View& view);
std::string write(const StridedLayout& words);

}  // namespace tessera::notation
