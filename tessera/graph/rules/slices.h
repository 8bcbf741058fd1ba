// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"

namespace tessera::graph::rules {

/// The elements from, from + step, .. of one dim, `count` of them, all inside its extent.
struct Slice {
  std::size_t dim = 0;
  std::int64_t from = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// The dims that a call of slice cuts. kBadNode for lists that disagree.
Result<std::vector<Slice>> read_slices(const Call& call);

}  // namespace tessera::graph::rules
