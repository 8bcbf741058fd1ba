// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/graph/op.h"
#include "tessera/layout/layout.h"
#include "tessera/ops/kernels.h"
#include "tessera/ops/machines/rules.h"

/// What the kernels of a family do by themselves, and the layouts that they know.
namespace tessera::ops::machines {

struct Ways {
  /// For operands of which inputs and, where the family has `outputs`, outputs are given.
  Kernels (*kernels)(const Asked& asked);
  /// Layouts that an input may have, the most usual first.
  std::vector<Layout> (*inputs)(const Asked& asked, std::size_t i);
  /// Layouts in which kernels leave an output, in the order in which they are tried; null where
  /// the division of the work decides.
  std::vector<Layout> (*outputs)(const Asked& asked, std::size_t o);
};

Ways ways_of(MachineFamily family);

Ways ttnn_ways();
Ways spyre_ways();
Ways wafer_ways();

/// The first operand whose layout is given and divided over places; null if there is none.
const Layout* first_divided(const Asked& asked);

}  // namespace tessera::ops::machines
