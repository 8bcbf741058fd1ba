// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/layout/layout.h"
#include "tessera/memory/mesh_plan.h"
#include "tessera/notation/pyflame/pyflame.h"

/// Tensors on the places of a mesh, and whether a plan for all of them is correct.
namespace tessera::test {

notation::PyflameLayout grid(std::int64_t rows, std::int64_t cols,
                             notation::PyflameLayout::Pe origin = {0, 0});
/// The layout of f32; an invalid one is a failure of the test.
Layout lowered(const notation::PyflameLayout& terms, std::vector<std::int64_t> extents);

memory::Buffer alive(std::int64_t lower, std::int64_t upper, std::int64_t alignment = 1);

/// A mesh with tensors on it.
struct MeshCase {
  Shape mesh;
  std::vector<Layout> layouts;
  std::vector<memory::Buffer> buffers;

  memory::PlaceSizes sizes() const;
};

memory::MeshPlan planned(const std::vector<memory::Buffer>& buffers,
                         const memory::PlaceSizes& sizes, memory::OffsetMode mode,
                         std::optional<std::int64_t> capacity = {});

/// Checks every class of a plan with the validator, and every number of it by loops over places.
void check_mesh_plan(const std::vector<memory::Buffer>& buffers, const memory::PlaceSizes& sizes,
                     const memory::MeshPlan& plan);
/// Plans of both modes, without a capacity and just above and below what is possible.
void check_mesh_case(const MeshCase& mesh_case);

}  // namespace tessera::test
