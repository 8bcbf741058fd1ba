// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/tensor.h"

namespace tessera::notation {

/// Two tensors on one device: physical places with equal coordinates are the same place
/// (layout/on_device.h, reshard/reshard.h).
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

}  // namespace tessera::notation

namespace tessera {
using notation::same_places;
using notation::SamePlaces;
}  // namespace tessera
