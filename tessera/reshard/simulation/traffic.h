// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/traffic.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/simulation/dispatch.h"

namespace tessera::reshard {

// =================================================================================================
// When each word leaves
//
// A link that all routes share is the time that a reshard takes, if it is never idle. Two things
// leave it idle. A place that sends one message after the other keeps the ways of the later ones
// waiting; and where routers take turns, places near a crowded link send at once and slow down
// those behind it, whose words then come when everybody else has finished.
//
// So every dispatch is cut into up to `parts` messages, spread evenly over the time T that the
// fullest link or ramp needs: part k of K leaves its place no earlier than T·(k + (r + f)/n)/K,
// when its dispatch is number r of the n of its place. Dispatches are numbered from the farthest to
// the nearest, and those at one distance from the direction that follows the place's own; f < 1 is
// another fraction for every place. So places with the same destinations do not send to the same
// one at once, and all routes fill at the rate at which they are full at the end.
// =================================================================================================

/// How a reshard is cut into messages.
struct TrafficOptions {
  /// Of one dispatch; 1 sends each at once, as long as its way is free. Static colours want 1:
  /// there every message takes a colour for a phase.
  std::int64_t parts = 256;
  bool own_words = false;  ///< every dispatch has words of its own; else all share them
};

/// A reshard as messages on its fabric, multicasts as messages to several routers.
struct ReshardTraffic {
  fabric::Traffic traffic;
  std::vector<std::int64_t> elements;     ///< of each message; a word of two belongs to the later
  std::vector<std::uint32_t> dispatches;  ///< in Dispatches::list, of which each message is a part
  std::vector<std::int64_t> first_words;  ///< of each message in its dispatch
  std::int64_t busiest = 0;               ///< T: wavelets over one link or ramp, the largest number
};

/// Words are all zero. Errors: kNotSupported where routes are not known; kTooLarge beyond 2^28
/// words, and on a mesh of more than kMaxFabricNodes.
Result<ReshardTraffic> traffic_of(const Reshard& reshard, const Dispatches& dispatches,
                                  const TrafficOptions& options = {});

/// For times and loads alone; in fewer parts where there would be more than `most` messages, and
/// kTooLarge beyond that.
Result<ReshardTraffic> traffic_of(const Reshard& reshard, std::int64_t most,
                                  TrafficOptions options = {});

}  // namespace tessera::reshard
