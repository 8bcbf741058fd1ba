// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/notation.h"
#include "tessera/notation/same_places.h"

namespace tessera::notation {

PlaceNames PlaceNames::of(const Tensor& tensor) {
  PlaceNames names;
  const Layout* layout = tensor.placement.layout();
  const Result<const Notation*> notation = find_notation(tensor.notation);
  if (layout == nullptr || !notation || !(*notation)->numbers_places) return names;
  const DeviceMap& map = layout->spec().device_map;
  if (map.kind() != DeviceMap::Kind::kTable) return names;
  names.places_.assign(map.places().size(), 0);
  for (const Place& place : map.places()) {
    const std::int64_t device = map.physical().linear(place);
    names.places_[static_cast<std::size_t>(device)] = std::ssize(names.devices_);
    names.devices_.push_back(device);
  }
  return names;
}

std::int64_t PlaceNames::number_of(std::int64_t place) const {
  return are_places() ? place : devices_[static_cast<std::size_t>(place)];
}

Place PlaceNames::name_of(const Place& place) const {
  return are_places() ? place : Place{number_of(place[0])};
}

Place PlaceNames::place_of(const Place& name) const {
  const bool is_device = !are_places() && name.size() == 1 && name[0] >= 0 &&
                         name[0] < static_cast<std::int64_t>(places_.size());
  return is_device ? Place{places_[static_cast<std::size_t>(name[0])]} : name;
}

}  // namespace tessera::notation
