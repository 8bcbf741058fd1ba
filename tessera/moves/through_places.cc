// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/through_places.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/moves/endpoints.h"

namespace tessera::moves {

using fabric::Endpoint;
using fabric::Message;

ThroughPlaces::ThroughPlaces(const Machine& machine, const fabric::Topology& routes)
    : machine_(machine),
      routes_(routes),
      places_(static_cast<std::size_t>(machine.devices())),
      next_(places_.size(), 0) {
  const std::vector<std::int64_t> dead = machine.dead_places();
  const std::int64_t each = machine.places() / machine.devices();
  for (std::int64_t place = 0; place < machine.places(); ++place) {
    if (std::binary_search(dead.begin(), dead.end(), place)) continue;
    places_[static_cast<std::size_t>(place / each)].push_back(static_cast<std::int32_t>(place));
  }
}

std::int32_t ThroughPlaces::next_place(std::int64_t device) {
  const auto d = static_cast<std::size_t>(device);
  const std::vector<std::int32_t>& places = places_[d];
  const std::size_t number = next_[d];
  next_[d] = (number + 1) % places.size();
  return places[number];
}

void ThroughPlaces::apply(std::vector<Message>& messages) {
  const auto is_bank = [&](std::int32_t end) {
    return routes_.endpoint(end).kind == Endpoint::Kind::kBank;
  };
  std::fill(next_.begin(), next_.end(), 0);  // equal messages pass equal places
  std::vector<Message> passed;
  passed.reserve(messages.size());
  for (const Message& message : messages) {
    if (!is_bank(message.source) || !is_bank(message.destination)) {
      passed.push_back(message);
      continue;
    }
    const Endpoint source = routes_.endpoint(message.source);
    const std::int64_t banks = *machine_.memory[static_cast<std::size_t>(source.memory)].banks;
    const std::int64_t device = source.number / banks;
    if (places_[static_cast<std::size_t>(device)].empty()) {
      passed.push_back(message);
      continue;
    }
    const std::int32_t place = next_place(device);
    passed.push_back({message.source, place, message.bytes, message.transactions});
    passed.push_back({place, message.destination, message.bytes, message.transactions});
  }
  messages = std::move(passed);
}

void ThroughPlaces::add_inside(std::size_t memory, std::int64_t bytes, std::int64_t most,
                               std::vector<Message>& messages) {
  if (bytes <= 0 || most <= 0) return;
  const std::int64_t banks = *machine_.memory[memory].banks;
  const std::int64_t all = banks * machine_.devices();
  const std::int64_t used = std::min(all, ceil_div(bytes, most));
  const std::int64_t first = EndpointNumbers(machine_).first(memory);
  for (std::int64_t bank = 0; bank < used; ++bank) {
    const std::int64_t device = bank / banks;
    const auto places = static_cast<std::int64_t>(places_[static_cast<std::size_t>(device)].size());
    if (places == 0) continue;
    const std::int64_t helpers = std::max<std::int64_t>(1, places / std::min(banks, used));
    const std::int64_t own = bytes / used + (bank < bytes % used ? 1 : 0);
    for (std::int64_t helper = 0; helper < helpers; ++helper) {
      const std::int64_t share = own / helpers + (helper < own % helpers ? 1 : 0);
      if (share == 0) continue;
      const std::int32_t place = next_place(device);
      const auto end = static_cast<std::int32_t>(first + bank);
      messages.push_back({end, place, share, 1});
      messages.push_back({place, end, share, 1});
    }
  }
}

}  // namespace tessera::moves
