// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/work_map.h"
#include "tessera/target/machine.h"

namespace tessera::plan {

/// What the places along one mesh axis do for an op.
struct AxisWork {
  int factor = -1;          ///< that the axis divides; negative: only coordinate 0 works
  std::int64_t places = 1;  ///< along the axis
  friend bool operator==(const AxisWork&, const AxisWork&) = default;
};

/// The division of an op's work over the axes of a machine. An axis that comes later divides the
/// blocks of an earlier one with the same factor.
using Division = std::vector<AxisWork>;

/// The work map of a division. Blocks are as equal as they can be: ceil(extent / places) wide.
Result<ops::WorkMap> work_map(const ops::Loops& loops, const Division& division);

/// Divisions of the loops over the axes of a machine, at most `most`, without repeated ones, the
/// single place first. Each axis divides one of the four longest factors that may be divided, or
/// nothing; the axes outside the innermost two all divide the same one. Grids have up to n places
/// along each axis, where n is the longest axis, then .., 64, 16, 4. Where that is too many, each n
/// has half of those that are left, those with the most places first, and of these those that leave
/// no shares; what is then left over goes to the longest again.
/// Example: a matmul on 8x8: nothing, i, j or k on each axis, 8 or 4 places along it.
std::vector<Division> divisions_of(const ops::Loops& loops, const Machine& machine,
                                   std::size_t most);

/// The work map whose iterations are divided over places as this layout divides them: the inverse
/// of ops::iterations_layout, which is how files state work. Errors: those of WorkMap::make, and
/// kShapeMismatch for a layout of other iterations.
Result<ops::WorkMap> work_of_layout(const ops::Loops& loops, const Layout& iterations);

/// What a work map divides, for people: "i/32 on axis 0, j/16 on axis 1"; "one place".
std::string work_text(const ops::Loops& loops, const ops::WorkMap& work);

}  // namespace tessera::plan
