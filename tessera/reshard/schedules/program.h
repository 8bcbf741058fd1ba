// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/simulate.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/simulation/dispatch.h"

namespace tessera::reshard {

/// Words of a Send that go to the same places.
struct Leg {
  std::int64_t first_word = 0;  ///< of the send
  std::int64_t words = 0;
  std::vector<std::int32_t> to;  ///< routers, ascending
};

/// What one place sends over one colour in one round: items, packed one behind the other without
/// gaps, cut into words. A word goes to every place that needs an item of which it has a part.
struct Send {
  std::int32_t source = 0;
  std::int32_t colour = 0;
  std::vector<std::uint32_t> items;
  std::vector<Leg> legs;
};

/// Sends that may overlap in time. Sends of one colour take turns in this order where their routes
/// meet (fabric/simulate.h, "named colours").
struct Round {
  std::vector<Send> sends;
};

/// A schedule as a program for the simulated fabric. Items are dispatches: an item starts on its
/// source and must reach the places of its set. A round starts when all words of the previous one
/// have arrived.
struct Program {
  std::vector<Round> rounds;
};

/// Cuts the items of a send into words and legs. `places_of(i)` are the routers to which item i of
/// the send goes.
class LegMaker {
 public:
  explicit LegMaker(const Reshard::Rate& rate) : rate_(rate) {}
  /// Appends an item with its destinations, ascending.
  void add(std::int64_t elements, std::span<const std::int32_t> to);
  std::vector<Leg> take() { return std::move(legs_); }

 private:
  Reshard::Rate rate_;
  std::int64_t elements_ = 0;
  std::vector<Leg> legs_;
};

/// The messages of a round. `payload` words are zero; send i begins at word first_words[i].
struct RoundTraffic {
  fabric::Traffic traffic;
  std::vector<std::int64_t> first_words;
  std::vector<std::uint32_t> sends;  ///< of each message
};
RoundTraffic traffic_of(const Round& round);

}  // namespace tessera::reshard
