// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/tensor.h"

namespace tessera::notation {

/// Two tensors on one device: physical places with equal coordinates are the same place
/// (layout/placement.h, reshard/reshard.h).
struct SamePlaces {
  Placement a;
  Placement b;
  bool by_number = false;  ///< the places of both are numbers
};

/// Which places of two tensors are the same. Everything that compares or moves tensors asks this
/// function.
///
/// The places of a tensor are coordinates (PyFlame, tt grids, Spyre cores, native: followed through
/// the device map) or numbers of devices (GSPMD, DTensor: counted row-major over the mesh).
///
///   both coordinates      the same place has the same coordinates. If the ranks differ, only the
///                         numbers can agree: each device is numbered row-major
///   both numbers          the same place has the same number, whatever the meshes are
///   one of each           the coordinates are numbered row-major over their device: the target, or
///                         without one the device (or mesh) of the tensor
///   one place alone       is the first place of every mesh
///
/// With `on_target` both are on one machine, which numbers its own coordinates: only tensors whose
/// places are numbers change.
/// Law: (place p of A, place q of B) is one place ⇔ the physical places of p and q in the answer
/// have equal coordinates.
/// Example: device 3 of gspmd{devices=[2,2]<=[4]} is [1, 1] of dtensor<mesh=[2,2], ..> and of
/// pyflame.Grid(2, 2).
Result<SamePlaces> same_places(const Tensor& a, const Tensor& b, bool on_target = false);

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
using notation::same_places;
using notation::SamePlaces;
}  // namespace tessera
