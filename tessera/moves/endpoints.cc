// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/endpoints.h"

namespace tessera::moves {

using Owner = target::MemorySpace::Owner;

bool is_of_places(const Machine& machine, std::size_t memory) {
  return machine.memory[memory].owner == Owner::kPlace;
}

Result<Shape> devices_of(const Machine& machine) {
  std::vector<std::int64_t> extents;
  for (std::size_t level = 0; level + 1 < machine.mesh.size(); ++level) {
    const auto& own = machine.mesh[level].extents;
    extents.insert(extents.end(), own.begin(), own.end());
  }
  return Shape::make(extents);
}

EndpointNumbers::EndpointNumbers(const Machine& machine) : first_(machine.memory.size(), 0) {
  places_ = machine.places();
  count_ = places_;
  // Those without a stated router come last: fabric/topology.h does not number them.
  for (const bool reached : {true, false}) {
    for (const Owner owner : {Owner::kBank, Owner::kShared}) {
      for (std::size_t i = 0; i < machine.memory.size(); ++i) {
        const target::MemorySpace& space = machine.memory[i];
        if (space.owner != owner || space.at.empty() == reached) continue;
        first_[i] = count_;
        count_ += owner == Owner::kBank ? *space.banks * machine.devices() : 1;
      }
    }
  }
}

std::size_t EndpointNumbers::memory_at(std::int64_t endpoint) const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    const bool nearer = first_[i] >= places_ && first_[i] <= endpoint;
    if (nearer && first_[i] >= first_[found]) found = i;
  }
  return found;
}

}  // namespace tessera::moves
