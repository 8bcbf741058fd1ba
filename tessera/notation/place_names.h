// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/shape.h"
#include "tessera/notation/tensor.h"

namespace tessera::notation {

/// How the notation of a tensor calls the places of its mesh. Notations with coordinates name the
/// places themselves, whatever the device map is. Notations that number devices name the device: a
/// GSPMD list in an irregular order is a mesh of positions in the list, and its device map gives
/// the devices.
/// Law: place_of(name_of(p)) = p.
class PlaceNames {
 public:
  static PlaceNames of(const Tensor& tensor);

  /// Whether every place is its own name.
  bool are_places() const { return devices_.empty(); }
  Place name_of(const Place& place) const;
  /// The place of this name; a name that no place has is returned as it is.
  Place place_of(const Place& name) const;
  /// The same for row-major numbers.
  std::int64_t number_of(std::int64_t place) const;

 private:
  std::vector<std::int64_t> devices_;  // of each place; empty if every place is its own name
  std::vector<std::int64_t> places_;   // of each device
};

}  // namespace tessera::notation

namespace tessera {
using notation::PlaceNames;
}  // namespace tessera
