// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/layout/compare.h"
#include "tessera/layout/placement.h"

namespace tessera {

/// The comparisons of placement.h on the device: each place stands for the physical place, and the
/// layer, that the device map of its placement gives it. Two physical places are the same if their
/// coordinates are equal. A device of a single place is the first place of every other device.
///
/// Errors: kShapeMismatch; kMeshMismatch if the devices differ in rank and each has several places;
/// kTooLarge where a map that is not linear needs more than 2^22 steps, or more than the budget of
/// the question has.

/// Law: equal ⇔ same slot, and the same set of physical places, for every element.
Result<Comparison> same_on_device(const Placement& a, const Placement& b);
/// The number of elements whose slot or physical places differ.
Result<std::int64_t> moved_on_device(const Placement& a, const Placement& b);
/// Whether every physical place that holds an element in `to` already holds it in `from`.
Result<bool> compatible_on_device(const Placement& from, const Placement& to);

/// The same placement on a device whose places are numbered: the number of a place is the row-major
/// number of its physical place. The mesh stays; the device map leads to a device of rank 1. A view
/// has no device map, so its mesh becomes a mesh of rank 1.
/// Law: map'(q) = [row-major number of map(q)].
Result<Placement> with_numbered_places(const Placement& placement);

/// The same placement on a mesh of rank 1. If the device map is linear, the places of that mesh are
/// the numbers of the physical places, and there is no device map. Otherwise they are the numbers
/// of the places of the mesh, and the device map is a table of the numbers of their physical
/// places. kTooLarge for tables of more than 2^22 places; kNotSupported for a map that stacks
/// places.
Result<Placement> on_numbered_mesh(const Placement& placement);

/// The mesh of the device: that of the device map, or without one the mesh of the placement.
const Shape& device_of(const Placement& placement);

}  // namespace tessera
