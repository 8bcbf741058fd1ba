// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tessera/notation/gspmd/gspmd.h"

namespace tessera::notation {

/// `gspmd{..}` as it stands in the text.
struct GspmdText {
  GspmdLayout words;
  Span devices;  ///< of a tiled or maximal sharding
  Span whole;
};

/// HLO does not say in a sharding how many devices there are; where the tiles do not, this text
/// adds HLO's `num_partitions=8`.
Result<GspmdText> read_gspmd(std::string_view source);

}  // namespace tessera::notation
