// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/ttnn/ttnn.h"

namespace tessera::notation {

/// A mesh of TTNN tensors: how TTNN expresses a layout that separates batches on a grid of more
/// than two dims. The last two mesh axes are a device's grid; the axes before them are devices.
///
/// Law: element x is at place q ++ p and slot s of the layout exactly when, on device q, element y
/// of the per-device layout is at place p and slot s. q and y are x cut along each divided dim:
/// y[d] = x[d] mod shape[d], and the quotient is the number of the device along that dim.
///
/// Example: 2x3x64x128 as (d0, d1 * 64 + d2, d3) on <2x2x4> is a mesh of 2 devices, each with a
/// 1x3x64x128 tensor as (d0 * 192 + d1 * 64 + d2, d3) on <2x4>.
struct TtnnMesh {
  std::vector<std::int64_t> devices;  ///< extents of the mesh of devices
  /// The dim that each axis of devices divides, or -1 for an axis of one device.
  std::vector<int> dims;
  Shape shape;        ///< of the tensor on each device
  TtnnLayout layout;  ///< on each device
};

/// The layout as a mesh of TTNN tensors, or why that is impossible (kNotSupported): an axis of
/// devices that divides no dim exactly, replicas, or a per-device layout that TTNN cannot express.
Result<TtnnMesh> raise_ttnn_mesh(const Layout& layout);

}  // namespace tessera::notation
