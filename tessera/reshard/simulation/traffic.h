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
// If all routes share a link that is never idle, the load of this link is the time that the reshard
// takes. Two things can leave it idle. A place that sends one message after the other delays the
// routes of the later messages. And where routers arbitrate in turn, places near a crowded link
// send immediately and slow down the places behind it, whose words then arrive after everybody else
// has finished.
//
// So every dispatch is cut into up to `parts` messages, spread evenly over the time T that the most
// loaded link or ramp needs: part k of K leaves its place no earlier than T·(k + (r + f)/n)/K, when
// its dispatch is number r of the n of its place. Dispatches are numbered from the farthest to the
// nearest; at equal distance, by place number, starting after the place's own number. f < 1 is a
// different fraction for every place. As a result, places with the same destinations do not send to
// the same one at the same time, and every route fills at a steady rate, in proportion to its final
// load.
// =================================================================================================

/// How a reshard is cut into messages.
struct TrafficOptions {
  /// The maximum number of messages per dispatch. 1 sends each dispatch in one message, as soon as
  /// its route is free. Static colours need 1: there, every message takes a colour for a phase.
  std::int64_t parts = 256;
  bool own_words = false;  ///< every dispatch has its own words; otherwise all share them
};

/// A reshard as messages on its fabric, multicasts as messages to several routers.
struct ReshardTraffic {
  fabric::Traffic traffic;
  std::vector<std::int64_t> elements;     ///< of each message; a word that spans two messages
                                          ///< belongs to the later one
  std::vector<std::uint32_t> dispatches;  ///< index in Dispatches::list of the dispatch to which
                                          ///< each message belongs
  std::vector<std::int64_t> first_words;  ///< the first word of each message in its dispatch
  std::int64_t busiest = 0;               ///< T: the largest number of wavelets over one link or
                                          ///< ramp
};

/// Words are all zero. Errors: kNotSupported where routes are not known; kTooLarge beyond 2^28
/// words, and on a mesh of more than kMaxFabricNodes.
Result<ReshardTraffic> traffic_of(const Reshard& reshard, const Dispatches& dispatches,
                                  const TrafficOptions& options = {});

/// For times and loads only. Uses fewer parts when there would be more than `most` messages;
/// kTooLarge if that is not enough.
Result<ReshardTraffic> traffic_of(const Reshard& reshard, std::int64_t most,
                                  TrafficOptions options = {});

}  // namespace tessera::reshard
