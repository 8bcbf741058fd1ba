// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/traffic.h"
#include "tessera/reshard/dispatch.h"
#include "tessera/reshard/reshard.h"

namespace tessera {

/// A reshard as messages on its fabric, multicasts as one message to several routers.
///
/// Order. Every place sends its messages in rings: by distance, the farthest first, and places at
/// one distance starting with a direction that turns with the sender's own position, so that those
/// that all have the same destinations do not all begin with the same one.
struct ReshardTraffic {
  Traffic traffic;
  std::vector<std::int64_t> elements;     ///< of each message
  std::vector<std::uint32_t> dispatches;  ///< in Dispatches::list, which each message carries
};

/// Whose words are all one: enough for times and loads. Errors: kNotSupported where routes are not
/// known or wavelets are not 32 bits; kTooLarge beyond `most` messages or destinations.
Result<ReshardTraffic> traffic_of(const Reshard& reshard, std::int64_t most);

/// The same for dispatches at hand; every message gets its own words, which are zero, when
/// `own_words`.
Result<ReshardTraffic> traffic_of(const Reshard& reshard, const Dispatches& dispatches,
                                  bool own_words);

}  // namespace tessera
