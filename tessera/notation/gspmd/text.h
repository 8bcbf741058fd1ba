// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tessera/notation/gspmd/gspmd.h"

namespace tessera::notation {

/// `gspmd{..}` as read from the text, with spans.
struct GspmdText {
  GspmdLayout words;
  Span devices;  ///< of a tiled or maximal sharding
  Span whole;
};

/// An HLO sharding does not state the number of devices. If the tiles do not determine it, the text
/// must add HLO's `num_partitions=8`.
Result<GspmdText> read_gspmd(std::string_view source);

}  // namespace tessera::notation
