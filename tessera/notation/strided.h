// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera {

/// `strided<[256, 1]>` and `strided<[256, -1], offset: 7>`: element x lives in slot
/// offset + Σ stride[i]·x[i] of a single place. MLIR's spelling and meaning.
struct StridedLayout {
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;  ///< the slot of index 0
  friend bool operator==(const StridedLayout&, const StridedLayout&) = default;
};

Result<Layout> lower(const StridedLayout& words, const Shape& shape, DType dtype);
/// Law: lower(*raise_strided(l), l.shape(), l.dtype()) is the same function as l.
Result<StridedLayout> raise_strided(const Layout& layout);
std::string write(const StridedLayout& words);

}  // namespace tessera
