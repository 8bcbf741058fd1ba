// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/through_routers.h"

#include <algorithm>
#include <utility>

namespace tessera::moves {
namespace {

using fabric::Message;

/// The place at a router of the only level; -1 if there is none.
std::int64_t place_at(const target::MeshLevel& level, const Place& router) {
  std::int64_t number = 0;
  for (std::size_t axis = 0; axis < level.extents.size(); ++axis) {
    std::int64_t at = router[axis];
    if (level.routers) {
      const std::vector<std::int64_t>& places = level.routers->places[axis];
      const auto found = std::lower_bound(places.begin(), places.end(), at);
      if (found == places.end() || *found != at) return -1;
      at = found - places.begin();
    }
    number = number * level.extents[axis] + at;
  }
  return number;
}

bool contains(const std::vector<std::int64_t>& sorted, std::int64_t number) {
  return std::binary_search(sorted.begin(), sorted.end(), number);
}

}  // namespace

std::optional<ThroughRouters> ThroughRouters::of(const Machine& machine, std::size_t memory,
                                                 std::int32_t endpoint) {
  const target::MemorySpace& space = machine.memory[memory];
  const bool several = space.owner == target::MemorySpace::Owner::kShared &&
                       machine.mesh.size() == 1 && space.at.size() == 1 &&
                       space.at.front().size() > 1;
  if (!several) return std::nullopt;
  ThroughRouters through;
  through.endpoint_ = endpoint;
  through.machine_places_ = machine.places();
  through.dead_ = machine.dead_places();
  for (const Place& router : space.at.front()) {
    const std::int64_t place = place_at(machine.mesh.front(), router);
    if (place < 0 || contains(through.dead_, place)) continue;
    through.places_.push_back(static_cast<std::int32_t>(place));
  }
  if (through.places_.size() < 2) return std::nullopt;
  std::int64_t stride = 1;
  const std::vector<std::int64_t>& extents = machine.mesh.front().extents;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    const std::int64_t along = stride * extents[axis];
    const auto elsewhere = [&](std::int64_t place) {
      return place - place / stride % extents[axis] * stride;
    };
    const bool border = std::all_of(
        through.places_.begin(), through.places_.end(),
        [&](std::int32_t place) { return elsewhere(place) == elsewhere(through.places_.front()); });
    if (border) {
      through.extent_ = extents[axis];
      through.stride_ = stride;
    }
    stride = along;
  }
  return through;
}

std::int32_t ThroughRouters::between(std::int32_t router_place, std::int32_t other) const {
  if (extent_ == 0 || other >= machine_places_) return router_place;
  const std::int64_t steps = router_place / stride_ % extent_ - other / stride_ % extent_;
  const std::int64_t place = other + steps * stride_;
  return contains(dead_, place) ? router_place : static_cast<std::int32_t>(place);
}

void ThroughRouters::apply(std::vector<Message>& messages) const {
  std::vector<Message> passed;
  passed.reserve(2 * messages.size());
  std::size_t next = 0;
  for (const Message& message : messages) {
    const bool sent = message.source == endpoint_;
    if (message.source == message.destination || (!sent && message.destination != endpoint_)) {
      passed.push_back(message);
      continue;
    }
    const std::int32_t other = sent ? message.destination : message.source;
    const std::int32_t place = between(places_[next], other);
    next = (next + 1) % places_.size();
    if (other == place) {
      passed.push_back(message);
      continue;
    }
    Message outside = message;
    Message inside = message;
    (sent ? outside.destination : outside.source) = place;
    (sent ? inside.source : inside.destination) = place;
    passed.push_back(outside);
    passed.push_back(inside);
  }
  messages = std::move(passed);
}

}  // namespace tessera::moves
