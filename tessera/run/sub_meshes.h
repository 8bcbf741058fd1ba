// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/layout.h"

namespace tessera::run {

/// Where tensors begin on a mesh, so that each has places of its own: beside one another in rows
/// over the last axis, and a new row of them below the longest one before. When the mesh is full,
/// the next one begins at the first place again.
/// Law: tensors that were placed since it began again have no place in common.
/// Example: 2x3, 4x4 and 1x3 places on a mesh that is 8 wide begin at [0, 0], [0, 3] and [4, 0].
class SubMeshes {
 public:
  /// `width`: of the rows, at most the last extent of the mesh.
  SubMeshes(Shape mesh, std::int64_t width);

  /// The first place for a tensor with so many places along each axis.
  std::vector<std::int64_t> place(const Shape& places);

 private:
  Shape mesh_;
  std::int64_t width_ = 1;
  std::int64_t row_ = 0;
  std::int64_t col_ = 0;
  std::int64_t height_ = 0;  ///< of this row of tensors
};

/// Layouts on places of their own, as near to each other as they easily can be: in rows that
/// together are about as wide as high. Meshes without axes are left as they are.
/// Errors: those of Layout::make.
Result<std::vector<Layout>> apart(std::vector<Layout> layouts, const Shape& mesh);

}  // namespace tessera::run
