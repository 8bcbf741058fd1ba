// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "tessera/layout/layout.h"
#include "tessera/moves/price.h"
#include "tessera/ops/propagate.h"

namespace tessera::ops {

/// Prices the moves from the layouts of inputs to those of each alternative, one after the other,
/// on the machine of the model, and puts the cheapest alternative first. Those that cannot be
/// priced, because a figure of the machine or a place is missing, come last, as they were.
/// A tensor of a machine with tiles that is on one place lies interleaved in the banks of its
/// memory.
/// Law: seconds = Σ price(asked, changed) over the changed inputs.
void price_alternatives(const moves::MoveModel& model,
                        const std::vector<std::optional<Layout>>& asked,
                        std::vector<Alternative>& alternatives);

}  // namespace tessera::ops
