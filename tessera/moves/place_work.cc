// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/place_work.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace tessera::moves {
namespace {

bool is_of_places(const Machine& machine, std::size_t memory) {
  return machine.memory[memory].owner == target::MemorySpace::Owner::kPlace;
}

}  // namespace

PlaceWork::PlaceWork(const Machine& machine, std::size_t memory_a, std::size_t memory_b)
    : machine_(machine), memory_a_(memory_a), memory_b_(memory_b) {
  if (is_of_places(machine, memory_a) || is_of_places(machine, memory_b)) {
    places_ = machine.places();
  }
}

double PlaceWork::cycles(const Load& load) const {
  const auto sent = static_cast<double>(is_of_places(machine_, memory_a_) ? load.sent : 0);
  const auto received = static_cast<double>(is_of_places(machine_, memory_b_) ? load.received : 0);
  const auto of = [&](std::size_t memory, double read, double written) {
    return machine_.memory_cycles(machine_.memory[memory], read, written).value_or(0);
  };
  if (memory_a_ == memory_b_) return of(memory_a_, sent, received);
  return std::max(of(memory_a_, sent, 0), of(memory_b_, 0, received));
}

/// The most cycles of a place, after `add` has filled a table of loads by place.
template <typename Add>
double PlaceWork::busiest(std::size_t messages, const Add& add) const {
  double most = 0;
  if (places_ == 0) return most;
  // A table of all places, unless a wafer has far more of them than messages.
  if (places_ <= static_cast<std::int64_t>(messages) * 4 + 4096) {
    std::vector<Load> loads(static_cast<std::size_t>(places_));
    add([&](std::int32_t place) -> Load& { return loads[static_cast<std::size_t>(place)]; });
    for (const Load& load : loads) most = std::max(most, cycles(load));
    return most;
  }
  std::unordered_map<std::int32_t, Load> loads;
  add([&](std::int32_t place) -> Load& { return loads[place]; });
  for (const auto& [place, load] : loads) most = std::max(most, cycles(load));
  return most;
}

double PlaceWork::memory_cycles(std::span<const fabric::Message> messages) const {
  return busiest(messages.size(), [&](const auto& load) {
    for (const fabric::Message& message : messages) {
      if (message.source == message.destination) continue;
      if (message.source < places_) load(message.source).sent += message.bytes;
      if (message.destination < places_) load(message.destination).received += message.bytes;
    }
  });
}

double PlaceWork::memory_cycles(std::span<const fabric::Multicast> multicasts) const {
  std::size_t receivers = 0;
  for (const fabric::Multicast& multicast : multicasts) receivers += multicast.receivers.size();
  return busiest(receivers, [&](const auto& load) {
    for (const fabric::Multicast& multicast : multicasts) {
      load(multicast.source).sent += multicast.bytes;
      for (const std::int32_t receiver : multicast.receivers) {
        load(receiver).received += multicast.bytes;
      }
    }
  });
}

}  // namespace tessera::moves
