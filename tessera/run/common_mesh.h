// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/regions.h"
#include "tessera/target/machine.h"

namespace tessera::run {

/// The layout on a mesh of the machine's rank whose places are coordinates of the machine, without
/// a device map: origins and strides of the map become digits and fixed coordinates. A layout of a
/// single place is on the first one.
/// Law: locate gives the same slots, and the places that the device map led to.
/// Errors: kMeshMismatch for a mesh of several places and another rank; kNotSupported for maps that
/// stack, join or divide axes, and for tables; kMeshTooSmall for places that the machine does not
/// have.
/// Example: Grid(2, 2, origin=(1, 0)) on a machine of 4x4 has a mesh of 3x2 and a fixed 1 on axis
/// 0.
Result<Layout> on_coordinates(const Layout& layout, const Machine& machine);

/// One past the last coordinate that a form uses on a mesh axis.
std::int64_t reach_on(const Form& form, std::size_t axis);
/// The smallest box that certainly has all places of a form: from where it begins to its reach.
Box places_around(const Form& form);
/// The smallest box with two others in it.
Box around_both(Box a, const Box& b);
/// Whether a digit or a fill says where on a mesh axis the data are.
bool is_said(const Form& form, std::size_t axis);

/// The smallest mesh that has the coordinates of all these layouts.
Shape common_mesh(const std::vector<Layout>& layouts, std::size_t rank);
/// The layout on a mesh at least as large as its own.
Result<Layout> on_mesh(const Layout& layout, const Shape& mesh);

}  // namespace tessera::run
