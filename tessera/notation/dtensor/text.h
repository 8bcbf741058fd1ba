// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tessera/notation/dtensor/dtensor.h"

namespace tessera::notation {

/// `dtensor<..>` as read from the text, with spans.
struct DtensorText {
  DtensorLayout words;
  Span mesh;
  Span placements;
};

/// Also accepts PyTorch's spellings: Shard(dim=0) and S(0), R, Partial() and P(sum),
/// _StridedShard(dim=0, sf=2) and _S(0, 2). Negative dims count from the last dim.
Result<DtensorText> read_dtensor(std::string_view source, const Shape& shape);

}  // namespace tessera::notation
