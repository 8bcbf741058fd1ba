// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/place_work.h"

#include <algorithm>

#include "tessera/moves/endpoints.h"

namespace tessera::moves {

PlaceWork::PlaceWork(const Machine& machine, std::size_t memory_a, std::size_t memory_b)
    : machine_(machine),
      memory_a_(memory_a),
      memory_b_(memory_b),
      places_(is_of_places(machine, memory_a) || is_of_places(machine, memory_b) ? machine.places()
                                                                                 : 0) {}

double PlaceWork::cycles(const Load& load) const {
  const auto sent = static_cast<double>(is_of_places(machine_, memory_a_) ? load.sent : 0);
  const auto received = static_cast<double>(is_of_places(machine_, memory_b_) ? load.received : 0);
  const auto of = [&](std::size_t memory, double read, double written) {
    return machine_.memory_cycles(machine_.memory[memory], read, written).value_or(0);
  };
  if (memory_a_ == memory_b_) return of(memory_a_, sent, received);
  return std::max(of(memory_a_, sent, 0), of(memory_b_, 0, received));
}

/// The most cycles of a place; forgets the loads.
double PlaceWork::busiest(PriceTables& tables) const {
  double most = 0;
  Load last;  // most places have equal loads
  for (const std::int32_t place : tables.places.listed()) {
    const Load& load = tables.places[place];
    if (load.sent == last.sent && load.received == last.received) continue;
    most = std::max(most, cycles(load));
    last = load;
  }
  tables.places.clear();
  return most;
}

double PlaceWork::memory_cycles(std::span<const fabric::Message> messages,
                                PriceTables& tables) const {
  if (places_ == 0) return 0;
  for (const fabric::Message& message : messages) {
    if (message.source == message.destination) continue;
    if (message.source < places_) tables.places.at(message.source).sent += message.bytes;
    if (message.destination < places_)
      tables.places.at(message.destination).received += message.bytes;
  }
  return busiest(tables);
}

double PlaceWork::memory_cycles(std::span<const fabric::Multicast> multicasts,
                                PriceTables& tables) const {
  if (places_ == 0) return 0;
  for (const fabric::Multicast& multicast : multicasts) {
    tables.places.at(multicast.source).sent += multicast.bytes;
    for (const std::int32_t receiver : multicast.receivers) {
      tables.places.at(receiver).received += multicast.bytes;
    }
  }
  return busiest(tables);
}

}  // namespace tessera::moves
